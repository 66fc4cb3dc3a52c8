"""The commands as pages describe them: manual pages and the site's pages are written from this."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc

import click

from satline.cli.lazy import LazyGroup

EXIT_STATUS = (
    ("0", "Done."),
    ("1", "Something failed, or was found to be wrong."),
    ("2", "The input was wrong; the message ends with a hint."),
    ("130", "Interrupted."),
)


@dataclass(frozen=True)
class Paragraph:
    """Running text, or lines that stay as they are."""

    lines: tuple[str, ...]
    as_it_is: bool = False


@dataclass(frozen=True)
class Described:
    """A command, or a group of commands.

    path
        As it is typed: ``satline analyse reduce``.
    usage
        What follows the path: ``[OPTIONS] RECORDING``.
    text
        The paragraphs of its help.
    commands
        Of a group: the titles of its lists, each with names and purposes.
    options
        Spellings and meanings.
    ends
        Titles and lines of what help ends with, such as examples.
    above
        The groups that it is in, the outermost first.
    """

    path: str
    short: str
    usage: str
    text: tuple[Paragraph, ...]
    commands: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    options: tuple[tuple[str, str], ...]
    ends: tuple[tuple[str, tuple[str, ...]], ...]
    above: tuple[str, ...]


def describe(program: LazyGroup) -> Iterator[Described]:
    """The program, its groups and all their commands, each group before what is in it."""
    with program.make_context(program.name, [], resilient_parsing=True) as context:
        yield from _within(program, context, above=())


def _within(command: click.Command, context: click.Context, above: tuple[str, ...]) -> Iterator[Described]:
    yield _described(command, context, above)
    if not isinstance(command, LazyGroup):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        with inner.make_context(name, [], parent=context, resilient_parsing=True) as made:
            yield from _within(inner, made, (*above, context.command_path))


def _described(command: click.Command, context: click.Context, above: tuple[str, ...]) -> Described:
    sections = command.sections if isinstance(command, LazyGroup) else ()
    parameters = (one for one in command.get_params(context) if isinstance(one, click.Option))
    options = (one.get_help_record(context) for one in parameters)
    return Described(
        path=context.command_path,
        short=(command.short_help or command.get_short_help_str(200)).rstrip("."),
        usage=" ".join(command.collect_usage_pieces(context)),
        text=tuple(_paragraphs(command.help or "")),
        commands=tuple(
            (
                section.title.split(" (")[0],
                tuple((name, entry.short) for name, entry in section.entries.items() if not entry.hidden),
            )
            for section in sections
        ),
        options=tuple(record for record in options if record is not None),
        ends=tuple(_ends(command.epilog or "")),
        above=above,
    )


def _paragraphs(text: str) -> Iterator[Paragraph]:
    """What click is told to leave as it is stays so."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        if paragraph.startswith("\b"):
            yield Paragraph(tuple(paragraph.splitlines()[1:]), as_it_is=True)
        else:
            yield Paragraph((" ".join(paragraph.split()),))


def _ends(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each block of the end of the help: its first line is the title."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        title, *rest = block.removeprefix("\b\n").splitlines() or [""]
        if rest:
            yield title.rstrip(":"), tuple(rest)
