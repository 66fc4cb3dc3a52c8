"""One grammar of outputs: what means the same is spelled the same, and former spellings are taken."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from satline.cli import commands, run
from satline.cli.declared import command
from satline.cli.lazy import LazyGroup
from satline.cli.outputs import OutputOption, output_option, picture_files
from satline.errors import InputError

# What each spelling stands for, and what is shown behind it.
GRAMMAR = {
    "--output": {"FILE", "DIR", "PATH", "RECORDING"},
    "--json": {None},
    "--csv": {None},
    "--html": {"FILE"},
    "--markdown": {"FILE"},
    "--svg": {"PATH"},
    "--png": {"PATH"},
}
FORMER = {"--out", "--page", "--plots"}


def leaves(group: LazyGroup = commands, *words: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from leaves(command, *words, name)
        else:
            yield " ".join((*words, name)), command


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in leaves()])
def test_outputs_are_spelled_alike_everywhere(command: click.Command) -> None:
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        spelled = {*option.opts} & {*GRAMMAR}
        # Only the shared decorators make these, and nothing else of their kind is shown.
        assert isinstance(option, OutputOption) is bool(spelled)
        assert not {*option.opts} & FORMER
        assert ("-o" in option.opts) is ("--output" in option.opts)
        for one in spelled - ({"--output"} if "--html" in spelled else set()):
            assert option.metavar in GRAMMAR[one]


def test_former_spellings_are_taken_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "--help"]) == 0
    assert "--out " not in capsys.readouterr().out
    seen: list[Path] = []

    @command()
    def make(output: Path = output_option("What is made.")) -> None:
        seen.append(output)

    for spelled in ("-o", "--output", "--out"):
        make.main([spelled, "x"], standalone_mode=False)
    assert seen == [Path("x")] * 3


@pytest.mark.parametrize(
    "words",
    [
        ["study", "s", "--out", "x"],
        ["report", "a", "r", "--plots", "x", "--format", "png"],
        ["simulate", "s", "--out", "x", "--page", "x.md"],
        ["calibrate", "c", "--out", "x"],
        ["record-session", "--out", "x"],
        ["workload", "import-session", "x", "--out", "y"],
        ["workload", "fit", "x", "--out", "y"],
        ["workload", "generate", "x", "--users", "1", "--out", "y"],
        ["anova", "t", "--response", "y", "--factors", "a", "--plots", "x"],
    ],
    ids=" ".join,
)
def test_each_former_spelling_is_taken_where_it_was(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda _command, _context: None)
    assert run(words) == 0


def test_pictures_go_into_a_file_or_a_directory(tmp_path: Path) -> None:
    one, figures = tmp_path / "one.svg", tmp_path / "new" / "figures"
    assert picture_files(one, ["load"], "svg") == [one]
    assert picture_files(one, ["load", "hours"], "svg") == [
        tmp_path / "one-load.svg",
        tmp_path / "one-hours.svg",
    ]
    assert picture_files(one, ["load"], "svg", several=True) == [tmp_path / "one-load.svg"]
    assert picture_files(figures, ["load"], "png") == [figures / "load.png"]
    assert figures.is_dir()
    # Where there is such a directory, it is what is meant.
    one.mkdir()
    assert picture_files(one, ["load"], "svg") == [one / "load.svg"]


def test_a_directory_that_cannot_be_made_is_wrong_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        picture_files(tmp_path / "file" / "figures", ["load"], "svg")
    assert "ends in .svg" in caught.value.hint
