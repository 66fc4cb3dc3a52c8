"""The windows of a study, as they stand in its recording: what was seen at one number of users for a time.

    from satline.windows import measured
    windows = measured(recording).windows            # for satline.knee.fit, or a search

One window: `one`, corrected for what its users drew by `variates`, with what the workload file states from
`stated`. All of a recording, one that is being written too: `measured`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from satline.errors import InputError

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from satline.knee import Window
    from satline.reduction import Reduction, Source
    from satline.windows.one import About

    Floats = NDArray[np.float64]

__all__ = ["Measured", "measured"]

_VARIABLES = ("share_run", "users_in_transaction")
_TABLES = ("event", "transaction", "processor", "cgroup")


@dataclass(frozen=True)
class Measured:
    """The windows so far.

    windows
        In the order of time, those in which nobody completed anything included.
    counts_work
        A line counts as what one of its class takes at light load, by the mean over the mix; else as one.
    line_s
        Seconds of work that count as one line; ``None``: each line counts as one.
    """

    windows: tuple[Window, ...]
    counts_work: bool
    line_s: float | None = None


class UpToNow:
    """A recording whose window under way ends with the latest reading of the monitor."""

    def __init__(self, recording: Source) -> None:
        self.description, self.sources = recording.description, recording.sources
        self._recording = recording

    def connect(self) -> duckdb.DuckDBPyConnection:
        """As of the recording."""
        connection = self._recording.connect()
        connection.execute("ALTER VIEW event RENAME TO satline_recorded_event")
        # Only of the latest window: one that a kill cut short has no end.
        connection.execute("""
            CREATE VIEW event AS SELECT * FROM satline_recorded_event UNION ALL BY NAME (
                SELECT any_value(source) AS source, run, step, 'window-end' AS event,
                    any_value(users) AS users,
                    (SELECT max(monotonic_ns) FROM system) AS monotonic_ns, max(time_ns) AS time_ns
                FROM satline_recorded_event
                WHERE source = 'terminal' AND step > 0 AND (run, step) IN (
                    SELECT (run, step) FROM satline_recorded_event WHERE source = 'terminal' AND step > 0
                    ORDER BY monotonic_ns DESC LIMIT 1)
                GROUP BY run, step
                HAVING count(*) FILTER (event = 'window-start') > 0
                    AND count(*) FILTER (event IN ('window-end', 'stopped')) = 0)""")
        return connection


def measured(recorded: Source, *, counted: bool = False, reduction: Reduction | None = None) -> Measured:
    """Read the windows, the one under way as far as it is.

    Parameters
    ----------
    counted
        Each line counts as one: where a target is a number of transactions.
    reduction
        Of the recording over users, to save reducing it again.
    """
    from satline.knee import Window
    from satline.windows.one import light_work, line_seconds, window_of

    recording = UpToNow(recorded)
    with recording.connect() as connection:
        # Each window asks several times: the files are read once.
        for name in _TABLES:
            connection.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM "{name}"')
        bounds = _bounds(connection)
        if not bounds:
            return Measured((), False)
        reactions = _reactions(connection)
        lingering = _lingering(connection)
        waits = _Waits.of(recording, reduction)
        about = _about(recorded)
        light = {} if counted else light_work(connection)
        windows = []
        for one in bounds:
            run, step = one.key
            parts = window_of(connection, step, run=run, about=about, work=light, warm_up=True)
            if parts is None:
                continue
            wait = None if waits is None else waits.within(*one.window_ns)
            windows.append(
                Window(
                    **{
                        **parts.fields(),
                        "reactions_s": reactions.get(one.key, ()),
                        "waiting": parts.waiting if wait is None else wait,
                        "settled": parts.settled and one.complete and one.key not in lingering,
                    }
                )
            )
    return Measured(tuple(windows), bool(light), line_seconds(about.stated, light))


def _about(recording: Source) -> About:
    """What is known of the study; of a workload that is no file of the emulator's, nothing of its draws."""
    from satline.windows.one import About

    try:
        return About.of(recording)
    except InputError:
        return About.of(recording, with_workload=False)


@dataclass(frozen=True)
class _Waits:
    """Parts of users' transaction time in which they did not run, by observation."""

    began_ns: Floats
    ended_ns: Floats
    ran: Floats
    weights: Floats

    @classmethod
    def of(cls, recording: UpToNow, reduction: Reduction | None) -> _Waits | None:
        import numpy as np

        from satline.reduction import reduce

        if reduction is None or any(name not in reduction.observations for name in _VARIABLES):
            try:
                reduction = reduce(recording, "users", variables=_VARIABLES)
            except InputError:
                return None  # the monitor has not written two samples yet
        seen = reduction.observations
        inside = np.nan_to_num(seen["users_in_transaction"])
        return cls(seen["t0"], seen["t1"], seen["share_run"], np.asarray(reduction.seconds * inside))

    def within(self, begin_ns: float, end_ns: float) -> float | None:
        """In the mean of the observations that lie within."""
        import numpy as np

        good = (
            (self.began_ns >= begin_ns)
            & (self.ended_ns <= end_ns)
            & np.isfinite(self.ran)
            & (self.weights > 0)
        )
        if not good.any():
            return None
        return float(np.clip(1 - np.average(self.ran[good], weights=self.weights[good]), 0.0, 1.0))


@dataclass(frozen=True)
class _Bounds:
    """A step with a whole window; complete: all of its users were logged on."""

    key: tuple[int, int]
    users: int
    window_ns: tuple[int, int]
    complete: bool


def _bounds(connection: duckdb.DuckDBPyConnection) -> list[_Bounds]:
    rows = connection.execute("""
        SELECT run, step, any_value(users),
            min(monotonic_ns) FILTER (event = 'window-start') AS w0,
            max(monotonic_ns) FILTER (event = 'window-end') AS w1,
            count(*) FILTER (event = 'log-on-failed') AS failed
        FROM event WHERE source = 'terminal' AND step > 0 AND users > 0
        GROUP BY run, step HAVING w1 > w0 ORDER BY w0""").fetchall()
    return [_Bounds((run, step), users, (w0, w1), not failed) for run, step, users, w0, w1, failed in rows]


def _reactions(connection: duckdb.DuckDBPyConnection) -> dict[tuple[int, int], list[float]]:
    """Reactions by run and step, infinite where one never came.

    Who was to leave and had waited until the window's end for longer than nine of ten others counts as one
    whose answer never came: to leave such users out would make an overloaded system look faster than it is.
    """
    rows = connection.execute("""
        WITH line AS (
            SELECT run, step, monotonic_ns, outcome,
                coalesce(reaction_us, CASE WHEN outcome IN ('ok', 'unexpected') THEN response_us END)
                    / 1e6 AS s
            FROM transaction WHERE phase = 'window' AND step > 0 AND users IS NOT NULL),
        ended AS (
            SELECT run, step, max(monotonic_ns) AS end_ns FROM event
            WHERE source = 'terminal' AND event = 'window-end' GROUP BY ALL),
        usual AS (
            SELECT run, step, quantile_cont(s, 0.9) AS p90 FROM line
            WHERE outcome IN ('ok', 'unexpected') GROUP BY ALL)
        SELECT run, step, list(CASE WHEN outcome IN ('ok', 'unexpected') OR outcome = 'cut' AND s IS NOT NULL
            THEN s ELSE 'inf'::DOUBLE END ORDER BY monotonic_ns)
        FROM line LEFT JOIN ended USING (run, step) LEFT JOIN usual USING (run, step)
        WHERE outcome <> 'cut' OR s IS NOT NULL OR (end_ns - monotonic_ns) / 1e9 > p90
        GROUP BY run, step""").fetchall()
    return {(run, step): [s for s in seconds if s is not None] for run, step, seconds in rows}


def _lingering(connection: duckdb.DuckDBPyConnection) -> frozenset[tuple[int, int]]:
    """Runs and steps in whose windows somebody who was to have left still waited for an answer."""
    rows = connection.execute("""
        WITH w AS (
            SELECT run, step, any_value(users) AS users,
                min(monotonic_ns) FILTER (event = 'window-start') AS w0
            FROM event WHERE source = 'terminal' AND step > 0 GROUP BY run, step)
        SELECT DISTINCT w.run, w.step FROM w JOIN transaction t
        ON t.run = w.run AND t.step < w.step AND t.monotonic_ns < w0
            AND t.monotonic_ns + t.response_us * 1000 > w0
        WHERE try_cast(regexp_extract(t."user", '[0-9]+$') AS BIGINT) > w.users""").fetchall()
    return frozenset((int(run), int(step)) for run, step in rows)
