"""The tables of processors, devices and users with a row per observation, from readings held as arrays.

They hold what `make_scopes` makes in SQL, by the same definitions; what is said of differences in
`_observations.py` holds here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from satline.reduction._periods import Plan
from satline.reduction._readings import Readings, Table, Times
from satline.reduction._source import settle
from satline.reduction._statistics import Floats, Integers
from satline.reduction._values import numbers_table

Mask = NDArray[np.bool_]
Part = slice | Integers


@dataclass(frozen=True)
class Placed:
    """Where the readings of one entity belong.

    follows
        Of each reading but the first: the one before is of the sample before.
    inside
        The readings whose period lies in an observation; place: that observation, from 0.
    elapsed_us, before_us
        Of each reading but the first: time since the one before, and the clock at that.
    """

    follows: Mask
    inside: Part
    place: Part
    elapsed_us: Floats
    before_us: Floats
    several: bool

    @property
    def once(self) -> Part:
        """The observations, each once."""
        return np.unique(self.place) if self.several and not isinstance(self.place, slice) else self.place

    def add(self, to: NDArray[Any], values: NDArray[Any]) -> None:
        """Add what was found for each reading inside to that of its observation."""
        if not self.several:
            to[self.place] += values
        elif len(values):
            assert not isinstance(self.place, slice)
            to += np.bincount(self.place, weights=values, minlength=len(to)).astype(to.dtype)


class Observed:
    """The observations of a reduction, and where readings belong among them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, the_plan: Plan) -> None:
        rows = connection.execute(
            "SELECT run, t1, coalesce(obs, 0) AS obs FROM satline_period ORDER BY seq"
        ).fetchnumpy()
        self._run, self._t1, self._obs = (np.asarray(rows[n], dtype=np.int64) for n in ("run", "t1", "obs"))
        (self.count,) = connection.execute("SELECT count(*) FROM satline_observation").fetchall()[0]
        self._tolerance_ns = int(the_plan.interval_s * 0.25e9)
        self.several = the_plan.several
        step = np.diff(self._run)
        self._ordered = bool(((step > 0) | ((step == 0) & (np.diff(self._t1) > 0))).all())
        self._known: dict[int, tuple[Times, Placed | None]] = {}

    def placed(self, table: Table) -> list[Placed] | None:
        """Of each entity where its readings belong; ``None`` where one has two in the same sample."""
        found = []
        for times in table.times:
            if id(times) not in self._known:
                self._known[id(times)] = times, self._placed(times) if self._ordered else None
            placed = self._known[id(times)][1]
            if placed is None:
                return None
            found.append(placed)
        return found

    def _placed(self, times: Times) -> Placed | None:
        sample = np.full(len(times), -1, dtype=np.int64)
        for run, a, b in times.runs:
            low, high = np.searchsorted(self._run, [run, run + 1])
            t1, moments = self._t1[low:high], times.monotonic_ns[a:b]
            if not len(t1):
                continue
            at = np.searchsorted(t1, moments, side="right") - 1
            late = t1[np.maximum(at, 0)] != moments
            # A reading before its sample is at most a quarter of an interval before it.
            at[late] = np.searchsorted(t1, moments[late] + self._tolerance_ns, side="right") - 1
            sample[a:b] = np.where(at >= 0, at + low, -1)
        same = (np.diff(times.run) == 0) & (sample[:-1] >= 0)
        step = np.diff(sample)
        if (step[same] <= 0).any():
            return None
        obs = np.where(sample >= 0, self._obs[np.maximum(sample, 0)], 0)
        inside = np.flatnonzero(obs)
        return Placed(
            same & (step == 1),
            _part(inside),
            obs[inside] - 1 if self.several else _part(obs[inside] - 1),
            np.diff(times.monotonic_ns) / 1000,
            times.monotonic_ns[:-1] / 1000,
            self.several,
        )


def _part(places: Integers) -> Part:
    """A slice where the places follow each other: far cheaper to take and to add to."""
    if len(places) and places[-1] - places[0] + 1 == len(places) and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _gains(
    table: str, entity: str, placed: Placed, own: dict[str, Floats], counters: tuple[str, ...]
) -> dict[str, tuple[Floats, Mask]]:
    """Of each counter what it gained in the period of each reading inside an observation, 0 where that is not
    known, and where it is known: see `_possible`."""
    processes = np.nan_to_num(own["processes"]) if "processes" in own else None
    limit: Floats | None = None
    often: Floats | float | None = None
    if table == "user":
        often = np.maximum(16, processes[1:]) if processes is not None else 16
    elif table == "processor":
        often = 65536 / 4 if entity == "all" else 1
    elif table == "device":
        often = 1
    if often is not None:
        limit = 4 * often * placed.elapsed_us
    found = {}
    for counter in counters:
        if counter not in own:
            continue
        values = own[counter]
        gain = values[1:] - values[:-1]
        known = placed.follows & (gain >= 0)
        if limit is not None and (
            table == "processor" or (counter.endswith("_us") if table == "user" else counter == "busy_us")
        ):
            known &= gain <= limit
        if table == "user" and counter in ("io_delay_us", "page_delay_us"):
            many = np.ones(1) if processes is None else np.maximum(1, processes)
            tasks = 2 * (many if len(many) == 1 else np.maximum(many[1:], many[:-1]))
            known &= (gain < 0.95 * placed.before_us) | (gain <= tasks * placed.elapsed_us)
        whole = np.zeros(len(values)), np.zeros(len(values), dtype=bool)
        np.copyto(whole[0][1:], gain, where=known)
        whole[1][1:] = known
        found[counter] = whole[0][placed.inside], whole[1][placed.inside]
    return found


class _Sums:
    """Sums over readings by observation, and of how many."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._total: dict[str, Floats] = {}
        self._number: dict[str, Integers] = {}

    def add(self, placed: Placed, name: str, values: Floats, known: Mask) -> None:
        if name not in self._total:
            self._total[name] = np.zeros(self._count)
            self._number[name] = np.zeros(self._count, dtype=np.int64)
        placed.add(self._total[name], values)
        placed.add(self._number[name], known)

    def of(self, name: str, every: Integers | None = None) -> Floats:
        """The sums, NaN where there is nothing; with `every` also where not all of so many are known."""
        if name not in self._total:
            return np.full(self._count, np.nan)
        number = self._number[name]
        return np.where(
            (number > 0) & (True if every is None else number == every), self._total[name], np.nan
        )


def _by_observation(placed: Placed, values: Floats, known: Mask, whole: bool) -> tuple[Floats, Mask, bool]:
    """Of one entity with several readings in an observation: sums where all are known, else means of those
    that are."""
    assert not isinstance(placed.place, slice)
    if not len(values):
        return values, known, whole
    first = np.concatenate([[0], np.flatnonzero(np.diff(placed.place)) + 1])
    total = np.add.reduceat(values, first)
    count = np.add.reduceat(known, first, dtype=np.int64)
    if whole:
        all_known = count == np.diff([*first, len(values)])
        return np.where(all_known, total, 0), all_known, whole
    return np.where(count > 0, total / np.maximum(count, 1), 0), count > 0, whole


def _values(
    table: str,
    entity: str,
    placed: Placed,
    own: dict[str, Floats],
    counters: tuple[str, ...],
    levels: tuple[str, ...],
) -> dict[str, tuple[Floats, Mask, bool]]:
    """What the counters gained (`d_…`), and the levels, of each reading inside an observation; where they are
    known; and whether they are sums rather than means."""
    gains = _gains(table, entity, placed, own, counters)
    values = {f"d_{c}": (gain, known, True) for c, (gain, known) in gains.items()}
    for c in levels:
        if c in own:
            level = own[c][placed.inside]
            known = ~np.isnan(level)
            values[c] = np.where(known, level, 0), known, False
    return values


def user_scope(
    readings: Readings,
    observed: Observed,
    counters: tuple[str, ...],
    levels: tuple[str, ...],
    users: str,
) -> bool:
    """Table satline_user; False where it is left to SQL."""
    table = readings.of("user", (*counters, *levels))
    places = None if table is None else observed.placed(table)
    if table is None or places is None:
        return False
    chosen = readings.chosen("user", users)
    if chosen is None:
        return False
    sums, count = _Sums(observed.count), observed.count
    present, active = np.zeros(count, dtype=bool), np.zeros(count)
    largest = np.full(count, -1.0)
    for (name, _, own), placed in zip(table.each(), places, strict=True):
        if name not in chosen:
            continue
        values = _values("user", name, placed, own, counters, levels)
        at = placed
        if placed.several:
            values = {key: _by_observation(placed, *value) for key, value in values.items()}
            at = replace(placed, place=placed.once, several=False)
        present[at.place] = True
        for key, (value, known, _) in values.items():
            sums.add(at, key, value, known)
        if "d_cpu_us" in values:
            gain, known, _ = values["d_cpu_us"]
            at.add(active, known & (gain > 0))
            largest[at.place] = np.maximum(largest[at.place], np.where(known, gain, -1.0))
    columns = {f"d_user_{c}": sums.of(f"d_{c}") for c in counters}
    columns |= {f"user_{c}": sums.of(c) for c in levels}
    columns |= {"users_with_cpu": active, "user_cpu_largest_us": np.where(largest < 0, np.nan, largest)}
    _make(readings.connection, "user", _present(columns, present))
    return True


def processor_scope(
    readings: Readings,
    observed: Observed,
    counters: tuple[str, ...],
    where: str,
    host_processors: int | None,
) -> bool:
    """Table satline_processor; False where it is left to SQL."""
    table = readings.of("processor", counters)
    places = None if table is None else observed.placed(table)
    if table is None or places is None:
        return False
    chosen = readings.chosen("processor", where)
    if chosen is None:
        return False
    count = observed.count
    sums, every = _Sums(count), np.zeros(count, dtype=np.int64)
    single, together = np.zeros(count), np.zeros(count, dtype=bool)
    for (name, times, own), placed in zip(table.each(), places, strict=True):
        if name not in chosen:
            continue
        for c, (gain, known) in _gains("processor", name, placed, own, counters).items():
            sums.add(placed, c, gain, known)
        placed.add(every, np.ones(len(times), dtype=np.int64)[placed.inside])
        if name == "all":
            together[placed.place] = True
        else:
            single[placed.once] += 1
    alone = together & (single == 0)
    stated = np.nan if host_processors is None else float(host_processors)
    columns = {"processors": np.where(alone, stated, single)}
    columns |= {f"d_{c}": sums.of(c, every) for c in counters}
    _make(readings.connection, "processor", _present(columns, every > 0))
    return True


def _present(columns: dict[str, Floats], present: Mask) -> dict[str, NDArray[Any]]:
    """The columns of observations in which anything was read."""
    at = np.flatnonzero(present)
    return {"obs": at + 1, **(columns if len(at) == len(present) else {n: c[at] for n, c in columns.items()})}


def device_scope(
    readings: Readings, observed: Observed, counters: tuple[str, ...], levels: tuple[str, ...]
) -> bool:
    """Table satline_device; False where it is left to SQL."""
    table = readings.of("device", (*counters, *levels))
    places = None if table is None else observed.placed(table)
    if table is None or places is None:
        return False
    connection = readings.connection
    kinds = connection.execute(
        "SELECT device, any_value(device_kind), count(DISTINCT device_kind) < 2"
        " AND count(device_kind) IN (0, count(*)) FROM device GROUP BY device ORDER BY device"
    ).fetchall()
    if not all(one for _, _, one in kinds):
        return False
    parts: dict[str, list[NDArray[Any]]] = {n: [] for n in ("obs", "code")}
    parts |= {n: [] for n in (*(f"d_{c}" for c in counters), *levels)}
    for code, ((name, _, own), placed) in enumerate(zip(table.each(), places, strict=True)):
        values = _values("device", name, placed, own, counters, levels)
        if placed.several:
            values = {key: _by_observation(placed, *value) for key, value in values.items()}
        obs = np.arange(observed.count)[placed.once] + 1
        parts["obs"].append(obs)
        parts["code"].append(np.full(len(obs), code))
        for key, found in parts.items():
            if key in values:
                value, known, _ = values[key]
                found.append(np.where(known, value, np.nan))
            elif key not in ("obs", "code"):
                found.append(np.full(len(obs), np.nan))
    columns = {key: np.concatenate(found) if found else np.zeros(0) for key, found in parts.items()}
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE satline_device_name AS"
        " SELECT unnest(range(len($1))) AS code, unnest($1::VARCHAR[]) AS device,"
        " unnest($2::VARCHAR[]) AS device_kind",
        [[name for name, _, _ in kinds], [kind for _, kind, _ in kinds]],
    )
    _make(connection, "device", columns, " JOIN satline_device_name USING (code)")
    return True


def _make(
    connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, NDArray[Any]], join: str = ""
) -> None:
    """Table satline_<name> with these columns, null where they are NaN."""
    settle(connection)
    connection.register("satline_arrays", numbers_table(columns, missing=True))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE satline_{name} AS SELECT * FROM satline_arrays{join}")
    connection.unregister("satline_arrays")
