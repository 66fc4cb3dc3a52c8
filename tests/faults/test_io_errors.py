"""A sample of errors of the disk in every task that writes a recording; `make fuzz` tries thousands."""

from __future__ import annotations

import errno
import random
from pathlib import Path

import pytest
import shim
from io_errors import TASKS, Bench, Server, Task, faults

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shim.compiler() is None, reason="no C compiler, which the shim needs"),
]
CALLS = 6
FAULTS = 14
MONITOR_FAULTS = 5


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_an_error_of_the_disk_is_told_and_leaves_a_sound_recording(task: Task, place: Path) -> None:
    root = place / "disk"
    root.mkdir()
    with Server(root) as server:
        bench = Bench(task, root / "tried", server)
        every = list(faults(bench, CALLS))
        count = FAULTS if task.words is not None else MONITOR_FAULTS
        chosen = random.Random(23).sample(every, min(count, len(every)))
        attempts = [(fault, *bench.attempt(*fault)) for fault in chosen]
    assert any(came for _, came, _ in attempts)
    assert [(fault, problems) for fault, _, problems in attempts if problems] == []


def test_a_ledger_that_cannot_be_synced_ends_the_monitor_without_a_panic(place: Path) -> None:
    """Found by `make fuzz`: the segment was begun, and its number was not counted."""
    root = place / "disk"
    root.mkdir()
    with Server(root) as server:
        bench = Bench(next(t for t in TASKS if t.name == "monitor"), root / "tried", server)
        for number in range(16, 28, 3):
            came, problems = bench.attempt("sync", number, errno.EIO, 1)
            assert came
            assert problems == []
