"""From samples to observations, in one pass over table system.

A *period* lies between two successive samples of one run of the monitor; an *observation* is one or more
successive periods. Lengths come from the monotonic clock, so a step of the real-time clock does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from satline.reduction._filters import Filters
from satline.reduction._source import Settings

# Observations are made shorter than usual where a recording would have fewer than this.
LEAST_OBSERVATIONS = 8
# What is shorter or longer than these parts of the usual length is no observation.
_SHORTEST, _LONGEST = 0.5, 2.5


@dataclass(frozen=True)
class Plan:
    """How the observations of one recording are made.

    windows
        True: only what lies wholly inside the study's measured windows counts.
    periods
        Periods in one observation.
    ordered
        Table system comes in the order of run and time, so that no query needs to sort it.
    joined
        Some periods are much shorter than usual: each is one observation with the period after it.
    """

    windows: bool
    observation_s: float
    interval_s: float
    periods: int
    ordered: bool
    joined: bool = False

    @property
    def several(self) -> bool:
        """May an observation have several periods?"""
        return self.periods > 1 or self.windows or self.joined


def plan(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    observation_s: float | None,
    windows: bool | None,
) -> Plan | None:
    """Choose windows and the observation's length; ``None`` when there are no two samples."""
    # The median is a sort: not made where the description states the interval.
    middle = "median(t1 - t0) FILTER (t1 > t0)" if settings.interval_s is None else "NULL"
    summary = f"SELECT count(*) FILTER (t1 > t0), {middle}, count(*) FILTER (run < r0 OR t1 < t0) FROM "
    before = "lag(run) OVER w AS r0, CASE WHEN lag(run) OVER w = run THEN lag(monotonic_ns) OVER w END AS t0"
    periods, interval_ns, misplaced = _row(
        connection,
        f"{summary} (SELECT run, monotonic_ns AS t1, {before} FROM system WINDOW w AS ())",
    )
    if misplaced:
        window = "WINDOW w AS (ORDER BY run, monotonic_ns)"
        periods, interval_ns, _ = _row(
            connection, f"{summary} (SELECT run, monotonic_ns AS t1, {before} FROM system {window})"
        )
    if not periods:
        return None
    interval = settings.interval_s or float(interval_ns) / 1e9
    _make_windows(connection)
    (count,) = _row(connection, "SELECT count(*) FROM satline_window")
    use_windows = bool(count) if windows is None else windows
    length = observation_s or (max(1.0, interval) if use_windows else max(10.0, interval))
    number = max(1, round(length / interval))
    if observation_s is None:
        # A recording of seconds has observations too: short ones.
        number = max(1, min(number, int(periods) // LEAST_OBSERVATIONS))
    shorter = 0.0
    if number == 1 and not use_windows:
        window = "WINDOW w AS (ORDER BY run, monotonic_ns)" if misplaced else "WINDOW w AS ()"
        (shorter,) = _row(
            connection,
            f"SELECT count(*) FILTER ((t1 - t0) / 1e9 < {_SHORTEST * interval})"
            f" FROM (SELECT monotonic_ns AS t1, {before} FROM system {window})",
        )
    return Plan(use_windows, number * interval, interval, number, not misplaced, bool(shorter))


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[float, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row


def _make_windows(connection: duckdb.DuckDBPyConnection) -> None:
    """Measured windows: one row for each window-start with its window-end."""
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE satline_window AS
        WITH w AS (
            SELECT source, run, step, max(users) AS users,
                min(monotonic_ns) FILTER (event = 'window-start') AS w0,
                max(monotonic_ns) FILTER (event = 'window-end') AS w1
            FROM event WHERE event IN ('window-start', 'window-end') GROUP BY source, run, step)
        SELECT row_number() OVER (ORDER BY w0) AS number, step, users, w0, w1 FROM w
        WHERE w1 > w0 AND users IS NOT NULL
            AND source = (
                SELECT source FROM w WHERE w1 > w0 ORDER BY source = 'terminal' DESC, source LIMIT 1)
    """)


def make_observations(
    connection: duckdb.DuckDBPyConnection,
    the_plan: Plan,
    filters: Filters,
    counters: tuple[str, ...],
    levels: tuple[str, ...],
    *,
    alone: bool,
) -> None:
    """Table satline_observation: key columns, d_X and X of the `counters` and `levels` of table system.

    A counter's difference is null where the counter fell, and where a period of the observation has none.

    Parameters
    ----------
    alone
        Nothing but this table will be asked for: where an observation is one period it becomes a view, and
        its readings are kept nowhere. Otherwise satline_period is made too: every sample, with the
        observation that its period belongs to or null.
    """
    source = "system"
    if not the_plan.ordered:
        columns = ", ".join(f'"{c}"' for c in ("time_ns", "monotonic_ns", "run", *counters, *levels))
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE satline_sorted AS SELECT {columns} FROM system"
            " ORDER BY run, monotonic_ns"
        )
        source = "satline_sorted"
    sample = _sample(source, counters, levels)
    if not the_plan.several:
        kind, number, order = "VIEW" if alone else "TABLE", "", ""
        kept = "".join(f', "d_{c}"::DOUBLE AS "d_{c}"' for c in counters)
        kept += "".join(f', "{c}"::DOUBLE AS "{c}"' for c in levels)
        made = f"""
            SELECT run, run AS stretch, NULL::BIGINT AS load, t0, t1, time_ns, (t1 - t0) / 1e9 AS period_s
                {kept} FROM sample WHERE t0 IS NOT NULL"""
    else:
        kind, number, order = "TABLE", "ORDER BY run, t1", "ORDER BY obs"
        made = _grouped(source, the_plan, counters, levels)
    shortest, longest = _SHORTEST * the_plan.observation_s, _LONGEST * the_plan.observation_s
    connection.execute(f"""
        CREATE OR REPLACE TEMP {kind} satline_observation AS
        WITH sample AS ({sample}), made AS ({made})
        SELECT row_number() OVER ({number}) AS obs, * FROM made
        WHERE period_s BETWEEN {shortest} AND {longest} AND {filters.observation_sql()} {order}
    """)
    if not alone:
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE satline_period AS
            SELECT s.run, s.seq, s.t1, CASE WHEN s.t0 >= o.t0 THEN o.obs END AS obs
            FROM ({_sample(source, (), ())}) s
            ASOF LEFT JOIN satline_observation o ON s.run = o.run AND s.t1 <= o.t1
        """)


def _sample(source: str, counters: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """SELECT of every sample with the differences to the one before, in the order of `source`.

    Windows without partition and order are computed as rows pass by: nothing is sorted or kept.
    """
    before = "".join(f', lag("{c}") OVER () AS "before {c}"' for c in counters)
    kept = "".join(f', "{c}"' for c in (*counters, *levels))
    rows = f"""
        SELECT run, row_number() OVER () AS seq, lag(run) OVER () AS r0, lag(monotonic_ns) OVER () AS m0,
            monotonic_ns AS t1, time_ns {kept} {before} FROM {source}"""
    differences = "".join(
        f', CASE WHEN r0 = run AND "{c}" >= "before {c}"{_possible(c)} THEN "{c}" - "before {c}" END'
        f' AS "d_{c}"'
        for c in counters
    )
    values = "".join(f', "{c}"' for c in levels)
    return (
        f"SELECT run, seq, CASE WHEN r0 = run THEN m0 END AS t0, t1, time_ns {differences} {values}"
        f" FROM ({rows})"
    )


def _possible(counter: str) -> str:
    """Condition that a pressure clock grew no faster than it can."""
    if not counter.startswith("pressure_"):
        return ""
    return f' AND "{counter}" - "before {counter}" <= 4 * (t1 - m0) / 1000'


def _grouped(source: str, the_plan: Plan, counters: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """SELECT of observations of several periods, or of those in measured windows, from `sample`."""
    if the_plan.windows:
        numbered = f"""
            SELECT s.*, w.number AS stretch, w.users AS load,
                (row_number() OVER (PARTITION BY s.run, w.number ORDER BY s.seq) - 1) // {the_plan.periods}
                AS part
            FROM sample s JOIN satline_window w ON s.t0 >= w.w0 AND s.t1 <= w.w1"""
    elif the_plan.periods == 1:
        # A short period belongs to the next that is not; of many in a row each usual length is one.
        full = f"(t1 - t0) / 1e9 >= {_SHORTEST * the_plan.observation_s}"
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        numbered = f"""
            SELECT *, run AS stretch, NULL::BIGINT AS load, row(
                full_before,
                floor((t0 - min(t0) OVER (PARTITION BY run, full_before)) / 1e9 / {the_plan.observation_s})
                ) AS part
            FROM (
                SELECT *, count(*) FILTER ({full}) OVER (
                    PARTITION BY run ORDER BY seq {before}) AS full_before
                FROM sample WHERE t0 IS NOT NULL)"""
    else:
        first = (
            f"SELECT run, min(seq) AS first FROM (SELECT run, row_number() OVER () AS seq FROM {source})"
            " GROUP BY run"
        )
        numbered = f"""
            SELECT s.*, s.run AS stretch, NULL::BIGINT AS load,
                (s.seq - f.first - 1) // {the_plan.periods} AS part
            FROM sample s JOIN ({first}) f USING (run) WHERE s.t0 IS NOT NULL"""
    sums = "".join(", " + s for s in whole(counters))
    means = "".join(f', avg("{c}") AS "{c}"' for c in levels)
    return f"""
        SELECT run, stretch, max(load) AS load, min(t0) AS t0, max(t1) AS t1, max(time_ns) AS time_ns,
            (max(t1) - min(t0)) / 1e9 AS period_s {sums} {means}
        FROM ({numbered}) GROUP BY run, stretch, part"""


def whole(counters: tuple[str, ...], prefix: str = "") -> tuple[str, ...]:
    """Sums of the differences of an observation, null if one of its periods has none."""
    return tuple(
        f'CASE WHEN count("d_{c}") = count(*) THEN sum("d_{c}") END::DOUBLE AS "d_{prefix}{c}"'
        for c in counters
    )
