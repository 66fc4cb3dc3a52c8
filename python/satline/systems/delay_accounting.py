"""The kernel's delay accounting (kernel.task_delayacct): switched on for a time, and put back.

While it is on the kernel counts how long each task waits for pages and for disks. It costs little, and is off
by default since Linux 5.14.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from satline.errors import InputError
from satline.interruption import signals_held
from satline.systems.janitor_process import JanitorProcess, clean_stale
from satline.systems.ledger import Ledger

SWITCH = "sys/kernel/task_delayacct"


def is_on(proc: Path = Path("/proc")) -> bool | None:
    """Whether the kernel counts delays; ``None``: this kernel cannot, or does not say."""
    try:
        return (proc / SWITCH).read_text().strip() != "0"
    except OSError:
        return None


def switch_on(ledger: Ledger, proc: Path = Path("/proc")) -> bool:
    """Switch it on, in the ledger first; True when it is on afterwards."""
    path = proc / SWITCH
    now = is_on(proc)
    if now is None or now:
        return bool(now)
    if not os.access(path, os.W_OK):
        return False
    ledger.add("sysctl", path=str(path), old="0")
    try:
        path.write_text("1")
    except OSError:
        return False
    return True


@contextmanager
def switched_on(*, proc: Path = Path("/proc"), state: Path | None = None) -> Iterator[list[str]]:
    """Delay accounting is on in the block, and afterwards as it was: also after kill -9, by a janitor.

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
            f"--delay-accounting: {proc / SWITCH} does not exist",
            hint="it needs a kernel with CONFIG_TASK_DELAY_ACCT, 5.14 or later; else boot with delayacct",
        )
    if not now and not os.access(proc / SWITCH, os.W_OK):
        raise InputError(
            f"--delay-accounting: {proc / SWITCH} may not be written by this user",
            hint="it needs root: sudo satline record …; or leave it out",
        )
    clean_stale(state)  # what a recorder left behind that was killed together with its janitor
    if is_on(proc):
        yield problems
        return
    with signals_held():  # a janitor of whom nobody knows would come when we have gone, or never
        janitor = JanitorProcess.start(secrets.token_hex(16), state)
    try:
        if not switch_on(janitor.ledger, proc):
            raise InputError(
                f"--delay-accounting: {proc / SWITCH} does not take 1",
                hint="is it a container? Switch it on outside: sysctl kernel.task_delayacct=1",
            )
        yield problems
    finally:
        try:
            problems += janitor.finish()
        except subprocess.TimeoutExpired:
            problems.append(f"the janitor did not end; {janitor.ledger.path} says what is left")
