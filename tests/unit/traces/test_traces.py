"""`satline trace`: the commands over the real program, where it is built."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest

from satline import traces
from satline.cli import run
from satline.errors import SatlineError
from satline.traces import Program, record, replay

DATA = Path(__file__).parents[3] / "crates/satline-traces/tests/data"


def built() -> bool:
    try:
        Program()
    except SatlineError:
        return False
    return True


pytestmark = pytest.mark.skipif(not built(), reason="satline-traces is not built")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("loop.txt").write_text("\n".join(["1", "2", "3"] * 4) + "\n")


def test_a_loop_larger_than_storage_is_lost_on_lru_and_not_on_opt() -> None:
    found = replay(Path("loop.txt"), policies=["lru", "opt"], sizes=[2, 3], curve=True)
    assert (found.references, found.pages, found.sizes) == (12, 3, (2, 3))
    lru, opt = found.policies
    assert lru.misses == (12, 3)
    # The first three, then every second one.
    assert opt.misses == (7, 3)
    assert found.lru_curve == (12, 12, 12, 3)


def test_import_keeps_what_replay_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "import", "loop.txt", "--note", "made"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("loop.trace: 12 references, ")
    assert shown.endswith("next: satline trace replay loop.trace\n")
    assert run(["trace", "replay", "loop.trace", "--sizes", "50%,3", "--json"]) == 0
    compact = json.loads(capsys.readouterr().out)
    assert run(["trace", "replay", "loop.txt", "--sizes", "50%,3", "--json"]) == 0
    text = json.loads(capsys.readouterr().out)
    assert compact["policies"] == text["policies"]
    assert compact["source"]["note"] == "made"


def test_the_table_fits_80_columns_and_takes_several_where_there_are_many_sizes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(DATA / "sort.trace", "sort.trace")
    sizes = ",".join(f"{part}%" for part in range(5, 85, 5))
    assert run(["trace", "replay", "sort.trace", "--first", "100000", "--sizes", sizes]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("pages ") for line in lines) == 2
    assert sum(line.startswith("s3-fifo ") for line in lines) == 2
    assert lines[-1].startswith("* of this mean size")


def test_a_cut_trace_is_replayed_as_far_as_it_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    whole = (DATA / "sort.trace").read_bytes()
    Path("cut.trace").write_bytes(whole[: len(whole) // 2])
    assert run(["trace", "replay", "cut.trace", "--policies", "lru"]) == 0
    assert "(a block is cut)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        (["replay"], "no trace given", "--help"),
        (["replay", "absent"], "absent: ", "see the path"),
        (["replay", "loop.txt", "--policies", "magic"], "there is no policy", "the policies are fifo"),
        (["replay", "loop.txt", "--sizes", "0"], "--sizes", "64,256,10%"),
        (["replay", "notes"], "notes: no known format", "--format"),
        (["replay", "broken"], "broken: line 2 is not of pages", "--format names another"),
        (["import", "loop.txt", "-o", "broken"], "is there already", "another file"),
        (["import", "-"], "standard input has no name", "-o"),
        (["import", "loop.txt", "--page-bytes", "1000"], "no page size", "power of two"),
        (["record", "-o", "x.trace", "--", "no-such-program"], "no such program", "--"),
    ],
)
def test_wrong_input_is_told_with_its_remedy(
    arguments: list[str], says: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] == "record" and shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    Path("notes").write_text("hello\n")
    Path("broken").write_text("1\n\x1b[31m\n2\n")
    assert run(["trace", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert hint in error.split("hint: ")[1]
    assert "\x1b" not in error


def test_policies_and_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "replay", "--list"]) == 0
    assert "two-list" in capsys.readouterr().out
    assert run(["trace", "import", "--formats", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["formats"]]
    assert names == ["lackey", "blkparse", "spc", "msr", "pages"]


def test_without_valgrind_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces._record.shutil, "which", lambda _: None)
    with pytest.raises(SatlineError) as caught:
        record(["true"], Path("x.trace"))
    assert "install valgrind" in caught.value.hint


def fake_valgrind(directory: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    path = directory / "valgrind"
    path.write_text(f"#!{sys.executable}\nimport os, sys\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_a_recording_is_what_lackey_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """
fd = int(next(word for word in sys.argv if word.startswith("--log-fd=")).split("=")[1])
assert sys.argv[-2:] == ["true", "--version"], sys.argv
os.write(fd, b"==1== Lackey\\nI  00001000,3\\n L 00003000,8\\n S 00003008,8\\nI  00001003,3\\n==1==\\n")
sys.exit(3)
"""
    fake_valgrind(tmp_path, monkeypatch, body)
    assert run(["trace", "record", "-o", "x.trace", "--json", "true", "--version"]) == 0
    shown = capsys.readouterr()
    kept = json.loads(shown.out)
    assert (kept["references"], kept["totals"]["source_references"], kept["status"]) == (3, 4, 3)
    assert kept["command"] == "true --version"
    assert "ended with status 3" in shown.err
    assert replay(Path("x.trace"), policies=["lru"], sizes=[2]).policies[0].misses == (2,)


def test_what_came_before_ctrl_c_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
import signal, time
fd = int(next(word for word in sys.argv if word.startswith("--log-fd=")).split("=")[1])
os.write(fd, b"I  00001000,3\\n L 00003000,8\\n S 00")
# It has begun to listen when it sleeps.
while open(f"/proc/{os.getppid()}/stat").read().rpartition(") ")[2][0] != "S":
    time.sleep(0.01)
os.kill(os.getppid(), signal.SIGINT)
time.sleep(600)
"""
    fake_valgrind(tmp_path, monkeypatch, body)
    # As in a terminal: a script's background job has SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        kept = record(["true"], Path("x.trace"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert kept["interrupted"]
    assert (kept["references"], kept["tail"]["bytes"]) == (2, 5)


def test_a_valgrind_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_valgrind(tmp_path, monkeypatch, "sys.exit(1)")
    with pytest.raises(SatlineError, match="nothing was recorded: valgrind ended with status 1"):
        record(["true"], Path("x.trace"))
    assert not Path("x.trace").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_real_program_is_recorded() -> None:
    kept = record(["/bin/true"], Path("true.trace"), first=20_000)
    assert kept["references"] == 20_000
    found = replay(Path("true.trace"), policies=["lru", "opt"], sizes=["50%"])
    assert found.pages > 20
    assert found.pages <= found.policies[1].misses[0] <= found.policies[0].misses[0]
