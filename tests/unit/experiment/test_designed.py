"""Studies with factors: what a file may say, the plan and its cells, all checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.dotted import flat, put
from satline.errors import InputError
from satline.experiment.designed import Designed
from satline.experiment.designed._file import level_text
from satline.experiment.study import Study, designed_study, read_study

HEAD = """title = "t"
workload = "compute"
[load]
users = [4]
[limits]
processors = 1
"""
MEMORY = """[[factor]]
name = "memory"
setting = "limits.memory"
levels = ["32 MB", "48 MB", "64 MB"]
"""
CLUSTER = """[[factor]]
name = "cluster"
setting = "knobs.page_cluster"
levels = [0, 3]
"""
WORK = '[[factor]]\nname = "w"\nsetting = "workload"\nlevels = ["compute", "comptue"]\n'
QUICK = """[[factor]]
name = "quick"
off.limits.cpu_quota_processors = 0.5
on.limits.cpu_quota_processors = 1
on.monitor.interval_seconds = 0.5
"""


def made(tmp_path: Path, text: str) -> Designed[Study]:
    path = tmp_path / "d.toml"
    path.write_text(text)
    return designed_study(read_study(path))


def problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        made(tmp_path, text).plan(1)
    assert caught.value.hint
    return f"{caught.value.message}\n{caught.value.hint}".replace(str(tmp_path), "")


def test_every_cell_is_a_study_of_its_own(tmp_path: Path) -> None:
    found = made(tmp_path, HEAD + MEMORY + CLUSTER + QUICK)
    assert len(found.cells) == 12
    cell = found.cells[("48 MB", "3", "on")].file
    assert (cell.limits.memory, cell.limits.processors, cell.knobs.page_cluster) == (48_000_000, 1, 3)
    assert (cell.limits.cpu_quota_processors, cell.monitor.interval_seconds) == (1.0, 0.5)
    off = found.cells[("32 MB", "0", "off")].file
    assert (off.limits.cpu_quota_processors, off.monitor.interval_seconds) == (0.5, 1.0)


def test_the_number_of_users_and_the_workload_may_be_factors(tmp_path: Path) -> None:
    users = '[[factor]]\nname = "load"\nsetting = "load.users"\nlevels = [3, 9]\n'
    work = '[[factor]]\nname = "work"\nsetting = "workload"\nlevels = ["compute", "cold-files"]\n'
    found = made(tmp_path, HEAD.replace("[4]", "[1, 2]") + users + work)
    assert found.cells[("9", "cold-files")].file.load.users == [9]
    assert found.cells[("9", "cold-files")].workload.stem == "cold-files"


def test_the_design_says_how_many_users(tmp_path: Path) -> None:
    found = made(tmp_path, HEAD.replace("[4]", "[1, 2]") + MEMORY + "[design]\nusers = 7\n")
    assert {study.file.load.users[0] for study in found.cells.values()} == {7}


def test_a_plan_is_random_by_its_seed_in_blocks(tmp_path: Path) -> None:
    design = '[design]\nseed = 5\nreplicates = 3\nblocks = "replicates"\nskip = ["memory=64 MB,cluster=3"]\n'
    found = made(tmp_path, HEAD + MEMORY + CLUSTER + design)
    plan = found.plan(99)
    assert plan.seed == 5
    assert len(plan.runs) == 15
    assert [run.block for run in plan.runs] == sorted(run.block or 0 for run in plan.runs)
    assert plan.runs == found.plan(1).runs
    assert all(found.key(run.levels) in found.cells for run in plan.runs)


def test_a_part_of_a_design(tmp_path: Path) -> None:
    text = (
        HEAD
        + CLUSTER
        + QUICK
        + CLUSTER.replace("cluster", "swappiness", 1).replace("page_cluster", "swappiness")
    )
    plan = made(tmp_path, text + '[design]\nkind = "fraction"\nfraction = "1/2"\nseed = 1\n').plan(1)
    assert len(plan.runs) == 4


def test_a_plan_that_was_written_before(tmp_path: Path) -> None:
    (tmp_path / "plan.csv").write_text(
        "run,replicate,memory,cluster\n1,1,48 MB,3\n2,1,32 MB,0\n3,2,32 MB,0\n"
    )
    text = HEAD + MEMORY + CLUSTER + '[design]\nplan = "plan.csv"\n'
    plan = made(tmp_path, text).plan(1)
    assert [(run.levels["memory"], run.replicate) for run in plan.runs] == [
        ("48 MB", 1),
        ("32 MB", 1),
        ("32 MB", 2),
    ]
    (tmp_path / "plan.csv").write_text("run,memory,cluster\n1,99 MB,3\n")
    assert "/plan.csv:2: no level '99 MB' of the factor memory" in problem(tmp_path, text)
    (tmp_path / "plan.csv").write_text("run,cluster\n1,3\n")
    assert "no column memory" in problem(tmp_path, text)
    (tmp_path / "plan.csv").write_text("")
    assert "plan.csv" in problem(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + MEMORY.replace("48 MB", "48 MXB"),
            "/d.toml:10: factor memory, level 48 MXB: limits.memory: ",
        ),
        (
            HEAD + MEMORY.replace("limits.memory", "limits.memroy"),
            "/d.toml:10: factor memory, level 32 MB: limits.memroy: unknown",
        ),
        (HEAD + MEMORY.replace('"48 MB"', "1"), "level 1: limits.memory: must be at least 16000000"),
        (HEAD + MEMORY.replace(', "48 MB", "64 MB"', ""), '"memory" has 1'),
        (HEAD + MEMORY.replace("48", "32"), 'a level of "memory" is there twice'),
        (HEAD + 2 * MEMORY, 'two are named "memory"'),
        (HEAD + MEMORY.replace('"memory"', '"run"'), '"run" is a column of the results'),
        (HEAD + MEMORY.replace("setting", "settings"), "unknown key"),
        (HEAD + MEMORY.replace('setting = "limits.memory"', ""), "needs a setting with levels"),
        (HEAD + WORK, '/d.toml:10: factor w, level comptue: workload: there is no workload "comptue"\ndid'),
        (HEAD.replace("[4]", "[4, 5]") + MEMORY, "a run of a design has one number of users"),
        (HEAD + "[design]\nseed = 1\n", "there is nothing to vary"),
        (HEAD + MEMORY + '[design]\nkind = "fraction"\n', "a fraction has one of"),
        (HEAD + MEMORY + '[design]\nkind = "fraction"\nfraction = "1/2"\n', "two levels"),
        (HEAD + MEMORY + "[design]\nblocks = 3\n", "/d.toml:11: design: "),
        (
            HEAD + MEMORY + '[design]\nskip = ["memory=99"]\n',
            "/d.toml:12: design.skip 'memory=99': memory has no level",
        ),
        (HEAD + MEMORY + '[design]\nplan = "p.csv"\nseed = 1\n', "the plan says it"),
        (HEAD + MEMORY + '[design]\nplan = "nowhere.csv"\n', "there is no file"),
        (HEAD + MEMORY + '[design]\nblocks = "replicates"\n', "one replicate is one block"),
        (HEAD.replace("[4]", '[1, 2]\nsteady = "wait"'), '"wait" is for one number of users'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    assert message in problem(tmp_path, text)


scalars = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)


@given(scalars | st.lists(scalars))
def test_any_level_has_a_text(level: object) -> None:
    assert isinstance(level_text(level), str)


keys = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


@given(st.dictionaries(keys, st.integers(), max_size=5), keys, st.integers())
def test_what_was_put_is_there(before: dict[str, int], key: str, value: int) -> None:
    values: dict[str, object] = {}
    for name, one in before.items():
        put(values, name, one)
    put(values, key, value)
    assert flat(values)[key] == value
