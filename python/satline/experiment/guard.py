"""One study at a time, on a host that has nothing left of earlier ones."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from satline.errors import InputError
from satline.systems.janitor_process import clean_stale
from satline.systems.ledger import state_directory
from satline.systems.lock import held, host_held
from satline.systems.states import note_state

if TYPE_CHECKING:
    from satline.experiment.progress import View


@contextlib.contextmanager
def only_one(state: Path | None = None) -> Iterator[None]:
    """Hold the host for one study at a time: two would measure each other.

    Raises
    ------
    InputError
        Another study runs, or the state directory cannot be written.
    """
    busy = "another study is running on this host"
    hint = "wait for its end; two studies would measure each other"
    with contextlib.ExitStack() as stack:
        if state is None:
            stack.enter_context(host_held("satline-study", busy=busy, hint=hint))
        stack.enter_context(held(state or state_directory(), variable="XDG_STATE_HOME", busy=busy, hint=hint))
        if state is None:
            note_state(state_directory().absolute())
        yield


def check_writable(out: Path) -> None:
    """Raises InputError where nothing can be written to `out`, which need not be there yet."""
    above = next(directory for directory in (out.absolute(), *out.absolute().parents) if directory.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above} may not be written", hint="name another place for the recording")


@contextlib.contextmanager
def host_to_oneself(state: Path | None, view: View) -> Iterator[None]:
    """No other study in the block, and nothing left of earlier ones."""
    with only_one(state):
        undone, stuck, _ = clean_stale(state)
        if undone:
            view.note(f"removed what {len(undone)} earlier run(s) had left behind")
        for problem in stuck:
            view.note(f"left behind by an earlier run: {problem}")
        yield
