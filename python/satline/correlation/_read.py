"""A recording → every series of every scope on one time axis.

The whole system's variables are the derived ones of the catalogue, by its formulas, and every counter (as a
rate) and level that no formula shows alone. Entities (users, devices, processors, control groups, locks,
channels) have every counter and level of their table; devices and locks their derived variables too.
Transactions give means over those that ended in the observation, of all and of each user.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import duckdb
import numpy as np

from satline.correlation._panel import LEAST, Floats, Integers, Name, Panel, even
from satline.errors import InputError
from satline.reduction import (
    Axis,
    Derived,
    Filters,
    Plan,
    Settings,
    Source,
    Variables,
    axis_named,
    bound_memory,
    differenced,
    floats,
    has_rows,
    make_observations,
    make_scopes,
    make_transactions,
    make_values,
    members,
    plan,
    recorded,
    users_condition,
    usual_axis,
    whole,
)
from satline.reduction import variables as shipped

MOMENTS = 10_000
_MOST_BYTES = 4 << 30
# Work is made of these, whatever its formula names.
_OF_WORK = {"transactions_completed", "transaction_seconds", "response_us"}
# Tables with one row per entity and sample; the entity's column is called as the table.
_ENTITIES = ("user", "processor", "device", "cgroup", "lock", "channel")


def read_panel(
    recording: Source,
    *,
    every_s: float | None = None,
    filters: Filters | None = None,
    load_axis: str | None = None,
    gap: int = 60,
    keep_constant: bool = False,
) -> Panel:
    """Every series of `recording`.

    Parameters
    ----------
    every_s
        Length of an observation; default: the sampling interval, at least 10 s, and longer where there would
        be more than 10,000 of them.
    load_axis
        As of `reduce`.
    gap
        Moments that a gap is cut to: the greatest lag that will be asked for.
    keep_constant
        Keep series that never change; for a history, in which they may change tomorrow.

    Raises
    ------
    InputError
        No two samples; an unknown load axis; more series than memory holds.
    """
    if every_s is not None and not every_s > 0:
        raise InputError(f"observation length {every_s} s", hint="give a length above 0")
    catalogue = shipped()
    chosen = filters or Filters()
    connection = recording.connect()
    bound_memory(connection)
    settings = Settings.of(recording)
    the_plan = plan(connection, settings, every_s, False)
    if the_plan is not None and every_s is None:
        (samples,) = connection.execute("SELECT count(*) FROM system").fetchall()[0]
        if samples / the_plan.periods > MOMENTS:
            every_s = the_plan.interval_s * math.ceil(samples / MOMENTS)
            the_plan = plan(connection, settings, every_s, False)
    if the_plan is None:
        raise InputError("the recording holds no two samples of table system", hint="record for longer")
    return _Reader(connection, catalogue, settings, the_plan, chosen).panel(load_axis, gap, keep_constant)


class _Reader:
    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        catalogue: Variables,
        settings: Settings,
        the_plan: Plan,
        filters: Filters,
    ) -> None:
        self._connection = connection
        self._catalogue = catalogue
        self._settings = settings
        self._plan = the_plan
        self._rows = 0
        transactions = has_rows(connection, '"transaction"')
        users = users_condition(connection, filters, transactions)
        self._users = f"({filters.user_sql()})"
        self._whole = [d for d in catalogue.derived if not d.per] + _plain(catalogue, "system")
        columns = catalogue.columns(catalogue.closure(self._whole))
        columns["system"] = frozenset((*catalogue.counters["system"], *catalogue.levels["system"]))
        self._present = [t for t in _ENTITIES if has_rows(connection, f'"{t}"')]
        for table in ("device", "lock"):
            columns[table] = frozenset((*catalogue.counters[table], *catalogue.levels[table]))
        if transactions:
            columns.setdefault("transaction", frozenset())
        columns.pop("task", None)
        scopes = {t: c for t, c in columns.items() if t != "system" and has_rows(connection, f'"{t}"')}
        if settings.cgroup is None:
            scopes.pop("cgroup", None)
        self._scopes = scopes
        make_observations(
            connection,
            the_plan,
            filters,
            catalogue.counters["system"],
            catalogue.levels["system"],
            alone=False,
        )
        if "transaction" in scopes:
            make_transactions(connection, filters)
        make_scopes(connection, catalogue, settings, the_plan, users, scopes)
        self._interesting = users
        made = catalogue.closure(self._whole)
        self._values = make_values(
            connection, catalogue, settings, [d for d in made if not d.per], frozenset(scopes), alone=False
        )

    def panel(self, load_axis: str | None, gap: int, keep_constant: bool) -> Panel:
        keys = self._connection.execute(
            "SELECT obs, run, t0, t1, time_ns, period_s FROM satline_observation ORDER BY obs"
        ).fetchnumpy()
        self._rows = len(keys["obs"])
        if not self._rows:
            raise InputError("no observation is left", hint="widen the filters, or choose a shorter --every")
        middle = np.asarray(keys["t0"], dtype=np.int64) // 2 + np.asarray(keys["t1"], dtype=np.int64) // 2
        run = np.asarray(keys["run"], dtype=np.int64)
        place, count = even(run, middle, self._plan.observation_s * 1e9, gap)
        period = np.asarray(keys["period_s"], dtype=np.float64)
        time_s = np.full(count, np.nan)
        time_s[place] = np.asarray(keys["time_ns"], dtype=np.float64) / 1e9 - period / 2
        names: list[Name] = []
        kept: list[Floats] = []
        constant = sparse = 0
        for name, values in self._series(period):
            good = np.isfinite(values)
            number = int(np.count_nonzero(good))
            if number == 0:
                continue
            if not keep_constant and number < LEAST:
                sparse += 1
                continue
            if not keep_constant and is_constant(values[good]):
                constant += 1
                continue
            if (len(kept) + 1) * count * 8 > _MOST_BYTES:
                raise InputError(
                    f"more than {len(kept):,} series of {count:,} moments do not fit into memory",
                    hint="choose longer observations with --every, or fewer with --from, --to, --hours",
                )
            row = np.full(count, np.nan)
            row[place] = np.where(good, values, np.nan)
            names.append(name)
            kept.append(row)
        axis = self._axis(load_axis)
        load = np.full(count, np.nan)
        if axis.variable and axis.variable in self._values:
            load[place] = self._values.read([axis.variable])[axis.variable]
        values = np.array(kept) if kept else np.zeros((0, count))
        return Panel(
            tuple(names), values, time_s, self._plan.observation_s, load, axis.name, constant, sparse
        )

    def _axis(self, asked: str | None) -> Axis:
        if asked is not None:
            return axis_named(asked, self._catalogue)

        def there(name: str) -> bool:
            return recorded(self._connection, self._catalogue, name, self._interesting)

        return usual_axis(False, there, self._catalogue, self._settings.load_axis)

    def _series(self, period: Floats) -> Iterator[tuple[Name, Floats]]:
        known = {d.name: d for d in self._whole if d.name in self._values}
        derived = {d.name for d in self._catalogue.derived}
        for name, values in self._values.together(known):
            d = known[name]
            bases = {n for one in self._catalogue.closure([d]) for n in one.names} - derived
            if any(name.startswith("transaction_work_") for name in bases):
                bases |= _OF_WORK
            yield (
                Name(name, "", "system", d.unit, d.meaning, frozenset(bases - {"period_s", "processors"})),
                values,
            )
        for table in self._present:
            yield from self._entities(table, period)
        for per in ("device", "lock", "thermometer"):
            if per in self._scopes or (per == "thermometer" and has_rows(self._connection, '"thermometer"')):
                several = list(self._catalogue.of(per))
                for member, at, found in members(self._connection, per, several):
                    for d, (value, weight) in zip(several, found, strict=True):
                        made = frozenset(n for n in d.names if n != "period_s")
                        yield (
                            Name(d.name, member, per, d.unit, d.meaning, made),
                            self._mean(at, value, weight),
                        )
        if "transaction" in self._scopes:
            yield from self._transactions()

    def _mean(self, at: Integers, value: Floats, weight: Floats | None) -> Floats:
        """Mean of the rows of each observation; NaN where there are none."""
        good = np.isfinite(value) & (at >= 0) & (at < self._rows)
        if weight is not None:
            good &= np.isfinite(weight) & (weight > 0)
        w = np.ones(int(good.sum())) if weight is None else weight[good]
        total = np.bincount(at[good], w, self._rows)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, np.bincount(at[good], w * value[good], self._rows) / total, np.nan)

    def _entities(self, table: str, period: Floats) -> Iterator[tuple[Name, Floats]]:
        """Every counter and level of every entity of `table`, one column of it at a time."""
        run = self._connection.execute
        counters, levels = self._catalogue.counters[table], self._catalogue.levels[table]
        where = self._users if table == "user" else "TRUE"
        source = differenced(table, self._plan.interval_s, (table,), counters, levels, where)
        parts = (*whole(counters), *(f'avg("{c}")::DOUBLE AS "{c}"' for c in levels))
        run(
            "CREATE OR REPLACE TEMP TABLE satline_each_entity AS"
            " SELECT *, dense_rank() OVER (ORDER BY entity) - 1 AS member"
            f' FROM (SELECT obs, "{table}" AS entity, {", ".join(parts)} FROM ({source}) GROUP BY ALL)'
            " WHERE entity IS NOT NULL"
        )
        named = run("SELECT DISTINCT member, entity FROM satline_each_entity ORDER BY member").fetchall()
        entities = [str(e) for _, e in named]
        several = _plain(self._catalogue, table)
        columns = ", ".join(f'{d.formula} AS "v{k}"' for k, d in enumerate(several))
        rows = run(f"SELECT obs - 1 AS obs, member, {columns} FROM satline_each_entity").fetchnumpy()
        order = np.lexsort((rows["obs"], rows["member"]))
        at = np.asarray(rows["obs"], dtype=np.int64)[order]
        first = np.searchsorted(np.asarray(rows["member"])[order], np.arange(len(entities) + 1))
        for number, d in enumerate(several):
            values = floats(rows.pop(f"v{number}"))[order]
            if not np.isfinite(values).any():
                continue
            rate = d.weight == "rate"
            made = frozenset({d.formula.strip('"')})
            for k, entity in enumerate(entities):
                inside = slice(first[k], first[k + 1])
                row = np.full(self._rows, np.nan)
                row[at[inside]] = values[inside]
                yield Name(d.name, entity, table, d.unit, d.meaning, made), row / period if rate else row

    def _transactions(self) -> Iterator[tuple[Name, Floats]]:
        several = list(self._catalogue.of("transaction"))
        values = ", ".join(f'({d.formula})::DOUBLE AS "v{k}"' for k, d in enumerate(several))
        rows = self._connection.execute(
            f'SELECT obs - 1 AS obs, "user" AS who, {values} FROM satline_completion'
            " WHERE outcome IN ('ok', 'unexpected') ORDER BY who, obs"
        ).fetchnumpy()
        at = np.asarray(rows["obs"], dtype=np.int64)
        who = np.asarray(rows["who"], dtype=object).astype(str)
        first = np.concatenate([[0], np.flatnonzero(who[1:] != who[:-1]) + 1, [len(who)]])
        for k, d in enumerate(several):
            value = floats(rows[f"v{k}"])
            made = frozenset(d.names)
            yield Name(d.name, "", "transaction", d.unit, d.meaning, made), self._mean(at, value, None)
            for a, b in pairwise(first.tolist()):
                if a < b:
                    name = Name(d.name, str(who[a]), "transaction", d.unit, d.meaning, made)
                    yield name, self._mean(at[a:b], value[a:b], None)


def is_constant(values: Floats) -> bool:
    """Do these change by no more than rounding does?"""
    low, high = float(values.min()), float(values.max())
    return not high - low > 1e-12 * max(abs(low), abs(high))


def _plain(catalogue: Variables, table: str) -> list[Derived]:
    """The counters and levels of `table` as series of their own.

    Of table system only those that no derived variable shows alone, under their own names as `reduce` knows
    them; of entities under ``<table>_<column>``: seconds per second for an accumulator of time. `weight` says
    rate of those that the length of the observation has yet to divide.
    """
    from satline.catalogue import catalogue as whole_catalogue

    shown = {
        next(iter(bases))
        for d in catalogue.derived
        if not d.per and len(bases := d.names - {"period_s"}) == 1
    }
    found: list[Derived] = []
    definition = whole_catalogue().table(table)
    kinds: Sequence[tuple[str, bool]] = [
        *((c, True) for c in catalogue.counters[table]),
        *((c, False) for c in catalogue.levels[table]),
    ]
    for column, counts in kinds:
        stored = definition.column(column)
        unit, meaning = (stored.unit, stored.meaning) if stored is not None else ("", "")
        if table == "system":
            d = catalogue.find(column)
            if d is not None and (f"d_{column}" if counts else column) not in shown:
                found.append(d)
        elif counts and unit == "us":
            name = f"{table}_{column.removesuffix('_us')}"
            found.append(Derived(name, "s/s", meaning, f'"d_{column}" / 1e6', "rate", table))
        elif counts:
            rate = f"{unit}/s" if unit else "per second"
            found.append(Derived(f"{table}_{column}", rate, meaning, f'"d_{column}"', "rate", table))
        else:
            found.append(Derived(f"{table}_{column}", unit, meaning, f'"{column}"', "", table))
    return found
