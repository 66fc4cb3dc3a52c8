"""What single users, devices, threads and locks did in each observation: for rules that look beyond the
curves.

Nothing is read before a rule asks; each answer is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np

from satline.diagnosis._courses import FILLED, ROUNDING_NS, Observations, Within
from satline.diagnosis._partial import Floats
from satline.reduction import ENTITY, Readings, Reduction, Source, numbers_table, readings_of, settle

MOST_ENTITIES = 40
Courses = dict[str, dict[str, Floats]]
PROCESSOR_STATES = (
    "user_us",
    "nice_us",
    "system_us",
    "irq_us",
    "guest_us",
    "idle_us",
    "iowait_us",
    "steal_us",
)
MOST_PROCESSORS = 64


@dataclass(frozen=True)
class ProcessorStates:
    """Processor time by state over the observations.

    total
        By state that was recorded, microseconds summed over processors; a state that was not is left out.
    elapsed_us
        Processors × length of the observation, microseconds.
    count
        Number of processors.
    each
        By processor, the part of its time in use; empty where only all of them together were recorded.
    """

    total: dict[str, Floats]
    elapsed_us: Floats
    count: int
    each: dict[str, Floats]


class Histories:
    """Courses over the observations of a reduction.

    A course has one value per observation, in their order; NaN where there is none. Counters are differenced
    between successive readings of the same entity; a counter that falls gives none.
    """

    def __init__(self, recording: Source, reduction: Reduction) -> None:
        self.recording = recording
        self.reduction = reduction
        self.length = len(reduction.number)
        # Not `lru_cache` of a method: it would keep this, and all that was read, until cycles are collected.
        self._known: dict[tuple[object, ...], Courses] = {}
        self._of_system: dict[str, Floats | None] = {}

    @cached_property
    def readings(self) -> Readings:
        """The tables of the recording, in the connection that also holds the observations."""
        return readings_of(self.recording)

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection to the recording that also holds the observations."""
        connection = self.readings.connection
        settle(connection)
        observed = self.reduction.observations
        columns = {
            name: np.asarray(observed[name], dtype=np.float64).astype(np.int64)
            for name in ("run", "t0", "t1")
        }
        connection.register(
            "history_observation", numbers_table({"place": np.arange(self.length), **columns})
        )
        return connection

    def _filled(self, table: str) -> frozenset[str]:
        """The columns of a table that hold anything: the others cost as much to group as these."""
        return frozenset(c for c, count in self.readings.counts(table).items() if count)

    @cached_property
    def _observations(self) -> Observations:
        return Observations(self.reduction)

    def _from_arrays(
        self,
        table: str,
        entity: str,
        names: tuple[str, ...],
        where: str,
        make: Callable[[Within, Floats], Floats],
        most: int | None,
        asked: tuple[str, ...],
    ) -> Courses | None:
        """As `_courses`, made from the table's arrays by `make`; ``None``: left to SQL."""
        if entity.strip('"') != (ENTITY.get(table) or "'all'"):
            return None
        found = self.readings.of(table, names)
        chosen = None if found is None else self.readings.chosen(table, where)
        if found is None or chosen is None:
            return None
        inside = [
            (name, times, own)
            for name, times, own in found.each()
            if name in chosen and len(self._observations.within(times).place)
        ]
        if most is not None and len(inside) > most:
            sums = []
            for name, times, own in inside:
                course = (
                    make(self._observations.within(times), own[names[0]])
                    if names[0] in own
                    else self._nothing
                )
                known = course[np.isfinite(course)]
                sums.append((-float(known.sum()) if len(known) else np.inf, name))
            kept = {name for _, name in sorted(sums)[:most]}
            inside = [one for one in inside if one[0] in kept]
        return {
            name: {
                n: make(self._observations.within(times), own[n])
                if n in names and n in own
                else self._nothing
                for n in asked
            }
            for name, times, own in inside
        }

    @cached_property
    def _nothing(self) -> Floats:
        """A course without any value; many share it."""
        nothing = np.full(self.length, np.nan)
        nothing.flags.writeable = False
        return nothing

    def _moments(self, table: str, where: str) -> str:
        """The observation of each moment at which a table was read. There are fewer moments than rows, and
        to find the observation of each row would sort them all."""
        return f"""
            SELECT m.run, m.t, o.place, o.t0, o.t1 FROM (
                SELECT DISTINCT run, monotonic_ns - {ROUNDING_NS} AS t FROM "{table}" WHERE {where}
            ) m ASOF JOIN history_observation o ON m.run = o.run AND m.t > o.t0 WHERE m.t <= o.t1"""

    def counters(self, table: str, entity: str, names: tuple[str, ...], where: str = "TRUE") -> Courses:
        """By entity, what each counter gained in each observation; of many entities those that gained most of
        the first counter."""
        return self._course(table, entity, names, where)

    def whole_counters(self, table: str, entity: str, names: tuple[str, ...], where: str = "TRUE") -> Courses:
        """The same of all entities, without a value where a counter fell, or was not read, within an
        observation: what it gained there is not known."""
        return self._course(table, entity, names, where, whole=True)

    def _course(
        self, table: str, entity: str, names: tuple[str, ...], where: str, *, whole: bool = False
    ) -> Courses:
        key = table, entity, names, where, whole
        if key not in self._known:
            self._known[key] = self._differences(table, entity, names, where, whole=whole)
        return self._known[key]

    def _differences(
        self, table: str, entity: str, names: tuple[str, ...], where: str, *, whole: bool = False
    ) -> Courses:
        filled = self._filled(table)
        if not filled:
            return {}
        asked, names = names, tuple(n for n in names if n in filled) or names[:1]
        make = Within.whole_gain if whole else Within.gain
        most = None if whole else MOST_ENTITIES
        found = self._from_arrays(table, entity, names, where, make, most, asked)
        if found is not None:
            return found
        gains = ", ".join(
            f'CASE WHEN "{n}" >= lag("{n}") OVER w THEN "{n}" - lag("{n}") OVER w END AS "{n}"' for n in names
        )
        # A reading after a gap tells what was gained in all of it: this observation has its share by time.
        share = "least(1, (o.t1 - o.t0)::DOUBLE / greatest(g.elapsed, 1))"
        sums = ", ".join(f'sum("{n}" * part)::DOUBLE AS "{n}"' for n in names)
        if whole:
            # The part of a reading's time that lies in the observation; together they must fill it.
            begin = f"greatest(o.t0 - {ROUNDING_NS}, g.t - g.elapsed)"
            share = f"(g.t - {begin})::DOUBLE / greatest(g.elapsed, 1)"
            length = f"{FILLED} * max(o_length)"
            sums = ", ".join(
                f'CASE WHEN count("{n}") = count(*) AND sum(part * elapsed) FILTER ("{n}" IS NOT NULL)'
                f' >= {length} THEN sum("{n}" * part)::DOUBLE END AS "{n}"'
                for n in names
            )
        own = ", pid, tid, start_ticks" if table == "task" else ""
        return self._courses(
            f"""
            WITH gain AS (
                SELECT run, monotonic_ns - {ROUNDING_NS} AS t, {entity} AS entity,
                    monotonic_ns - lag(monotonic_ns) OVER w AS elapsed, {gains}
                FROM "{table}" WHERE {where}
                WINDOW w AS (PARTITION BY run, {entity}{own} ORDER BY monotonic_ns)),
            moment AS ({self._moments(table, where)}),
            placed AS (
                SELECT o.place, {share} AS part, o.t1 - o.t0 AS o_length, g.* FROM gain g
                JOIN moment o ON g.run = o.run AND g.t = o.t)
            SELECT place, entity, {sums} FROM placed GROUP BY place, entity""",
            names,
            most,
            asked,
        )

    def levels(self, table: str, entity: str, names: tuple[str, ...], where: str = "TRUE") -> Courses:
        """By entity, the mean of each level over the readings of each observation."""
        filled = self._filled(table)
        if not filled:
            return {}
        asked, names = names, tuple(n for n in names if n in filled) or names[:1]
        found = self._from_arrays(table, entity, names, where, Within.mean, MOST_ENTITIES, asked)
        if found is not None:
            return found
        means = ", ".join(f'avg("{n}")::DOUBLE AS "{n}"' for n in names)
        return self._courses(
            f"""
            SELECT o.place, g.entity, {means} FROM (
                SELECT *, {entity} AS entity, monotonic_ns - {ROUNDING_NS} AS t FROM "{table}" WHERE {where}
            ) g JOIN ({self._moments(table, where)}) o ON g.run = o.run AND g.t = o.t
            GROUP BY o.place, g.entity""",
            names,
            asked=asked,
        )

    def system_levels(self, *names: str) -> dict[str, Floats]:
        """By name, each of these levels of table system that has a value at all. What is asked for together
        is read together."""
        unread = tuple(n for n in names if n not in self._of_system)
        if unread:
            found = self.levels("system", "'all'", unread).get("all", {})
            known = {n: c for n, c in found.items() if np.isfinite(c).any()}
            self._of_system |= {n: known.get(n) for n in unread}
        return {n: c for n in names if (c := self._of_system[n]) is not None}

    def _by_processor(self) -> Courses:
        """By processor, its time in each state, and that in which it was seen (``elapsed_us``); NaN where not
        all is known. The first reading of a run tells of no time."""
        where = "TRUE"
        if allowed := self.reduction.settings.processors:
            where = f"processor IN ({', '.join(repr(str(p)) for p in allowed)})"
        table = self.readings.of("processor", PROCESSOR_STATES)
        chosen = None if table is None else self.readings.chosen("processor", where)
        if table is not None and chosen is not None:
            found: Courses = {}
            for name, times, own in table.each():
                if name in chosen:
                    within = self._observations.within(times)
                    found[name] = {
                        n: within.all_gained(own[n]) if n in own else self._nothing for n in PROCESSOR_STATES
                    }
                    found[name]["elapsed_us"] = within.seen_us()
            return found
        gains = ", ".join(
            f'CASE WHEN "{n}" >= lag("{n}") OVER w THEN "{n}" - lag("{n}") OVER w END AS "{n}"'
            for n in PROCESSOR_STATES
        )
        sums = ", ".join(
            f'CASE WHEN count("{n}") = count(*) THEN sum("{n}") END::DOUBLE AS "{n}"'
            for n in PROCESSOR_STATES
        )
        return self._courses(
            f"""
            WITH gain AS (
                SELECT run, monotonic_ns - {ROUNDING_NS} AS t, processor, lag(monotonic_ns) OVER w AS before,
                    {gains}
                FROM processor WHERE {where} WINDOW w AS (PARTITION BY run, processor ORDER BY monotonic_ns)),
            placed AS (
                SELECT o.place, g.* FROM gain g
                ASOF JOIN history_observation o ON g.run = o.run AND g.t > o.t0
                WHERE g.t <= o.t1 AND g.before IS NOT NULL)
            SELECT place, processor AS entity, sum(t + {ROUNDING_NS} - before) / 1e3 AS elapsed_us, {sums}
            FROM placed GROUP BY place, processor""",
            ("elapsed_us", *PROCESSOR_STATES),
            most=None,
        )

    @cached_property
    def _states(self) -> ProcessorStates | None:
        """See `processors`."""
        each = self._by_processor()
        seen = {name: np.isfinite(own["elapsed_us"]) for name, own in each.items()}
        processors = np.sum([*seen.values(), np.zeros(self.length, dtype=np.int64)], axis=0)
        if not processors.any():
            return None

        def together(state: str) -> Floats:
            """Summed over the processors that were seen, where it is known of all of them."""
            known = [np.where(seen[name], own[state], 0) for name, own in each.items()]
            return np.where(processors > 0, np.sum(known, axis=0), np.nan)

        total = {n: course for n in PROCESSOR_STATES if np.isfinite(course := together(n)).any()}
        if not total:
            return None
        elapsed = together("elapsed_us")
        count = int(np.median(processors[processors > 0]))
        alone = seen.get("all", np.zeros(self.length, dtype=bool)) & (processors == 1)
        if alone.any():
            # One row for all processors: its states add up to as many times the elapsed time as there are.
            stated = self.reduction.settings.host_processors
            if stated is None and {"user_us", "system_us", "idle_us"} <= total.keys():
                stated = round(float(np.nanmedian((sum(total.values()) / elapsed)[alone])))
            if stated is None and alone[processors > 0].all():
                return None  # of how many processors the states are is not known
            if stated:
                count = max(1, stated)
            elapsed = np.where(alone, elapsed * count, elapsed)
        used = {name: _in_use(own) for name, own in each.items() if name != "all" and seen[name].any()}
        # One alone, or too many, are not compared.
        return ProcessorStates(total, elapsed, count, used if 2 <= count <= MOST_PROCESSORS else {})

    def processors(self) -> ProcessorStates | None:
        """Processor time by state; ``None`` where none was recorded."""
        return self._states

    @cached_property
    def responses(self) -> Courses:
        """By user: transactions completed in each observation (``done``), and the sum of their response times
        in seconds (``seconds``)."""
        return self._responses('"user"')

    @cached_property
    def class_responses(self) -> Courses:
        """The same by class of transactions."""
        return self._responses("class")

    def _responses(self, entity: str) -> Courses:
        return self._courses(
            f"""
            WITH ended AS (
                SELECT {entity} AS entity, response_us,
                    monotonic_ns + response_us * 1000 - {ROUNDING_NS} AS t FROM transaction
                WHERE response_us IS NOT NULL AND outcome IN ('ok', 'unexpected') AND phase IS DISTINCT FROM
                'logon')
            SELECT o.place, e.entity, count(*)::DOUBLE AS done, sum(response_us) / 1e6 AS seconds
            FROM ended e ASOF JOIN history_observation o ON e.t > o.t0 WHERE e.t <= o.t1
            GROUP BY o.place, e.entity""",
            ("done", "seconds"),
            most=None,
        )

    def _courses(
        self,
        sql: str,
        names: tuple[str, ...],
        most: int | None = MOST_ENTITIES,
        asked: tuple[str, ...] = (),
    ) -> Courses:
        """By entity, in their order, the columns `names` of a query, and courses without a value of the
        others that were asked for; of many entities those with the largest sums of the first."""
        limit = "" if most is None else f" LIMIT {most}"
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE history_course AS {sql}")
        self.connection.execute(
            "CREATE OR REPLACE TEMP TABLE history_entity AS SELECT entity,"
            " row_number() OVER (ORDER BY entity) - 1 AS number FROM (SELECT entity FROM history_course"
            f' WHERE entity IS NOT NULL GROUP BY entity ORDER BY sum("{names[0]}") DESC NULLS LAST,'
            f" entity{limit})"
        )
        entities = self.connection.execute("SELECT entity FROM history_entity ORDER BY number").fetchall()
        columns = ", ".join(f'coalesce("{n}", \'nan\'::DOUBLE) AS "{n}"' for n in names)
        rows = self.connection.execute(
            f"SELECT number, place, {columns} FROM history_course JOIN history_entity USING (entity)"
        ).fetchnumpy()
        number, place = (np.asarray(rows[name], dtype=np.int64) for name in ("number", "place"))
        found: dict[str, Floats] = {}
        for name in names:
            found[name] = np.full((len(entities), self.length), np.nan)
            found[name][number, place] = rows[name]
        return {
            str(entity): {n: found[n][k] if n in found else self._nothing for n in asked or names}
            for k, (entity,) in enumerate(entities)
        }


def _in_use(own: dict[str, Floats]) -> Floats:
    """The part of its time in which a processor was in use.

    Where all states were recorded, they are shares of their sum: see _resources.py.
    """
    known = {n: np.nan_to_num(own[n]) for n in PROCESSOR_STATES}
    free = own["idle_us"] + known["iowait_us"] + known["steal_us"]
    stated = own["user_us"] + known["nice_us"] + known["system_us"] + known["irq_us"] + known["guest_us"]
    whole = own["user_us"] + own["system_us"] + own["idle_us"]
    told = whole + np.where(np.isfinite(own["irq_us"]), own["irq_us"], own["nice_us"]) > 0
    for state in ("irq_us", "nice_us", "guest_us", "iowait_us", "steal_us"):
        whole = whole + known[state]
    elapsed = own["elapsed_us"]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_time = np.where(np.isfinite(own["idle_us"]), 1 - free / elapsed, stated / elapsed)
        return np.clip(np.where(told, 1 - free / whole, by_time), 0, 1)
