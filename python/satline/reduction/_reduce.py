"""Readings → observations → load classes → curves [Bard]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np

from satline.errors import InputError
from satline.reduction._classes import assign, describe, distinct_classes, merged_classes
from satline.reduction._observations import Filters, Plan, make_periods, make_scopes, plan
from satline.reduction._results import Curve, Curves
from satline.reduction._shares import whole_shares
from satline.reduction._source import Settings, Source
from satline.reduction._statistics import Floats, Integers, point
from satline.reduction._transactions import make_transactions
from satline.reduction._variables import Derived, Variables, variables

NO_QUOTA = "the load has no processor quota"
LOAD_AXES = ("active_users", "users", "in_queue")
_SCOPES = ("system", "processor", "cgroup", "user", "transaction")


@dataclass(frozen=True)
class BusyTask:
    """The busiest threads of a load class: processor time and wait for a processor, each per second.

    cpu, run_delay
        Mean over the whole class, in processors.
    """

    load_class: int
    name: str
    user: str
    tid: int
    cpu: float
    run_delay: float


@dataclass(frozen=True, kw_only=True)
class Reduction(Curves):
    """Curves with the observations they were made of, for analyses that need more than class means.

    observations
        By variable, one value per observation, NaN where missing; all of the same length.
    load
        Load of each observation.
    number
        Class of each observation, −1 for none.
    batches
        Block of successive observations to which each belongs: blocks are taken as independent.
    seconds
        Length of each observation.
    tasks
        The busiest threads of each class.
    """

    settings: Settings
    observations: dict[str, Floats] = field(repr=False)
    load: Floats = field(repr=False)
    number: Integers = field(repr=False)
    batches: Integers = field(repr=False)
    seconds: Floats = field(repr=False)
    tasks: tuple[BusyTask, ...] = ()


def reduce(
    recording: Source,
    load_axis: str | None = None,
    observation_s: float | None = None,
    *,
    filters: Filters | None = None,
    class_width: int = 2,
    class_observations: int = 50,
) -> Reduction:
    """Reduce a recording to curves of every variable against load.

    Parameters
    ----------
    load_axis
        ``users`` (intended by a study's step), ``active_users`` or ``in_queue``; default ``users`` where the
        recording has measured windows, else ``active_users``.
    observation_s
        Length of an observation; default the sampling interval, at least 1 s in windows and 10 s elsewhere.
    class_width, class_observations
        Loads in a class, and observations that a class must at least have; with axis ``users`` each step
        is a class.

    Raises
    ------
    InputError
        An unknown load axis; ``users`` without measured windows; fewer than two samples.
    """
    if load_axis is not None and load_axis not in LOAD_AXES:
        raise InputError(f"unknown load axis {load_axis!r}", hint=f"choose one of {', '.join(LOAD_AXES)}")
    if observation_s is not None and not observation_s > 0:
        raise InputError(f"observation length {observation_s} s", hint="give a length above 0")
    connection = recording.connect()
    settings = Settings.of(recording)
    catalogue = variables()
    chosen = filters or Filters()
    the_plan = plan(connection, settings, observation_s, None)
    if the_plan is None:
        raise InputError("the recording holds no two samples of table system", hint="record for longer")
    if load_axis == "users" and not the_plan.windows:
        raise InputError("load axis users: the recording has no measured windows", hint="use active_users")
    axis = load_axis or ("users" if the_plan.windows else "active_users")
    make_periods(connection, the_plan, chosen)
    present = make_transactions(connection, chosen)
    which = _users_condition(connection, chosen, present)
    make_scopes(connection, catalogue, settings, the_plan, which, needed_columns(catalogue))
    observations = _observations(connection, catalogue, settings)
    return _curves(
        connection,
        recording,
        catalogue,
        settings,
        the_plan,
        axis,
        observations,
        present,
        class_width,
        class_observations,
    )


def _users_condition(connection: duckdb.DuckDBPyConnection, filters: Filters, transactions: bool) -> str:
    """Users of the transactions where the monitor saw any of them, else all whose name is a user's."""
    base = f"left(\"user\", 1) <> '_' AND {filters.user_sql()}"
    if transactions:
        inside = '"user" IN (SELECT DISTINCT "user" FROM transaction)'
        row = connection.execute(
            f'SELECT count(*) FROM (SELECT 1 FROM "user" WHERE {inside} LIMIT 1)'
        ).fetchone()
        if row and row[0]:
            return f"{base} AND {inside}"
    return base


def needed_columns(catalogue: Variables | None = None) -> dict[str, frozenset[str]]:
    """By table, the counters and levels that some derived variable needs."""
    catalogue = catalogue or variables()
    names = {n for d in catalogue.derived for n in d.names | Derived("", "", "", d.weight, "", "").names}
    plain = {n.removeprefix("d_") for n in names}
    wanted: dict[str, frozenset[str]] = {}
    for table in catalogue.counters:
        columns = {*catalogue.counters[table], *catalogue.levels[table]}
        prefix = "" if table in {"system", "processor", "device"} else f"{table}_"
        wanted[table] = frozenset(c for c in columns if prefix + c in plain)
    return wanted


def _observations(
    connection: duckdb.DuckDBPyConnection, catalogue: Variables, settings: Settings
) -> dict[str, Floats]:
    """Every variable with one value per observation, by the formulas of the catalogue."""
    quota = "NULL" if settings.quota is None else repr(settings.quota)
    derived = ", ".join(f"({d.formula})::DOUBLE AS {d.name}" for d in catalogue.of(""))
    weights = {
        w for d in catalogue.of("") if (w := d.weight) and w not in {x.name for x in catalogue.derived}
    }
    extra = "".join(f', ({w})::DOUBLE AS "weight {w}"' for w in sorted(weights))
    joins = " ".join(f"LEFT JOIN satline_{s} USING (obs)" for s in _SCOPES)
    columns = connection.execute(f"""
        SELECT obs, run, stretch, load, t0, t1, period_s, {derived}{extra} FROM (
            SELECT *, least(processors, {quota}, cgroup_quota_limit_millicpu / 1000.0)::DOUBLE AS capacity,
                {settings.page_bytes} AS page_bytes
            FROM satline_observation {joins}
            LEFT JOIN (SELECT obs, max(cpu_us) AS task_busiest_us FROM satline_task GROUP BY obs) USING (obs)
            LEFT JOIN (SELECT obs, max(d_busy_us) AS device_busiest_us FROM satline_device
                WHERE device_kind = 'block' GROUP BY obs) USING (obs))
        ORDER BY obs
    """).fetchnumpy()
    return {name: _floats(column) for name, column in columns.items()}


def _floats(column: Any) -> Floats:
    """A result column as floats, null as NaN."""
    if isinstance(column, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(column.astype(np.float64), np.nan))
    return np.asarray(column, dtype=np.float64)


def make_batches(stretch: Floats) -> Integers:
    """Blocks of successive observations: about √n of them in each stretch of n."""
    batches = np.zeros(len(stretch), dtype=np.int64)
    start = 0
    for value in np.unique(stretch):
        inside = np.flatnonzero(stretch == value)
        length = max(1, int(np.ceil(0.8 * np.sqrt(len(inside)))))
        block = np.arange(len(inside)) // length
        batches[inside] = start + block
        start += int(block[-1]) + 1 if len(block) else 0
    return batches


def _curves(
    connection: duckdb.DuckDBPyConnection,
    recording: Source,
    catalogue: Variables,
    settings: Settings,
    the_plan: Plan,
    axis: str,
    observations: dict[str, Floats],
    transactions: bool,
    width: int,
    at_least: int,
) -> Reduction:
    load = observations[{"users": "load", "active_users": "active_users", "in_queue": "mpl"}[axis]]
    exact = axis == "users"
    bounds = distinct_classes(load) if exact else merged_classes(load, width, at_least)
    number = assign(load, bounds, exact)
    seconds = observations["period_s"]
    batches = make_batches(observations["stretch"] if the_plan.windows else observations["run"])
    count = len(bounds)
    curves: dict[str, Curve] = {}

    def add(
        name: str, d: Derived, values: Floats, where: Integers, batch: Integers, weights: Floats | None
    ) -> None:
        if np.isfinite(values).any():
            points = tuple(
                point(values[where == k], batch[where == k], None if weights is None else weights[where == k])
                for k in range(count)
            )
            curves[name] = Curve(name, d.unit, d.meaning, points)

    for d in catalogue.of(""):
        weights = None
        if d.weight:
            weights = observations.get(d.weight, observations.get(f"weight {d.weight}"))
        add(d.name, d, observations[d.name], number, batches, weights)
    for d in catalogue.of("device"):
        weight = d.weight or "1"
        rows = connection.execute(
            f'SELECT obs, device, ({d.formula})::DOUBLE AS "value", ({weight})::DOUBLE AS "weight"'
            " FROM satline_device JOIN satline_observation USING (obs) ORDER BY device, obs"
        ).fetchnumpy()
        index = np.asarray(rows["obs"], dtype=np.int64) - 1
        values, weights = _floats(rows["value"]), _floats(rows["weight"])
        devices = np.asarray(rows["device"], dtype=object)
        for device in dict.fromkeys(devices.tolist()):
            at = index[devices == device]
            w = weights[devices == device] if d.weight else None
            add(f"{d.name}:{device}", d, values[devices == device], number[at], batches[at], w)
    for d in catalogue.of("transaction"):
        rows = connection.execute(
            f"SELECT obs, ({d.formula})::DOUBLE AS value FROM satline_completion"
            " WHERE outcome IN ('ok', 'unexpected') ORDER BY obs, ended"
        ).fetchnumpy()
        index = np.asarray(rows["obs"], dtype=np.int64) - 1
        add(d.name, d, _floats(rows["value"]), number[index], batches[index], None)
    for d in catalogue.of("thermometer"):
        rows = connection.execute(
            "SELECT o.obs, t.thermometer AS name, "
            f"({d.formula.replace('elapsed_us', 't.elapsed_us')})::DOUBLE AS value"
            " FROM thermometer t ASOF JOIN satline_observation o ON t.monotonic_ns >= o.t0"
            " WHERE t.monotonic_ns < o.t1 ORDER BY o.obs"
        ).fetchnumpy()
        index = np.asarray(rows["obs"], dtype=np.int64) - 1
        values, names = _floats(rows["value"]), np.asarray(rows["name"], dtype=object)
        for name in dict.fromkeys(names.tolist()):
            at = index[names == name]
            add(f"{d.name}:{name}", d, values[names == name], number[at], batches[at], None)
    return Reduction(
        load_axis=axis,
        observation_s=the_plan.observation_s,
        classes=describe(bounds, number, seconds),
        curves=whole_shares(curves),
        missing=_missing(catalogue, curves, recording.sources, transactions, settings),
        settings=settings,
        observations=observations,
        load=load,
        number=number,
        batches=batches,
        seconds=seconds,
        tasks=_busy_tasks(connection, number, seconds, count),
    )


def _busy_tasks(
    connection: duckdb.DuckDBPyConnection,
    number: Integers,
    seconds: Floats,
    count: int,
) -> tuple[BusyTask, ...]:
    """The three busiest threads of each class."""
    rows = connection.execute(
        'SELECT obs, tid, start_ticks, name, "user", coalesce(cpu_us, 0) AS cpu,'
        " coalesce(run_delay_us, 0) AS delay"
        " FROM satline_task ORDER BY obs"
    ).fetchnumpy()
    where = (
        number[np.asarray(rows["obs"], dtype=np.int64) - 1]
        if len(rows["obs"])
        else np.zeros(0, dtype=np.int64)
    )
    cpu, delay = _floats(rows["cpu"]), _floats(rows["delay"])
    found: list[BusyTask] = []
    for k in range(count):
        at = np.flatnonzero(where == k)
        length = float(seconds[number == k].sum())
        if not len(at) or not length:
            continue
        keys = np.stack([np.asarray(rows["tid"])[at], np.asarray(rows["start_ticks"])[at]])
        _, first, position = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        position = position.ravel()
        total = np.bincount(position, weights=cpu[at]) / 1e6 / length
        waits = np.bincount(position, weights=delay[at]) / 1e6 / length
        for g in np.argsort(total)[::-1][:3]:
            row = at[first[g]]
            found.append(
                BusyTask(
                    k,
                    str(rows["name"][row]),
                    str(rows["user"][row]),
                    int(rows["tid"][row]),
                    float(total[g]),
                    float(waits[g]),
                )
            )
    return tuple(found)


def _missing(
    catalogue: Variables,
    curves: Mapping[str, Curve],
    sources: Mapping[str, Mapping[str, Any]],
    transactions: bool,
    settings: Settings,
) -> dict[str, str]:
    """Why each variable of the catalogue that has no curve has none."""
    reasons: dict[str, str] = {}
    for source in sources.values():
        for item in source.get("missing", ()):
            reasons[str(item.get("signal"))] = str(item.get("reason", "not recorded"))
    have = {name.partition(":")[0] for name in curves}
    missing: dict[str, str] = {}
    for d in catalogue.derived:
        if d.name in have:
            continue
        signals = [n.removeprefix("d_") for n in sorted(d.names)]
        short = [s.removeprefix("cgroup_").removeprefix("user_") for s in signals]
        named = [
            f"{s}: {reasons[r]}" for s, c in zip(signals, short, strict=True) for r in (s, c) if r in reasons
        ]
        if named:
            missing[d.name] = "; ".join(dict.fromkeys(named))
        elif "cgroup_" in d.formula and settings.cgroup is None:
            missing[d.name] = "the recording names no control group that is the whole load"
        elif "cgroup_quota" in d.formula and settings.quota is None:
            missing[d.name] = NO_QUOTA
        elif "busiest_us" in d.formula and d.name == "busiest_task" and settings.threads:
            missing[d.name] = "no thread was busy enough to be recorded"
        elif (d.per == "transaction" or "transaction" in d.formula) and not transactions:
            missing[d.name] = "the recording holds no transactions"
        elif d.per == "thermometer":
            missing[d.name] = "no thermometer ran in an observation"
        else:
            above = [n for n in sorted(d.names) if n in missing]
            why = missing[above[0]] if above else f"not recorded: {', '.join(signals)}"
            missing[d.name] = why
    return missing
