"""From readings to observations, in SQL.

Readings are raw counters. A *period* lies between two successive samples of one run of the monitor; an
*observation* is one or more successive periods. A counter's difference over a period exists only if the same
entity was read in both samples and the counter did not fall: a reset, a wrap, a new entity or one that was
away gives a null, never a negative or a giant rate. Lengths come from the monotonic clock, so a step of the
real-time clock does no harm.

Bases beside the d_X and X of the catalogue's tables:

=========================  ================================================================================
users_with_cpu             users whose processor time grew in the observation
user_cpu_largest_us        the greatest processor time of one user
task_busiest_us            the greatest processor time of one thread
device_busiest_us          the greatest busy time of one block device
transactions_completed     transactions whose prompt came in the observation
transactions_failed        those given up in it: time-out or dead session
transaction_seconds        the integral over the observation of the number of users in a transaction
=========================  ================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb

from satline.reduction._source import Settings
from satline.reduction._variables import Variables

_SIGNATURE = "ORDER BY monotonic_ns"


@dataclass(frozen=True)
class Filters:
    """Which observations and which work count. Times are aware datetimes; hours are UTC, the end excluded.

    An off-shift batch makes indiscriminate plots look saturated at low load [Bard]: leave its hours, its
    users or its class out.
    """

    start: datetime | None = None
    end: datetime | None = None
    hours: tuple[int, int] | None = None
    users: tuple[str, ...] | None = None
    exclude_users: tuple[str, ...] = ()
    transaction_classes: tuple[str, ...] | None = None

    def observation_sql(self) -> str:
        """Condition on an observation's time_ns."""
        parts = ["TRUE"]
        if self.start is not None:
            parts.append(f"time_ns >= {int(self.start.timestamp() * 1e9)}")
        if self.end is not None:
            parts.append(f"time_ns < {int(self.end.timestamp() * 1e9)}")
        if self.hours is not None:
            first, last = self.hours
            hour = "(time_ns // 3600000000000) % 24"
            inside = f"{hour} >= {first} AND {hour} < {last}"
            parts.append(f"({inside})" if first < last else f"({hour} >= {first} OR {hour} < {last})")
        return " AND ".join(parts)

    def user_sql(self) -> str:
        """Condition on a row of table user."""
        parts = ["TRUE"]
        if self.users is not None:
            parts.append(f'"user" IN ({_texts(self.users)})')
        if self.exclude_users:
            parts.append(f'"user" NOT IN ({_texts(self.exclude_users)})')
        return " AND ".join(parts)

    def transaction_sql(self) -> str:
        """Condition on a transaction whose completion counts."""
        parts = [self.user_sql()]
        if self.transaction_classes is not None:
            parts.append(f"class IN ({_texts(self.transaction_classes)})")
        return " AND ".join(parts)


def _texts(values: tuple[str, ...]) -> str:
    return ", ".join("'" + v.replace("'", "''") + "'" for v in values) or "NULL"


@dataclass(frozen=True)
class Plan:
    """How the observations of one recording are made.

    windows
        True: only what lies wholly inside the study's measured windows counts.
    periods
        Periods in one observation.
    """

    windows: bool
    observation_s: float
    interval_s: float
    periods: int


def plan(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    observation_s: float | None,
    windows: bool | None,
) -> Plan | None:
    """Choose windows and the observation's length; ``None`` when there are no two samples."""
    row = connection.execute(
        "SELECT median(d) FROM (SELECT monotonic_ns - lag(monotonic_ns) OVER (PARTITION BY run ORDER BY "
        "monotonic_ns)"
        " AS d FROM system)"
    ).fetchone()
    if row is None or row[0] is None or row[0] <= 0:
        return None
    interval = settings.interval_s or float(row[0]) / 1e9
    _make_windows(connection)
    count = connection.execute("SELECT count(*) FROM satline_window").fetchone()
    use_windows = bool(count and count[0]) if windows is None else windows
    length = observation_s or (max(1.0, interval) if use_windows else max(10.0, interval))
    periods = max(1, round(length / interval))
    return Plan(use_windows, periods * interval, interval, periods)


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


def make_periods(connection: duckdb.DuckDBPyConnection, the_plan: Plan, filters: Filters) -> None:
    """Tables satline_period (every sample, with its observation or null) and satline_observation."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_sample AS
        SELECT run, row_number() OVER w AS seq, lag(monotonic_ns) OVER w AS t0, monotonic_ns AS t1, time_ns
        FROM system WINDOW w AS (PARTITION BY run {_SIGNATURE})
    """)
    if the_plan.windows:
        numbered = f"""
            SELECT s.run, s.seq, w.number AS stretch, w.users AS load,
                (row_number() OVER (PARTITION BY s.run, w.number ORDER BY s.seq) - 1) // {the_plan.periods}
                AS part
            FROM satline_sample s JOIN satline_window w ON s.t0 >= w.w0 AND s.t1 <= w.w1"""
    else:
        numbered = f"""
            SELECT run, seq, run AS stretch, NULL::BIGINT AS load, (seq - 2) // {the_plan.periods} AS part
            FROM satline_sample WHERE t0 IS NOT NULL"""
    shortest, longest = 0.5 * the_plan.observation_s, 2.5 * the_plan.observation_s
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_period AS
        WITH numbered AS ({numbered}),
        grouped AS (
            SELECT n.run, n.stretch, n.part, max(n.load) AS load, min(s.t0) AS t0, max(s.t1) AS t1,
                max(s.time_ns) AS time_ns, (max(s.t1) - min(s.t0)) / 1e9 AS period_s, count(*) AS periods
            FROM numbered n JOIN satline_sample s USING (run, seq) GROUP BY n.run, n.stretch, n.part),
        kept AS (
            SELECT *, row_number() OVER (ORDER BY run, t1) AS obs FROM grouped
            WHERE period_s BETWEEN {shortest} AND {longest} AND {filters.observation_sql()})
        SELECT s.run, s.seq, s.t1, k.obs, k.stretch, k.load, k.t0 AS o0, k.t1 AS o1, k.period_s, k.time_ns
        FROM satline_sample s LEFT JOIN numbered n USING (run, seq)
        LEFT JOIN kept k ON k.run = n.run AND k.stretch = n.stretch AND k.part = n.part
    """)
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE satline_observation AS
        SELECT obs, any_value(run) AS run, any_value(stretch) AS stretch, any_value(load) AS load,
            any_value(o0) AS t0, any_value(o1) AS t1, any_value(period_s) AS period_s,
            any_value(time_ns) AS time_ns
        FROM satline_period WHERE obs IS NOT NULL GROUP BY obs
    """)


def keyed(table: str, interval_s: float, columns: str, where: str = "TRUE") -> str:
    """SELECT of the rows of `table` with the number of their sample (seq) and their observation (obs).

    A row belongs to the sample of the same instant; where there is none, to the latest sample that began at
    most a quarter of an interval after it.
    """
    tolerance = int(interval_s * 0.25e9)
    return f"""
        SELECT m.seq, m.obs, r.run, r.monotonic_ns AS read_ns, {columns} FROM "{table}" r JOIN (
            SELECT d.run, d.monotonic_ns, coalesce(e.seq, p.seq) AS seq,
                CASE WHEN e.seq IS NULL THEN p.obs ELSE e.obs END AS obs
            FROM (SELECT DISTINCT run, monotonic_ns FROM "{table}") d
            LEFT JOIN satline_period e ON d.run = e.run AND d.monotonic_ns = e.t1
            ASOF LEFT JOIN satline_period p ON d.run = p.run AND d.monotonic_ns + {tolerance} >= p.t1
        ) m ON r.run = m.run AND r.monotonic_ns = m.monotonic_ns WHERE {where}"""


def _possible(table: str, counter: str) -> str:
    """Condition that a time accumulator grew no faster than it can; empty where nothing bounds it.

    Delay accounting that is switched on while a task sleeps gives that task a delay as long as the host
    is up.
    """
    often = {"processor": "4", "task": "4"}.get(table)
    if table == "user" and counter.endswith("_us"):
        often = "4 * greatest(16, coalesce(a.processes, 0))"
    elif counter == "busy_us" or counter.startswith("pressure_"):
        often = "4"
    if often is None:
        return ""
    return f' AND a."{counter}" - b."{counter}" <= {often} * (a.read_ns - b.read_ns) / 1000'


def differenced(
    table: str,
    interval_s: float,
    entities: tuple[str, ...],
    counters: tuple[str, ...],
    others: tuple[str, ...] = (),
    where: str = "TRUE",
) -> str:
    """SELECT of entity columns, d_X of each counter and the other columns.

    One row per entity and period in an observation.

    d_X is null where there was no reading of this entity in the sample before, or the counter fell.
    """
    columns = ", ".join(f'r."{c}"' for c in (*entities, *counters, *others))
    same = "".join(f' AND a."{e}" = b."{e}"' for e in entities)
    kept = "".join(f', a."{c}"' for c in (*entities, *others))
    differences = "".join(
        f', CASE WHEN a."{c}" >= b."{c}"{_possible(table, c)} THEN a."{c}" - b."{c}" END AS "d_{c}"'
        for c in counters
    )
    # A join with the sample before takes half the time of a window that sorts by entity and time.
    return f"""
        WITH readings AS MATERIALIZED ({keyed(table, interval_s, columns, where)})
        SELECT a.obs{kept}{differences} FROM readings a
        LEFT JOIN readings b ON a.run = b.run AND a.seq = b.seq + 1{same} WHERE a.obs IS NOT NULL"""


def _whole(counters: tuple[str, ...], prefix: str = "") -> str:
    """Sum of the differences of an observation, null if one of its periods has none."""
    return ", ".join(
        f'CASE WHEN count("d_{c}") = count(*) THEN sum("d_{c}") END::DOUBLE AS "d_{prefix}{c}"'
        for c in counters
    )


def _mean(levels: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f'avg("{c}") AS "{prefix}{c}"' for c in levels)


def make_scopes(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Variables,
    settings: Settings,
    the_plan: Plan,
    users: str,
    columns: dict[str, frozenset[str]],
) -> None:
    """One table for each scope, with a row per observation (device, task: per entity and observation).

    Parameters
    ----------
    users
        Condition on the rows of table user that are users of interest.
    columns
        By table, those of its counters and levels that some formula needs.
    """
    interval = the_plan.interval_s

    def of(table: str, *always: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        wanted = columns.get(table, frozenset()) | set(always)
        return (
            tuple(c for c in catalogue.counters[table] if c in wanted),
            tuple(c for c in catalogue.levels[table] if c in wanted),
        )

    def create(name: str, sql: str) -> None:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE satline_{name} AS {sql}")

    counters, levels = of("system")
    source = differenced("system", interval, (), counters, levels)
    create("system", f"SELECT obs, {_whole(counters)}, {_mean(levels)} FROM ({source}) GROUP BY obs")

    counters, _ = of("processor")
    allowed = "TRUE"
    if settings.processors:
        allowed = f"CAST(processor AS VARCHAR) IN ({_texts(tuple(map(str, settings.processors)))})"
    source = differenced("processor", interval, ("processor",), counters, where=allowed)
    create(
        "processor",
        f"SELECT obs, count(DISTINCT processor) AS processors, {_whole(counters)}"
        f" FROM ({source}) GROUP BY obs",
    )

    counters, levels = of("cgroup", "quota_limit_millicpu")
    name = _texts((settings.cgroup,)) if settings.cgroup else "NULL"
    source = differenced("cgroup", interval, ("cgroup",), counters, levels, f"cgroup = {name}")
    create(
        "cgroup",
        f"SELECT obs, {_whole(counters, 'cgroup_')}, {_mean(levels, 'cgroup_')} FROM ({source}) GROUP BY obs",
    )

    counters, levels = of("device", "busy_us")
    source = differenced("device", interval, ("device",), counters, (*levels, "device_kind"))
    create(
        "device",
        f"SELECT obs, device, any_value(device_kind) AS device_kind, {_whole(counters)}, {_mean(levels)}"
        f" FROM ({source}) GROUP BY obs, device",
    )

    source = differenced(
        "task",
        interval,
        ("pid", "tid", "start_ticks"),
        ("cpu_us", "run_delay_us"),
        ("name", "user"),
        "left(r.\"user\", 1) <> '_'",
    )
    create(
        "task",
        f'SELECT obs, tid, start_ticks, any_value(name) AS name, any_value("user") AS "user",'
        f" sum(d_cpu_us)::DOUBLE AS cpu_us, sum(d_run_delay_us)::DOUBLE AS run_delay_us"
        f" FROM ({source}) GROUP BY obs, pid, tid, start_ticks",
    )

    counters, levels = of("user", "cpu_us", "processes")
    source = differenced("user", interval, ("user",), counters, levels, users)
    if the_plan.periods > 1:
        source = (
            f'SELECT obs, "user", {_whole(counters)},'
            f" {', '.join(f'avg({c}) AS {c}' for c in levels) or '0 AS none'}"
            f' FROM ({source}) GROUP BY obs, "user"'
        )
    sums = [f"sum(d_{c})::DOUBLE AS d_user_{c}" for c in counters]
    sums += [f"sum({c})::DOUBLE AS user_{c}" for c in levels]
    create(
        "user",
        f"SELECT obs, {', '.join(sums)}, (count(*) FILTER (d_cpu_us > 0))::DOUBLE AS users_with_cpu,"
        f" max(d_cpu_us)::DOUBLE AS user_cpu_largest_us FROM ({source}) GROUP BY obs",
    )
