"""A study's swapper: its table, its policy file, its program's beginning and end."""

import os
import tomllib
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.experiment.study import StudySwapper, designed_study, read_study
from satline.experiment.swapper import Swapper, beside_the_load, policy_for
from satline.systems import Conditions

STUDY = """title = "x"
workload = "idle-kernels"
[load]
users = [2]
[limits]
swap = "1 GB"
"""


@pytest.fixture
def conditions(tmp_path: Path) -> Conditions:
    made = Conditions(tmp_path / "data", tmp_path / "users", tmp_path / "users.tsv", cgroup="/satline-x")
    made.users_file.write_text("10\t_satline\n")
    return made


def program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "satline-swapper"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_the_policy_watches_the_emulated_users_and_the_loads_storage(
    tmp_path: Path, conditions: Conditions
) -> None:
    settings = StudySwapper(policy={"prepage": {"sets": 8}, "storage": {"low": 0.3}})
    policy = policy_for(settings, conditions, tmp_path / "list")
    assert policy["watch"] == [{"pid_file": str(tmp_path / "list"), "interactive": True}]
    assert policy["storage"] == {"cgroup": "/satline-x", "low": 0.3}
    assert policy["prepage"] == {"sets": 8}
    conditions.cgroup = None
    assert "storage" not in policy_for(StudySwapper(), conditions, tmp_path / "list")


def test_it_is_told_of_users_but_never_of_the_run_itself(tmp_path: Path, conditions: Conditions) -> None:
    run = program(tmp_path, "trap 'exit 0' TERM\nwhile :; do sleep 0.05; done")
    with beside_the_load(StudySwapper(), {"satline-swapper": run}, conditions, tmp_path / "r") as swapper:
        assert swapper is not None
        users = tmp_path / "swapper-users.tsv"
        assert users.read_text() == ""
        with conditions.users_file.open("a") as file:
            file.write("20\tu1\n30\t_monitor\n40\tu2\n5")
        swapper.check()
        assert users.read_text() == "20\tu1\n40\tu2\n"
        assert tomllib.loads((tmp_path / "swapper.toml").read_text())["watch"][0]["pid_file"] == str(users)
        pid = swapper.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_one_nothing_is_started(conditions: Conditions, tmp_path: Path) -> None:
    for settings in (None, StudySwapper(enabled=False)):
        with beside_the_load(settings, {}, conditions, tmp_path / "r") as swapper:
            assert swapper is None


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (2, InputError, r"(?m)^prepage\.sets: no number$"),
        (1, SatlineError, r"(?m)ended during the run: prepage\.sets: no number$"),
    ],
)
def test_one_that_ends_by_itself_is_an_error(
    tmp_path: Path, conditions: Conditions, status: int, kind: type[SatlineError], message: str
) -> None:
    said = "lacking: page_idle", "error: prepage.sets: no number", "hint: write one"
    echoed = "; ".join(f"echo '{line}' >&2" for line in said)
    run = program(tmp_path, f"{echoed}; exit {status}")
    with pytest.raises(kind, match=message) as raised:
        Swapper(run, StudySwapper(), conditions, tmp_path / "r")
    assert raised.value.hint == "write one"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[swapper]\npolicy.watch = { pid = 5 }\n", "leave watch out"),
        ("[swapper]\nenabled = 3\n", "swapper.enabled"),
        ('[knobs]\nswap_kind = "tape"\n', 'no kind of swap device "tape" write one of: disk'),
    ],
)
def test_what_a_study_cannot_say(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read_study(written(tmp_path, STUDY + text))
    assert message in f"{raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize("knob", ['swap_kind = "zram"', "swap_discard = true"])
def test_a_character_without_a_size_is_refused(tmp_path: Path, knob: str) -> None:
    text = STUDY.replace('swap = "1 GB"', "processors = 1") + f"[knobs]\n{knob}\n"
    with pytest.raises(InputError) as raised:
        read_study(written(tmp_path, text))
    assert "state limits.swap" in str(raised.value.hint)


def test_who_has_logged_on_before_is_known_from_the_start(tmp_path: Path, conditions: Conditions) -> None:
    conditions.users_file.write_text("71\t_satline\n72\tmary\n73\tto")
    seen = tmp_path / "seen"
    run = program(tmp_path, f"cp {conditions.data.parent / 'swapper-users.tsv'} {seen}; sleep 60")
    swapper = Swapper(run, StudySwapper(), conditions, tmp_path / "r")
    try:
        assert seen.read_text() == "72\tmary\n"
    finally:
        swapper.stop()


def test_swapper_and_device_are_factors(tmp_path: Path) -> None:
    text = STUDY + (
        '[[factor]]\nname = "device"\nsetting = "knobs.swap_kind"\nlevels = ["disk", "zram"]\n'
        '[[factor]]\nname = "swapper"\nsetting = "swapper.enabled"\nlevels = [false, true]\n'
        '[[factor]]\nname = "set"\nsetting = "swapper.policy.swap_out.set_pages"\nlevels = [8, 64]\n'
    )
    cells = designed_study(read_study(written(tmp_path, text))).cells.values()
    found = {
        (
            cell.file.knobs.swap_kind,
            cell.file.swapper.enabled,
            cell.file.swapper.policy["swap_out"]["set_pages"],
        )
        for cell in cells
        if cell.file.swapper
    }
    assert len(found) == 8
