"""The measured windows of a recording, one that is being written too, as a search takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satline.errors import InputError

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from satline.experiment.search import Window
    from satline.recording import Recording

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

BLOCKS = 10
SHORTEST_BLOCK_S = 1.0
NOISIER = 1.3
_VARIABLES = ("transaction_rate", "work_rate", "left_fraction", "share_run", "users_in_transaction")


@dataclass(frozen=True)
class Measured:
    """The windows so far.

    windows
        In the order of time, those without any whole observation left out.
    responses_s
        By users, how long who leaves must wait for the answer at most times: the 90th percentile of the
        responses seen, or where that is more their mean by Little's law, N / X − Z, which holds those that
        have not come yet, too.
    counts_work
        Throughput is work completed, as the diagnosis counts it, and no number of transactions.
    """

    windows: tuple[Window, ...]
    responses_s: dict[int, float]
    counts_work: bool


class UpToNow:
    """A recording whose window under way ends with the latest reading of the monitor."""

    def __init__(self, recording: Recording) -> None:
        self.description, self.sources = recording.description, recording.sources
        self._recording = recording

    def connect(self, *, tables: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
        """As of the recording; with all tables, or event among those asked for."""
        names = None if tables is None else {*tables, "event", "system"}
        connection = self._recording.connect(tables=names)
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


def measured(recorded: Recording, *, counted: bool = False) -> Measured:
    """Read the windows, the one under way as far as it is.

    Throughput is what the diagnosis judges by: transactions, or work completed, where commands differ in what
    they take. Work sees a bend earlier, since short commands go on completing; but where a few long commands
    are most of it a short window tells little by it, and transactions are counted. Each window is cut into
    about ten blocks of whole observations.

    Parameters
    ----------
    counted
        Transactions in any case.
    """
    import numpy as np

    from satline.diagnosis.saturation import work_completed
    from satline.experiment.search import Window
    from satline.reduction import reduce

    recording = UpToNow(recorded)
    bounds = _bounds(recording)
    if not bounds:
        return Measured((), {}, False)
    try:
        reduction = reduce(recording, "users", variables=_VARIABLES)
    except InputError:
        return Measured((), {}, False)  # the monitor has not written two samples yet
    seen = reduction.observations
    work = None if counted else work_completed(reduction)
    completed = np.asarray(seen["transaction_rate"], dtype=np.float64)
    began, ended = (np.asarray(seen[name], dtype=np.float64) for name in ("t0", "t1"))
    reactions, responses, pauses = _reactions(recording)
    lingering = _lingering(recording)
    origin = bounds[0].began_ns
    parts = [
        (one, inside)
        for one in bounds
        if len(
            inside := np.flatnonzero(
                (began >= one.window_ns[0]) & (ended <= one.window_ns[1]) & np.isfinite(completed)
            )
        )
    ]
    indexes = [inside for _, inside in parts]
    if work is not None and not _as_quiet(work, completed, reduction.seconds, indexes):
        work = None
    rate = completed if work is None else work
    windows = []
    for one, inside in parts:
        seconds = reduction.seconds[inside]
        throughput, block_s = _blocks(rate[inside], seconds)
        left = _mean(seen["left_fraction"][inside], seconds)
        ran = _mean(seen["share_run"][inside], seconds * np.nan_to_num(seen["users_in_transaction"][inside]))
        windows.append(
            Window(
                users=one.users,
                begin_s=(one.window_ns[0] - origin) / 1e9,
                block_s=block_s,
                throughput=throughput,
                reactions_s=np.array(reactions.get(one.key, ()), dtype=np.float64),
                waiting=None if ran is None else min(1.0, max(0.0, 1 - ran)),
                taken=None if left is None else min(1.0, max(0.0, 1 - left)),
                settled=one.complete and one.key not in lingering,
            )
        )
        lines = int(np.isfinite(windows[-1].reactions_s).sum())
        pause_s = pauses.get(one.users, 0.0)
        mean_s = one.users * (one.window_ns[1] - one.window_ns[0]) / 1e9 / max(1, lines) - pause_s
        responses[one.users] = max(responses.get(one.users, 0.0), mean_s)
    return Measured(tuple(windows), responses, work is not None)


@dataclass(frozen=True)
class _Bounds:
    """A step with a whole window; complete: all of its users were logged on."""

    key: tuple[int, int]
    users: int
    began_ns: int
    window_ns: tuple[int, int]
    complete: bool


def _bounds(recording: UpToNow) -> list[_Bounds]:
    connection = recording.connect(tables=["event"])
    try:
        rows = connection.execute("""
            SELECT run, step, any_value(users), min(monotonic_ns) FILTER (event = 'step') AS began,
                min(monotonic_ns) FILTER (event = 'window-start') AS w0,
                max(monotonic_ns) FILTER (event = 'window-end') AS w1,
                count(*) FILTER (event = 'log-on-failed') AS failed
            FROM event WHERE source = 'terminal' AND step > 0 AND users > 0
            GROUP BY run, step HAVING w1 > w0 ORDER BY w0""").fetchall()
    finally:
        connection.close()
    return [
        _Bounds((run, step), users, w0 if began is None else began, (w0, w1), not failed)
        for run, step, users, began, w0, w1, failed in rows
    ]


def window_is_there(recording: Recording, run: int, step: int) -> bool:
    """Does the recording hold the emulator's hold after this step, and the monitor's readings until then?"""
    connection = recording.connect(tables=["event", "system"])
    try:
        ended = _one(
            connection,
            f"SELECT max(monotonic_ns) FILTER (event = 'window-end') FROM event WHERE source = 'terminal'"
            f" AND run = {int(run)} AND step = {int(step)}"
            " HAVING count(*) FILTER (event = 'hold') > 0",
        )
        if ended is None:
            return False
        read = _one(connection, "SELECT max(monotonic_ns) FROM system")
    finally:
        connection.close()
    return read is not None and read >= ended - SHORTEST_BLOCK_S * 1e9


def last_run(recording: Recording) -> int:
    """Number of the emulator's latest run; 0: none."""
    connection = recording.connect(tables=["event"])
    try:
        return int(_one(connection, "SELECT max(run) FROM event WHERE source = 'terminal'") or 0)
    finally:
        connection.close()


def seconds_of_steps(recording: Recording) -> float:
    """Time that the steps of all runs of the emulator took so far."""
    connection = recording.connect(tables=["event"])
    try:
        found = _one(
            connection,
            "SELECT sum(s) FROM (SELECT (max(monotonic_ns) - min(monotonic_ns)) / 1e9 AS s FROM event"
            " WHERE source = 'terminal' AND step > 0 GROUP BY run)",
        )
    finally:
        connection.close()
    return float(found or 0.0)


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> int | None:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]


def _reactions(
    recording: UpToNow,
) -> tuple[dict[tuple[int, int], list[float]], dict[int, float], dict[int, float]]:
    """Reactions by run and step, infinite where one never came; by users the 90th percentile of responses,
    and the mean of think and typing time."""
    connection = recording.connect(tables=["transaction"])
    where = "WHERE phase = 'window' AND step > 0 AND outcome <> 'cut' AND users IS NOT NULL"
    try:
        reactions = connection.execute(f"""
            SELECT run, step, list(CASE WHEN outcome IN ('ok', 'unexpected')
                THEN coalesce(reaction_us, response_us) / 1e6 ELSE 'inf'::DOUBLE END ORDER BY monotonic_ns)
            FROM transaction {where} GROUP BY run, step""").fetchall()
        responses = connection.execute(f"""
            SELECT users, quantile_cont(response_us, 0.9) / 1e6,
                avg(coalesce(think_us, 0) + coalesce(typing_us, 0)) / 1e6 FROM transaction {where}
            AND response_us IS NOT NULL GROUP BY users""").fetchall()
    finally:
        connection.close()
    by_step = {(run, step): [s for s in seconds if s is not None] for run, step, seconds in reactions}
    p90 = {int(users): float(s) for users, s, _ in responses}
    return by_step, p90, {int(users): float(s) for users, _, s in responses}


def _as_quiet(work: Floats, completed: Floats, seconds: Floats, windows: Sequence[Integers]) -> bool:
    """Does work scatter about as little from block to block as the number of transactions does?"""
    import numpy as np

    def scatter(rate: Floats) -> float:
        squares, blocks = 0.0, 0
        for inside in windows:
            values, _ = _blocks(rate[inside], seconds[inside])
            mean = float(values.mean())
            if mean > 0 and len(values) > 1:
                squares += float(((values - mean) ** 2).sum()) / mean**2
                blocks += len(values) - 1
        return float(np.sqrt(squares / blocks)) if blocks else 0.0

    if not all(np.isfinite(work[inside]).all() for inside in windows):
        return False
    return scatter(work) <= NOISIER * scatter(completed)


def _lingering(recording: UpToNow) -> frozenset[tuple[int, int]]:
    """Runs and steps in whose windows somebody who was to have left still waited for an answer."""
    connection = recording.connect(tables=["event", "transaction"])
    try:
        rows = connection.execute("""
            WITH w AS (
                SELECT run, step, any_value(users) AS users,
                    min(monotonic_ns) FILTER (event = 'window-start') AS w0
                FROM event WHERE source = 'terminal' AND step > 0 GROUP BY run, step)
            SELECT DISTINCT w.run, w.step FROM w JOIN transaction t
            ON t.run = w.run AND t.step < w.step AND t.monotonic_ns < w0
                AND t.monotonic_ns + t.response_us * 1000 > w0
            WHERE try_cast(regexp_extract(t."user", '[0-9]+$') AS BIGINT) > w.users""").fetchall()
    finally:
        connection.close()
    return frozenset((int(run), int(step)) for run, step in rows)


def _blocks(rate: Floats, seconds: Floats) -> tuple[Floats, float]:
    """Means of about `BLOCKS` blocks of successive observations, and their usual length."""
    import numpy as np

    least = max(SHORTEST_BLOCK_S, float(seconds.sum()) / BLOCKS)
    number = np.minimum((np.cumsum(seconds) - seconds / 2) // least, BLOCKS - 1).astype(np.int64)
    number = np.unique(number, return_inverse=True)[1]
    length = np.bincount(number, seconds)
    return np.bincount(number, seconds * rate) / length, float(length.mean())


def _mean(values: Floats, weights: Floats) -> float | None:
    import numpy as np

    known = np.isfinite(values) & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None
