"""The tree of commands: its table and the commands, present and former names, help that loads nothing."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from satline.cli import commands, run
from satline.cli.lazy import LazyGroup
from satline.cli.tree import DAILY, FORMER, GROUPS, SECTIONS, Entry, Group

WIDTH = 80


def entries() -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Every command of the table with the words of its name."""
    for section in SECTIONS:
        for name, entry in section.entries.items():
            if isinstance(entry, Group):
                yield from (((name, inner), one) for inner, one in entry.commands.items())
            else:
                yield (name,), entry


def shown_by(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


@pytest.mark.parametrize(
    ("words", "entry"), [pytest.param(words, entry, id=" ".join(words)) for words, entry in entries()]
)
def test_the_table_says_what_the_commands_say(
    words: tuple[str, ...], entry: Entry, capsys: pytest.CaptureFixture[str]
) -> None:
    command = getattr(importlib.import_module(f"satline.cli.{entry.module}"), entry.function)
    assert isinstance(command, click.Command)
    assert command.help
    assert f"Usage: satline {' '.join(words)} " in shown_by([*words], capsys)


def test_no_command_is_left_out_of_the_table() -> None:
    listed = {(entry.module, entry.function) for _, entry in entries()}
    for module in {entry.module for _, entry in entries()}:
        loaded = importlib.import_module(f"satline.cli.{module}")
        for name, value in vars(loaded).items():
            # Those that a module takes from another are that one's.
            if isinstance(value, click.Command) and value.callback.__module__ == loaded.__name__:
                assert (module, name) in listed


def test_help_lists_daily_verbs_and_groups_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown_by([], capsys).splitlines()
    for name, entry in {**DAILY, **GROUPS}.items():
        assert f"  {name:<10}  {entry.short}" in lines
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) < 40
    assert not {line.split()[0] for line in lines if line.startswith("  ")} & {*FORMER}


@pytest.mark.parametrize("name", GROUPS)
def test_a_groups_help_lists_its_commands_in_a_line_each(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown_by([name], capsys).splitlines()
    shown = [entry for entry in GROUPS[name].commands.items() if not entry[1].hidden]
    widest = max(len(command) for command, _ in shown)
    for command, entry in shown:
        assert f"  {command:<{widest}}  {entry.short}" in lines
    assert "Examples:" in "\n".join(lines)
    assert run([name]) == 2 if name != "simulate" else True
    capsys.readouterr()


@pytest.mark.parametrize(("former", "present"), FORMER.items())
def test_former_names_go_on_working(
    former: str, present: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert present in dict(entries())
    old, new = shown_by([former], capsys), shown_by([*present], capsys)
    assert old.startswith(f"Usage: satline {former} ")
    assert old.splitlines()[1:] == new.splitlines()[1:]


def test_a_group_with_a_default_takes_what_names_no_command_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["simulate", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert run(["simulate", "run", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == listed
    assert run(["simulate"]) == 2
    assert "name a machine and a workload" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stduy"], "Did you mean study?"),
        (["anovaa"], "Did you mean experiment anova?"),
        (["check"], "Did you mean recording check?"),
        (["prune"], "Did you mean recording prune or history prune?"),
        (["recording", "cheeck"], "Did you mean check?"),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "\nhint: " in shown


@pytest.mark.parametrize("words", [[], ["recording"]])
def test_without_a_command_help_is_shown_and_the_exit_code_is_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err.startswith("Usage: satline ")


@pytest.mark.parametrize("words", [["--help"], ["analyse", "--help"]])
def test_help_loads_no_command(words: list[str]) -> None:
    script = (
        f"import sys, satline.cli; satline.cli.run({words!r}); import json;"
        "print(json.dumps(sorted(m for m in sys.modules if m.startswith('satline.'))), file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stderr) == [
        "satline.cli",
        "satline.cli.lazy",
        "satline.cli.program",
        "satline.cli.tree",
        "satline.errors",
        "satline.lazy",
    ]


def test_commands_of_a_group_are_made_once() -> None:
    context = click.Context(commands)
    group = commands.get_command(context, "analyse")
    assert isinstance(group, LazyGroup)
    assert group is commands.get_command(context, "analyse")
    assert group.get_command(context, "reduce") is commands.get_command(context, "reduce")
