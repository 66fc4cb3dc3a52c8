"""The kernel's delay accounting (kernel.task_delayacct): switched on for a time, and put back by the last
who wants it.

While it is on the kernel counts how long each task waits for pages and for disks. It costs little, and is off
by default since Linux 5.14.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from satline.errors import InputError
from satline.interruption import signals_held
from satline.systems.janitor import JanitorProcess, clean_stale
from satline.systems.ledger import Ledger
from satline.systems.shared_switch import SharedSwitch

SWITCH = "sys/kernel/task_delayacct"
# Who wants it on, below /run: all recordings, studies and services of the host share one switch.
REGISTER = "satline/task_delayacct"


def is_on(proc: Path = Path("/proc")) -> bool | None:
    """Whether the kernel counts delays; ``None``: this kernel cannot, or does not say."""
    try:
        return (proc / SWITCH).read_text().strip() != "0"
    except OSError:
        return None


def shared(proc: Path = Path("/proc"), run: Path = Path("/run")) -> SharedSwitch:
    """The switch and its register."""
    return SharedSwitch(proc / SWITCH, run / REGISTER)


def switch_on(ledger: Ledger, proc: Path = Path("/proc"), run: Path = Path("/run")) -> bool:
    """Keep it on for the owner of the ledger, in which that stands first; True when it is on afterwards."""
    switch = shared(proc, run)
    if is_on(proc) is None or not os.access(switch.setting, os.W_OK):
        return bool(is_on(proc))
    owner = ledger.owner() or {}
    name = ledger.path.stem
    ledger.add("shared", setting=str(switch.setting), register=str(switch.register), name=name)
    with suppress(OSError):
        switch.hold(name, owner.get("pid", os.getpid()))
    return bool(is_on(proc))


@contextmanager
def switched_on(
    *, proc: Path = Path("/proc"), run: Path = Path("/run"), state: Path | None = None
) -> Iterator[list[str]]:
    """Delay accounting is on in the block, and as it was after the last of such blocks on this host: also
    after kill -9, by a janitor.

    Yields
    ------
    A list, empty in the block; after it what could not be put back.

    Raises
    ------
    InputError
        It cannot be switched on here.
    """
    problems: list[str] = []
    now = is_on(proc)
    if now is None:
        raise InputError(
            f"delay accounting: {proc / SWITCH} does not exist",
            hint="it needs a kernel with CONFIG_TASK_DELAY_ACCT, 5.14 or later; else boot with delayacct",
        )
    if not now and not os.access(proc / SWITCH, os.W_OK):
        raise InputError(
            f"delay accounting: {proc / SWITCH} may not be written by this user",
            hint="it needs root: sudo satline record …; or leave it out",
        )
    clean_stale(state)  # what a recorder left behind that was killed together with its janitor
    if is_on(proc) and not os.access(proc / SWITCH, os.W_OK):
        yield problems
        return
    with signals_held():  # a janitor of whom nobody knows would come when we have gone, or never
        janitor = JanitorProcess.start(secrets.token_hex(16), state)
    try:
        if not switch_on(janitor.ledger, proc, run):
            raise InputError(
                f"delay accounting: {proc / SWITCH} does not take 1",
                hint="is it a container? Switch it on outside: sysctl kernel.task_delayacct=1",
            )
        yield problems
    finally:
        try:
            problems += janitor.finish()
        except subprocess.TimeoutExpired:
            problems.append(f"the janitor did not end; {janitor.ledger.path} says what is left")
