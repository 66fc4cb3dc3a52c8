"""`satline man`: the manual pages, made from the commands and their help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from satline.cli.lazy import LazyGroup
from satline.cli.outputs import output_option

EXIT_STATUS = (
    ("0", "Done."),
    ("1", "Something failed, or was found to be wrong."),
    ("2", "The input was wrong; the message ends with a hint."),
    ("130", "Interrupted."),
)


@click.command(
    short_help="Write the manual pages.",
    epilog="""\b
Example:
  satline man -o ~/.local/share/man/man1
""",
)
@output_option("Directory of the pages.", metavar="DIR", required=True, former=())
def man(output: Path) -> None:
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
    with program.make_context(program.name, [], resilient_parsing=True) as context:
        yield from _pages(program, context, parent=None)


def _pages(
    command: click.Command, context: click.Context, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    yield context.command_path.replace(" ", "-"), _page(command, context, parent)
    if not isinstance(command, LazyGroup):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        with inner.make_context(name, [], parent=context, resilient_parsing=True) as made:
            yield from _pages(inner, made, context)


def _page(command: click.Command, context: click.Context, parent: click.Context | None) -> str:
    """A page in the language of man(7)."""
    from satline import __version__

    title = context.command_path.replace(" ", "-")
    short = (command.short_help or command.get_short_help_str(200)).rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{title.upper()}" "1" "" "Satline {__version__}" "User Commands"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(short)}",
        ".SH SYNOPSIS",
        f".B {_text(context.command_path)}",
        _text(usage),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
    ]
    if isinstance(command, LazyGroup):
        for section in command.sections:
            lines.append(f".SH {_text(section.title.split(' (')[0].upper())}")
            for name, entry in section.entries.items():
                if not entry.hidden:
                    lines += [".TP", f".BR {_text(f'{title}-{name}')} (1)", _text(entry.short)]
    lines.append(".SH OPTIONS")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            lines += [".TP", f"\\fB{_text(record[0])}\\fR", _text(record[1]) or "\\&"]
    lines += _epilog(command.epilog or "")
    lines.append(".SH EXIT STATUS")
    for status, meaning in EXIT_STATUS:
        lines += [".TP", f".B {status}", _text(meaning)]
    above = [] if parent is None else list(dict.fromkeys(("satline", parent.command_path.replace(" ", "-"))))
    if above:
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{_text(one)}\\fR(1)" for one in above)]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    """Running text; what click is told to leave as it is stays so."""
    lines: list[str] = []
    for number, paragraph in enumerate(re.split(r"\n\s*\n", cleandoc(text))):
        lines += [".PP"] if number else []
        if paragraph.startswith("\b"):
            lines += _as_it_is(paragraph.splitlines()[1:])
        else:
            lines.append(_text(" ".join(paragraph.split())))
    return lines


def _epilog(text: str) -> list[str]:
    """A section for each block of the end of the help: its first line is the title."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        title, *rest = block.removeprefix("\b\n").splitlines() or [""]
        if rest:
            lines += [f".SH {_text(title.rstrip(':').upper())}", *_as_it_is(rest)]
    return lines


def _as_it_is(lines: list[str]) -> list[str]:
    return [".nf", *(_text(line) for line in lines), ".fi"]


def _text(text: str) -> str:
    """Text for roff: signs of its own are escaped, and what stands in `backticks` is bold."""
    text = text.replace("\b", "").replace("\\", "\\(rs").replace("-", "\\-")
    text = re.sub(r"`([^`\n]+)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text
