"""The examples of `--help`: every command has some, and each is one that the command takes."""

import re
import shlex
from pathlib import Path

import click
import pytest

from satline.cli import commands
from satline.cli.tree import GROUPS, SECTIONS, Group

MOST = 3
# Words before `satline` in an example.
BEFORE = ("sudo",)


def names() -> list[tuple[str, ...]]:
    """Every command and group that help shows, as the words of its name; () for `satline` itself."""
    found: list[tuple[str, ...]] = [()]
    for section in SECTIONS:
        for name, entry in section.entries.items():
            found.append((name,))
            if isinstance(entry, Group):
                found += [(name, inner) for inner, one in entry.commands.items() if not one.hidden]
    return found


def loaded(words: tuple[str, ...]) -> click.Command:
    context, command = click.Context(commands), commands
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command = found
    return command


def examples(command: click.Command) -> list[str]:
    """The lines of the first block of the text at the end, without what is said beside them."""
    block = (command.epilog or "").split("\n\n")[0].splitlines()
    assert block[:2] in (["\b", "Examples:"], ["\b", "Example:"])
    lines = [re.split(r"\s{2,}", line.strip())[0] for line in block[2:]]
    assert block[1] == ("Examples:" if len(lines) > 1 else "Example:")
    return lines


def asked(line: str) -> list[list[str]]:
    """The words after `satline` of each command of a line of a shell."""
    found: list[list[str]] = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>;&")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "|"]:
        if not set(word) <= set("|>;&"):
            words.append(word)
            continue
        if words and words[0] in BEFORE:
            del words[0]
        if words and words[0] == "satline":
            found.append(words[1:])
        words = []
    return found


@pytest.mark.parametrize("words", names(), ids=lambda words: " ".join(("satline", *words)))
def test_examples_are_taken_as_they_stand(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def noted(command: click.Command, context: click.Context) -> None:
        del command
        run.append(context.command_path)

    monkeypatch.setattr(click.Command, "invoke", noted)
    # The files of an example are not here.
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _param, _ctx: Path(value))
    lines = examples(loaded(words))
    assert 1 <= len(lines) <= MOST
    for line in lines:
        calls = asked(line)
        assert calls
        for call in calls:
            commands.main(call, prog_name="satline", standalone_mode=False)
    # An example may show what comes before or after, but not that alone.
    own = " ".join(("satline", *words))
    assert any(path == own or path.startswith(f"{own} ") for path in run)


@pytest.mark.parametrize("words", names(), ids=lambda words: " ".join(("satline", *words)))
def test_examples_fit_into_80_columns_and_use_present_names(words: tuple[str, ...]) -> None:
    block = (loaded(words).epilog or "").split("\n\n")[0].splitlines()
    # Help indents them by two columns.
    assert max(map(len, block)) + 2 <= 80
    shown = {" ".join(name) for name in names()}
    for line in examples(loaded(words)):
        for call in asked(line):
            first = " ".join(call[: 2 if call[0] in GROUPS else 1])
            assert first in shown or call[0] == "simulate"
