"""Load series that end by themselves: when a window is steady, or when interactions have stopped growing."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from satline.experiment.emulator import Progress
from satline.experiment.study import Load
from satline.windows.steady import window_steadiness

if TYPE_CHECKING:
    import duckdb

DRAIN_S = 5.0
GROWTH = 0.02
PATIENCE = 2


class _Judge(Protocol):
    def __call__(self, connection: duckdb.DuckDBPyConnection, step: int) -> str:
        """Why the series may end after this step's window; empty: it may not."""
        ...


class Series:
    """Watches a series under way, and says when it has seen enough.

    steps
        Users of each step that the emulator is to be given.
    why
        Why it ended by itself; empty while it did not.
    """

    def __init__(self, load: Load, recording: Path) -> None:
        self.steps = steps_of(load)
        self.why = ""
        self._recording = recording
        self._judge: _Judge | None = None
        if load.steady == "wait":
            self._judge = _steady
        elif load.until == "peak":
            self._judge = _Peak()
        self._step = 1
        self._ask_at = math.inf

    def enough(self, progress: Progress | None) -> bool:
        """May the emulator be stopped? Asked once answers that were due in a window have had time to come."""
        if self._judge is None:
            return False
        if progress is not None and progress.step > self._step and self._ask_at == math.inf:
            self._ask_at = time.monotonic() + DRAIN_S
        if time.monotonic() < self._ask_at:
            return False
        self.why = self._asked(self._step)
        self._step, self._ask_at = self._step + 1, math.inf
        return bool(self.why)

    def _asked(self, step: int) -> str:
        from satline.recording import Recording

        assert self._judge is not None
        with Recording.open(self._recording).connect(tables=["event", "transaction"]) as connection:
            return self._judge(connection, step)


def steps_of(load: Load) -> list[int]:
    """The users of each step; to wait for a steady window, so many of the same as the limit has room for."""
    if load.steady != "wait":
        return load.users
    each = load.ramp_seconds + load.warmup_seconds + load.window_seconds
    return load.users * (1 + math.ceil(load.steady_limit_seconds / each))


def _steady(connection: duckdb.DuckDBPyConnection, step: int) -> str:
    found = window_steadiness(connection, step)
    # Where nothing can be told, waiting longer would not help.
    return "" if found.steady is False else f"window {step} counts: {found.words or 'steady'}"


@dataclass
class _Peak:
    best: float = 0.0
    since: int = 0

    def __call__(self, connection: duckdb.DuckDBPyConnection, step: int) -> str:
        rate = interactions_per_minute(connection, step)
        if rate is None or rate > self.best * (1 + GROWTH):
            self.best, self.since = max(self.best, rate or 0.0), 0
            return ""
        self.since += 1
        if self.since < PATIENCE:
            return ""
        return f"interactions have not grown for {PATIENCE} steps: the peak is {self.best:.0f} per minute"


def interactions_per_minute(connection: duckdb.DuckDBPyConnection, step: int) -> float | None:
    """Answers that began to come in a step's window, by its length; ``None``: it has no whole window."""
    row = connection.execute(
        """
        WITH bounds AS (
            SELECT max(monotonic_ns) FILTER (event = 'window-start') AS t0,
                max(monotonic_ns) FILTER (event = 'window-end') AS t1 FROM event WHERE step = $step)
        SELECT any_value(t1 - t0) / 6e10, count(*) FILTER (outcome IN ('ok', 'unexpected')
                AND t.monotonic_ns + coalesce(reaction_us, response_us) * 1000 BETWEEN t0 AND t1)
        FROM bounds LEFT JOIN transaction t ON t.phase <> 'logon'
        """,
        {"step": step},
    ).fetchone()
    return None if row is None or not row[0] else row[1] / row[0]
