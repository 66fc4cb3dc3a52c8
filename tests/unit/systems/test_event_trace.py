"""The event trace: a tracer of the run's own, as a study asks for it; what it cannot do, and says."""

import gzip
import mmap
import os
import secrets
import time
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.experiment.study import read_study
from satline.systems.cgroups import UnsettableError
from satline.systems.event_trace import ROOT, USUAL, EventTrace
from satline.systems.ledger import Ledger
from satline.systems.undo import undo

STUDY = """title = "x"
workload = "compute"
[load]
users = [1, 2]
"""


def tracer(root: Path) -> Path:
    """What the kernel shows of its tracer, as far as it is used."""
    for event in USUAL:
        (root / "events" / event.replace(":", "/")).mkdir(parents=True)
    (root / "instances").mkdir()
    return root


def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "state", secrets.token_hex(16))


def test_an_event_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsettableError, match="no event sched:sched_swap"):
        EventTrace("satline-x", ["sched:sched_swap"], 1 << 20, [], ledger(tmp_path), tracer(tmp_path / "t"))


def test_without_a_tracer_it_says_where_one_was_looked_for(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    with pytest.raises(UnsettableError, match=str(missing)):
        EventTrace("satline-x", USUAL, 1 << 20, [], ledger(tmp_path), missing)


def test_a_ledger_that_names_another_directory_removes_nothing(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    strange = tmp_path / f"satline-{'0' * 32}"
    strange.mkdir()
    book.add("tracer", path=str(strange))
    assert any("no instance" in problem for problem in undo(book))
    assert strange.is_dir()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('[trace]\nevents = ["sched_switch"]\n', "trace.events"),
        ("[trace]\nstep = 3\n", "no step 3"),
        ('target = "guest"\n[trace]\n', "this-host"),
        ('[trace]\nspace = "9 GB"\n', "trace.space"),
    ],
)
def test_a_study_that_cannot_be_traced_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "x.toml"
    top, _, tables = lines.partition("[trace]")
    path.write_text(top + STUDY + "[trace]" + tables)
    with pytest.raises(InputError, match=said):
        read_study(path)


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel's tracer wants root")
def test_the_kernel_traces_until_the_space_is_full_and_nothing_is_left(tmp_path: Path) -> None:
    name, book = f"satline-{secrets.token_hex(16)}", ledger(tmp_path)
    try:
        trace = EventTrace(name, ["sched:sched_switch", "exceptions:page_fault_user"], 1 << 16, [], book)
    except UnsettableError as error:
        undo(book)
        pytest.skip(str(error))
    before = time.monotonic()
    trace.begin()
    for _ in range(200):
        time.sleep(0.001)
        with mmap.mmap(-1, 1 << 20) as pages:  # storage of the heap would be used again without a fault
            for at in range(0, 1 << 20, 4096):
                pages[at] = 1
    trace.end()
    traced = trace.keep(tmp_path / "trace/x.txt.gz")
    after = time.monotonic()
    assert undo(book) == []
    assert not (ROOT / "instances" / name).exists()
    lines = gzip.decompress((tmp_path / "trace/x.txt.gz").read_bytes()).splitlines()
    kept = [line for line in lines if not line.startswith(b"#")]
    assert len(kept) == traced.events > 0
    assert traced.lost > 0, "64 kB cannot hold all of it"
    # Its times are the recording's: those of the monotonic clock.
    stamps = [float(line.split(b": ", 1)[0].split()[-1]) for line in kept]
    assert before <= min(stamps) <= max(stamps) <= after
