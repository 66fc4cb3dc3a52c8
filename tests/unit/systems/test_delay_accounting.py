"""Delay accounting is on in the block and as it was afterwards, whoever ends it and how."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.systems import Configuration, Limits
from satline.systems.delay_accounting import is_on, shared, switched_on
from satline.systems.janitor import python_environment
from satline.systems.this_host import ThisHost

HOLDER = """
import sys, time
from pathlib import Path
from satline.systems.delay_accounting import switched_on
proc, here = map(Path, sys.argv[1:])
with switched_on(proc=proc, run=here / "run", state=here / "state"):
    print("on", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/task_delayacct").write_text("0\n")
    return tmp_path / "proc"


def test_it_is_on_in_the_block(proc: Path, tmp_path: Path) -> None:
    with switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state") as problems:
        assert is_on(proc)
        assert len(list((tmp_path / "state").glob("*.ledger"))) == 1
    assert (is_on(proc), problems) == (False, [])
    assert list((tmp_path / "state").glob("*.ledger")) == []


def test_an_error_in_the_block_puts_it_back(proc: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state"),
    ):
        raise KeyboardInterrupt
    assert is_on(proc) is False


def test_where_it_is_on_already_it_stays_on(proc: Path, tmp_path: Path) -> None:
    (proc / "sys/kernel/task_delayacct").write_text("1\n")
    with switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state"):
        assert is_on(proc)
    assert is_on(proc)


def test_a_kernel_without_it_is_told(tmp_path: Path) -> None:
    assert is_on(tmp_path) is None
    with (
        pytest.raises(InputError, match="does not exist"),
        switched_on(proc=tmp_path, run=tmp_path, state=tmp_path),
    ):
        pass


def held(proc: Path, here: Path) -> subprocess.Popen[bytes]:
    """A recorder that has switched it on, until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(proc), str(here)],
        env=python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"on\n"
    return holder


def wait_until_off(proc: Path) -> None:
    end = time.monotonic() + 120
    while is_on(proc) and time.monotonic() < end:
        time.sleep(0.05)
    assert is_on(proc) is False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_recorder_leaves_it_as_it_was(number: int, proc: Path, tmp_path: Path) -> None:
    holder = held(proc, tmp_path)
    assert is_on(proc)
    holder.send_signal(number)
    holder.communicate()
    wait_until_off(proc)


@pytest.mark.parametrize("killed", [False, True])
def test_the_last_of_two_recorders_puts_it_back(killed: bool, proc: Path, tmp_path: Path) -> None:
    first, second = held(proc, tmp_path), held(proc, tmp_path)
    switch = shared(proc, tmp_path / "run")
    assert len(switch.holders()) == 2
    if killed:
        first.kill()
    first.communicate()
    end = time.monotonic() + 120
    while len(list((tmp_path / "state").glob("*.ledger"))) > 1 and time.monotonic() < end:
        time.sleep(0.05)  # its janitor has done its work
    assert len(switch.holders()) == 1
    assert is_on(proc)
    second.communicate()
    assert is_on(proc) is False
    assert not switch.register.exists()


def test_who_was_killed_together_with_his_janitor_holds_no_longer(proc: Path, tmp_path: Path) -> None:
    dead = subprocess.Popen(["sleep", "1000"])
    switch = shared(proc, tmp_path / "run")
    switch.hold("dead", dead.pid)
    (switch.register / "cut.holder.new").write_text("{")
    with switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state"):
        dead.kill()
        dead.wait()
        assert switch.holders() != []
        assert is_on(proc)
    assert is_on(proc) is False
    assert not switch.register.exists()


def test_what_it_was_before_the_first_is_put_back(proc: Path, tmp_path: Path) -> None:
    setting = proc / "sys/kernel/task_delayacct"
    setting.write_text("1\n")
    with switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state"):
        # Nobody of ours has switched it on: nobody will switch it off.
        assert shared(proc, tmp_path / "run").holders() == []
    assert is_on(proc)
    setting.write_text("0\n")
    a, b = shared(proc, tmp_path / "run"), shared(proc, tmp_path / "run")
    a.hold("a", os.getpid())
    b.hold("b")
    a.release("a")
    a.release("a")
    assert is_on(proc)
    b.release("b")
    assert is_on(proc) is False


def test_a_study_and_a_recorder_share_the_switch(proc: Path, tmp_path: Path) -> None:
    host = ThisHost(
        cgroup_root=tmp_path / "none", proc=proc, run=tmp_path / "run", state=tmp_path / "of-study"
    )
    with switched_on(proc=proc, run=tmp_path / "run", state=tmp_path / "state"):
        host.prepare(Configuration(secrets.token_hex(16), Limits(), tmp_path))
    assert is_on(proc)
    assert host.restore() == []
    assert is_on(proc) is False
