"""Study files: what is read, and every error at once with its place and remedy."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.errors import InputError
from satline.experiment.feasibility import check_feasible, told_by
from satline.experiment.protocol import quickened
from satline.experiment.sizes import format_size, parse_size
from satline.experiment.study import find_study, read_study, shipped_studies
from satline.problems import line_of

GOOD = """title = "t"
workload = "compute"
[load]
users = [1, 2, 4]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", shipped_studies(), ids=lambda path: path.stem)
def test_shipped_studies_are_good(path: Path) -> None:
    study = read_study(path)
    assert study.file.question
    assert len(study.file.load.users) >= 5 or study.file.factor
    assert study.workload.exists()


def test_a_study_says_what_it_said(tmp_path: Path) -> None:
    study = read_study(
        write(
            tmp_path,
            GOOD
            + """window_seconds = 3
seed = 9
[limits]
processors = 1
memory = "64 MiB"
swap = 4000000
read_bytes_per_second = "20 MB"
[[server]]
name = "ledger"
command = ["a", "b"]
ready_file = "r"
""",
        )
    )
    limits = study.limits()
    assert (limits.processors, limits.memory_bytes, limits.swap_bytes) == (1, 64 << 20, 4_000_000)
    assert limits.read_bytes_per_second == 20_000_000
    assert limits.stated().keys() == {"processors", "memory_bytes", "swap_bytes", "read_bytes_per_second"}
    assert study.servers()[0].command == ("a", "b")
    assert study.with_load(seed=3).file.load.seed == 3
    assert study.file.load.seed == 9
    assert study.text == study.path.read_text()


def test_all_errors_come_at_once_with_line_key_and_remedy(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """titel = "x"
workload = "compute"
target = "moon"
[load]
users = [1, 0, "x"]
windw_seconds = 3
[limits]
memory = "lots"
[[server]]
name = "a"
command = []
[[server]]
name = "b b"
command = ["x"]
""",
    )
    with pytest.raises(InputError) as caught:
        read_study(path)
    lines = [line.strip().removeprefix(str(path)) for line in caught.value.message.splitlines()]
    assert lines == [
        "9 errors",
        ":1: title: missing (every study needs it)",
        ':3: target: there is no target "moon" (write one of: this-host, remote, guest)',
        ":5: load.users[2]: must be at least 1, not 0",
        ":5: load.users[3]: 'x' is not a whole number",
        ':6: load.windw_seconds: unknown key (did you mean "window_seconds"?)',
        ':8: limits.memory: is not a size (write bytes, or a number and a unit: "768 MB", "1 GiB")',
        ":11: server[1].command: is empty (it needs at least 1)",
        ":13: server[2].name: 'b b' is not a name (write letters, digits, - . _)",
        ':1: titel: unknown key (did you mean "title"?)',
    ]
    assert caught.value.exit_code == 2
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("[1, 2, 4]", "[]"), "load.users: is empty"),
        (GOOD.replace("[1, 2, 4]", "3"), "load.users: 3 is not a list"),
        (GOOD + "window_seconds = nan", "window_seconds"),
        (GOOD + 'seed = "x"', "load.seed: 'x' is not a whole number"),
        (
            GOOD + "[monitor]\ninterval_seconds = 0.01",
            "monitor.interval_seconds: must be at least 0.1, not 0.01",
        ),
        (GOOD + '[monitor]\nthermometers = ["hot"]', "thermometers[1]: 'hot' is none of"),
        (GOOD + '[limits]\nmemory = "1 kB"', "limits.memory: must be at least 16000000"),
        (GOOD + "limits = 3", "load.limits: unknown key"),
        (GOOD.replace("[load]", "limits = 3\n[load]"), "limits: is not a table"),
        (GOOD + 2 * '[[server]]\nname = "a"\ncommand = ["x"]\n', 'two servers are named "a"'),
        (GOOD.replace("compute", "comptue"), 'there is no workload "comptue"'),
        ("title = \n", "not TOML"),
    ],
)
def test_single_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_study(write(tmp_path, text))
    assert message in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert caught.value.hint


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing", "."):
        with pytest.raises(InputError):
            read_study(tmp_path / name)
    with pytest.raises(InputError) as caught:
        find_study("this-hst")
    assert caught.value.hint == 'did you mean "this-host"?'
    assert find_study("this-host").name == "this-host.toml"


@given(st.text(max_size=60))
def test_no_text_makes_it_fall_over(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "s.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(InputError):
            read_study(path)


def test_lines_are_found_in_the_right_table() -> None:
    text = 'a = 1\n[x]\na = 2\n[[s]]\nb = 1\n[[s]]\n"b" = 2\n'
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("x", "a")) == 3
    assert line_of(text, ("s", 1, "b")) == 7
    assert line_of(text, ("x", "missing")) == 2
    assert line_of(text, ("x",)) == 2
    assert line_of(text, ()) == 1


@pytest.mark.parametrize(
    ("value", "size"),
    [(5, 5), ("5", 5), ("768 MB", 768_000_000), ("1GiB", 1 << 30), ("1.5 kB", 1500), (" 2 tib ", 2 << 40)],
)
def test_sizes(value: object, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize("value", ["", "MB", "-1 MB", "1 MB MB", "1e9", True, None, 1.5, []])
def test_what_is_no_size(value: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(value)


@given(st.integers(0, 10**15))
def test_sizes_are_shown_close_to_what_they_are(size: int) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.01)


def test_impossible_limits_and_missing_programs_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 1000000 kB\n")
    study = read_study(
        write(
            tmp_path,
            GOOD
            + """[limits]
processors = 3
cpu_quota_processors = 2.5
memory = "99 GB"
swap = "9000 TB"
[[server]]
name = "a"
command = ["no-such-program"]
""",
        )
    )
    with pytest.raises(InputError) as caught:
        check_feasible(study, tmp_path, tmp_path, processors=2)
    message = caught.value.message
    for place, words in (
        (":6: limits.processors", "write at most 2"),
        (":7: limits.cpu_quota_processors", "leave it out"),
        (":8: limits.memory", "the machine has 1.02 GB"),
        (":9: limits.swap", "free"),
        (":12: server.command", "install no-such-program"),
    ):
        line = next(line for line in message.splitlines() if place in line)
        assert words in line
    with pytest.raises(InputError, match="not a directory"):
        check_feasible(study, tmp_path / "none", tmp_path)


def test_what_a_workload_requires_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nshell = ["no-shell"]\nrequires = ["sh", "no-program"]\n'
    )
    study = read_study(write(tmp_path, GOOD.replace("compute", "mine.toml")))
    with pytest.raises(InputError) as caught:
        check_feasible(study, tmp_path)
    assert f'{tmp_path}/mine.toml:3: requires: the program "no-program"' in caught.value.message
    assert f'{tmp_path}/mine.toml:2: shell: the program "no-shell"' in caught.value.message
    assert '"sh"' not in caught.value.message


def test_errors_of_the_programs_keep_their_hint() -> None:
    error = told_by("error: x.toml:3: bad\n  more\nhint: mend it\n", "otherwise")
    assert (error.message, error.hint) == ("x.toml:3: bad\n  more", "mend it")
    assert told_by("", "otherwise").message == "otherwise"


def test_quick_keeps_first_and_last_step(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, GOOD.replace("[1, 2, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]")))
    load = quickened(study).file.load
    assert load.users == [1, 3, 5, 7, 8]
    assert load.window_seconds == pytest.approx(20 / 3)
    assert quickened(read_study(write(tmp_path, GOOD))).file.load.users == [1, 2, 4]
