"""Delay accounting is on in the block and as it was afterwards, whoever ends it and how."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.systems.delay_accounting import is_on, switched_on
from satline.systems.janitor_process import python_environment

HOLDER = """
import sys, time
from pathlib import Path
from satline.systems.delay_accounting import switched_on
with switched_on(proc=Path(sys.argv[1]), state=Path(sys.argv[2])):
    print("on", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/task_delayacct").write_text("0\n")
    return tmp_path / "proc"


def test_it_is_on_in_the_block(proc: Path, tmp_path: Path) -> None:
    with switched_on(proc=proc, state=tmp_path / "state") as problems:
        assert is_on(proc)
        assert len(list((tmp_path / "state").glob("*.ledger"))) == 1
    assert (is_on(proc), problems) == (False, [])
    assert list((tmp_path / "state").glob("*.ledger")) == []


def test_an_error_in_the_block_puts_it_back(proc: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), switched_on(proc=proc, state=tmp_path / "state"):
        raise KeyboardInterrupt
    assert is_on(proc) is False


def test_where_it_is_on_already_it_stays_on(proc: Path, tmp_path: Path) -> None:
    (proc / "sys/kernel/task_delayacct").write_text("1\n")
    with switched_on(proc=proc, state=tmp_path / "state"):
        assert is_on(proc)
    assert is_on(proc)


def test_a_kernel_without_it_is_told(tmp_path: Path) -> None:
    assert is_on(tmp_path) is None
    with pytest.raises(InputError, match="does not exist"), switched_on(proc=tmp_path, state=tmp_path):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_recorder_leaves_it_as_it_was(number: int, proc: Path, tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(proc), str(tmp_path / "state")],
        env=python_environment(),
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"on\n"
    assert is_on(proc)
    holder.send_signal(number)
    holder.communicate()
    end = time.monotonic() + 60
    while is_on(proc) and time.monotonic() < end:
        time.sleep(0.05)
    assert is_on(proc) is False
