"""What single users, devices, threads and locks did in each observation: for rules that look beyond the
curves.

Nothing is read before a rule asks; each answer is kept.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import duckdb
import numpy as np
import pyarrow as pa

from satline.diagnosis._partial import Floats
from satline.reduction import Reduction, Source

MOST_ENTITIES = 40
ROUNDING_NS = 1000
"""Bounds of observations come as floating-point numbers, exact to the nanosecond for 104 days only."""
Courses = dict[str, dict[str, Floats]]


class Histories:
    """Courses over the observations of a reduction.

    A course has one value per observation, in their order; NaN where there is none. Counters are differenced
    between successive readings of the same entity; a counter that falls gives none.
    """

    def __init__(self, recording: Source, reduction: Reduction) -> None:
        self.recording = recording
        self.reduction = reduction
        self.length = len(reduction.number)
        self._course = lru_cache(maxsize=None)(self._differences)

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection to the recording that also holds the observations."""
        connection = self.recording.connect()
        observed = self.reduction.observations
        columns = {
            name: pa.array(np.asarray(observed[name], dtype=np.float64).astype(np.int64))
            for name in ("run", "t0", "t1")
        }
        connection.register(
            "history_observation", pa.table({"place": pa.array(np.arange(self.length)), **columns})
        )
        return connection

    def counters(self, table: str, entity: str, names: tuple[str, ...], where: str = "TRUE") -> Courses:
        """By entity, what each counter gained in each observation; of many entities those that gained most of
        the first counter."""
        return self._course(table, entity, names, where)

    def _differences(self, table: str, entity: str, names: tuple[str, ...], where: str) -> Courses:
        gains = ", ".join(
            f'CASE WHEN "{n}" >= lag("{n}") OVER w THEN "{n}" - lag("{n}") OVER w END AS "{n}"' for n in names
        )
        sums = ", ".join(f'sum("{n}")::DOUBLE AS "{n}"' for n in names)
        own = ", pid, tid, start_ticks" if table == "task" else ""
        return self._courses(
            f"""
            WITH gain AS (
                SELECT run, monotonic_ns - {ROUNDING_NS} AS t, {entity} AS entity, {gains}
                FROM "{table}" WHERE {where}
                WINDOW w AS (PARTITION BY run, {entity}{own} ORDER BY monotonic_ns)),
            placed AS (
                SELECT o.place, g.* FROM gain g
                ASOF JOIN history_observation o ON g.run = o.run AND g.t > o.t0 WHERE g.t <= o.t1)
            SELECT place, entity, {sums} FROM placed GROUP BY place, entity""",
            names,
        )

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

    def _courses(self, sql: str, names: tuple[str, ...], most: int | None = MOST_ENTITIES) -> Courses:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE history AS {sql}")
        limit = "" if most is None else f" LIMIT {most}"
        rows = self.connection.execute(
            "SELECT h.* FROM history h JOIN ("
            "SELECT entity FROM history WHERE entity IS NOT NULL GROUP BY entity"
            f' ORDER BY sum("{names[0]}") DESC NULLS LAST, entity{limit}) USING (entity)'
            " ORDER BY entity, place"
        ).fetchnumpy()
        entities = np.asarray(rows["entity"], dtype=object)
        found: Courses = {}
        # Rows come sorted by entity, so that each one's are a slice.
        starts = [k for k in range(len(entities)) if k == 0 or entities[k] != entities[k - 1]]
        for start, end in zip(starts, [*starts[1:], len(entities)], strict=False):
            places = np.asarray(rows["place"][start:end], dtype=np.int64)
            courses = {name: np.full(self.length, np.nan) for name in names}
            for name in names:
                column = rows[name][start:end]
                courses[name][places] = np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)
            found[str(entities[start])] = courses
        return found
