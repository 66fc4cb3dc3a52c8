"""`satline man`: the manual pages, made from the commands and their help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from satline.cli.declared import command
from satline.cli.described import EXIT_STATUS, Described, describe
from satline.cli.lazy import LazyGroup
from satline.cli.outputs import output_option


@command("""\b
Example:
  satline man -o ~/.local/share/man/man1
""")
def man(
    output: Path = output_option("Directory of the pages.", metavar="DIR", required=True, former=()),
) -> None:
    """Write a manual page for satline, each group and each command, such as satline-analyse-reduce.1."""
    from satline.atomic import replace_file
    from satline.cli import commands
    from satline.errors import InputError
    from satline.present import visible

    pages = dict(make_pages(commands))
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            replace_file(output / f"{name}.1", text.encode(), durable=False)
    except OSError as error:
        raise InputError(f"{output}: {error.strerror}", hint="name a directory that may be written") from None
    click.echo(f"{visible(output)}: {len(pages)} pages")


def make_pages(program: LazyGroup) -> Iterator[tuple[str, str]]:
    """Name and text of each page, the program's first.

    Parameters
    ----------
    program
        Its commands are named by it, as in ``satline-diagnose``.
    """
    for one in describe(program):
        yield _name(one.path), _page(one)


def _name(path: str) -> str:
    return path.replace(" ", "-")


def _page(command: Described) -> str:
    """A page in the language of man(7)."""
    from satline import __version__

    title = _name(command.path)
    lines = [
        f'.TH "{title.upper()}" "1" "" "Satline {__version__}" "User Commands"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(command.short)}",
        ".SH SYNOPSIS",
        f".B {_text(command.path)}",
        _text(command.usage),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(command.text):
        lines += [".PP"] if number else []
        lines += _as_it_is(paragraph.lines) if paragraph.as_it_is else map(_text, paragraph.lines)
    for section, entries in command.commands:
        lines.append(f".SH {_text(section.upper())}")
        for name, short in entries:
            lines += [".TP", f".BR {_text(f'{title}-{name}')} (1)", _text(short)]
    lines.append(".SH OPTIONS")
    for names, meaning in command.options:
        lines += [".TP", f"\\fB{_text(names)}\\fR", _text(meaning) or "\\&"]
    for ending, rest in command.ends:
        lines += [f".SH {_text(ending.upper())}", *_as_it_is(rest)]
    lines.append(".SH EXIT STATUS")
    for status, meaning in EXIT_STATUS:
        lines += [".TP", f".B {status}", _text(meaning)]
    if command.above:
        above = (f"\\fB{_text(_name(one))}\\fR(1)" for one in command.above)
        lines += [".SH SEE ALSO", ", ".join(above)]
    return "\n".join(lines) + "\n"


def _as_it_is(lines: Iterable[str]) -> list[str]:
    return [".nf", *(_text(line) for line in lines), ".fi"]


def _text(text: str) -> str:
    """Text for roff: signs of its own are escaped, and what stands in `backticks` is bold."""
    text = text.replace("\b", "").replace("\\", "\\(rs").replace("-", "\\-")
    text = re.sub(r"`([^`\n]+)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text
