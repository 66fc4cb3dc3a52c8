"""Completion: what shells are told, that nothing heavy is loaded for it, that shells take the scripts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from satline.cli import commands, run
from satline.cli.tree import DAILY, FORMER, GROUPS
from satline.experiment.study import shipped_studies
from satline.present.definition import shipped


def completed(*words: str) -> list[str]:
    """What is offered for the last of the words."""
    *before, last = words
    found = BashComplete(commands, {}, "satline", "_SATLINE_COMPLETE").get_completions(list(before), last)
    return [item.value for item in found if item.type == "plain"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}


def test_commands_are_completed_with_their_present_names() -> None:
    assert completed("") == [*DAILY, *GROUPS, "completion", "schema", "man"]
    assert completed("re") == ["record", "report", "recording"]
    assert completed("analyse", "pr") == ["predict"]
    assert completed("recording", "de") == []
    assert not {*completed("")} & {*FORMER}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("study", "--o"), ["--output"]),
        (("report", "--p"), ["--png", "--ppi"]),
        (("predict", "--net"), ["--network"]),
        (("simulate", "--ex"), ["--explain"]),
        (("simulate", "155-II-1mb", "cms", "--see"), ["--seed"]),
        (("record", "--users", "s"), ["session"]),
    ],
)
def test_options_and_their_values_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_shipped_names_are_completed() -> None:
    assert completed("study", "") == sorted(path.stem for path in shipped_studies())
    assert completed("report", "us") == [name for name in shipped() if name.startswith("us")]
    assert completed("simulate", "155-II-1m") == ["155-II-1mb"]
    assert completed("simulate", "155-II-1mb", "cm") == ["cms"]
    assert "3081D" in completed("simulate", "calibrate", "")


@pytest.mark.parametrize("words", ["satline ", "satline study ", "satline info --j", "satline report us"])
def test_completion_loads_nothing_heavy(words: str) -> None:
    script = (
        "import sys, satline.cli\n"
        "try: satline.cli.run([])\n"
        "finally:\n"
        "    heavy = {'numpy', 'duckdb', 'pyarrow', 'altair', 'pydantic', 'rich'} & set(sys.modules)\n"
        "    print(*heavy, file=sys.stderr)\n"
    )
    asked = {"_SATLINE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(**asked), capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""
    assert "plain," in done.stdout


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `satline` is this one."""
    program = tmp_path / "satline"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m satline.cli "$@"\n')
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_bash_completes(path: str) -> None:
    script = (
        'eval "$(satline completion bash)"; COMP_WORDS=(satline analyse pre); COMP_CWORD=2;'
        'complete -p satline; _satline_completion satline; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "predict"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_of_their_shells(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_SATLINE_COMPLETE={shell}_complete" in script
    if shutil.which(shell) is not None:
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([shell, "-n", str(file)], check=True)


def test_another_shell_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err
