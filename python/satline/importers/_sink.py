"""Where importers put readings: columns of one stretch of time at a time → a recording at rest.

A recording holds raw counters. Many sources print rates or percentages; they are integrated back: a rate r
over the interval that ends at t adds r · (t − t₋) to the counter. A difference of two such readings then
gives exactly what the source said. A missing rate leaves a hole on both sides, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.recording import describe, number_column, text_column, write_parquet_table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Objects = NDArray[np.object_]
Booleans = NDArray[np.bool_]
WRITER = "import"
_GAP_INTERVALS = 2.5
_CPU_TIMES = ("user_us", "system_us", "idle_us")
# Load axes by the columns that they are made of.
_AXES = {
    "users_logged_on": "sessions",
    "users_in_queue": "in_queue",
    "tasks_runnable": "run_queue",
    "run_queue_mean": "run_queue",
    "load_average_1": "load_average",
    "transactions": "requests",
    "transaction_us": "in_flight",
}
_RESTS_ON = {
    "transaction": "transactions",
    "user": "what users used",
    "system": "the counters of the whole system",
    "device": "devices",
    "cgroup": "control groups",
    "lock": "locks",
}


@dataclass
class Sink:
    """Takes a source's readings and writes the recording.

    A source calls `begin_run` for each stretch without a restart, then `table` for each table of it, in any
    order; then `finish` is called by whoever made the sink. Readings of one run are in order of time, and no
    two are of the same instant.

    Attributes
    ----------
    path
        The recording.
    """

    path: Path
    creator: str = "satline import"
    _run: int = 0
    _host: dict[str, Any] = field(default_factory=dict)
    _origin: dict[str, Any] = field(default_factory=dict)
    _system: dict[str, Any] = field(default_factory=lambda: {"kind": "imported"})
    _missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    _damage: list[str] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)
    _present: set[tuple[str, str]] = field(default_factory=set)
    _times: dict[int, list[Integers]] = field(default_factory=dict)
    _readings: int = 0
    _nothing: InputError | None = None

    # ------------------------------------------------------------------ what the source is

    def host(self, **facts: Any) -> None:
        """Facts of `[host]`: name, kernel, machine, os, processors, memory_bytes, page_bytes.

        Raises
        ------
        InputError
            A source before was of another host.
        """
        before, name = self._host.get("name"), facts.get("name")
        if before and name and before != name:
            raise InputError(
                f"the sources are of several hosts: {before}, {name}",
                hint="import each host into a recording of its own",
            )
        self._host.update({k: v for k, v in facts.items() if v is not None})

    def origin(self, **facts: Any) -> None:
        """Facts of the import: format, files, tool, version, zone; lists of several sources are joined."""
        for key, value in facts.items():
            if isinstance(value, list):
                self._origin[key] = [*dict.fromkeys([*self._origin.get(key, []), *value])]
            elif value is not None:
                self._origin[key] = value

    def processors(self, count: int) -> None:
        """How many processors the system under test may use where the source has a smaller or another
        number than rows of table processor."""
        self._host["processors"] = count

    def limits(self, **limits: float) -> None:
        """Limits in force as the source tells them: `cpu_quota_processors` of a capped partition, ….

        See docs/reference/recording.md.
        """
        self._system.setdefault("limits", {}).update(limits)

    def load_axis(self, name: str) -> None:
        """The column of table system that is the load where nothing else is asked for."""
        self._system["load_axis"] = _AXES.get(name, name)

    def missing(self, signal: str, reason: str, would_need: str = "") -> None:
        """A signal of the catalogue that the source lacks, and what would have brought it."""
        self._missing[signal] = (reason, would_need)

    def damage(self, text: str) -> None:
        """Something was left out because it was damaged; the text says where, and how much."""
        self._damage.append(text)

    def if_nothing(self, error: InputError) -> None:
        """The error to raise at the end if no reading with a value has come from any source by then."""
        self._nothing = self._nothing or error

    def note(self, text: str) -> None:
        """Something a reader of the recording should know: a clock that stepped, a device renamed."""
        if text not in self._notes:
            self._notes.append(text)

    # ------------------------------------------------------------------ readings

    def begin_run(self) -> int:
        """A new stretch: after a restart, differences do not cross. Returns its number, from 1."""
        self._run += 1
        return self._run

    def table(
        self,
        name: str,
        time_ns: Integers,
        columns: Mapping[str, Any],
        *,
        monotonic_ns: Integers | None = None,
    ) -> None:
        """Write rows of a table for the present run.

        Parameters
        ----------
        name
            A table of the catalogue.
        time_ns
            Real time of each row, ns since 1970 UTC, shape (rows,); rows in order of time.
        columns
            By column name, shape (rows,). Counters, accumulators and integer levels may be float arrays: they
            are rounded, and NaN is null. Text is a list, an object array or an Arrow array. A column without
            any value is left out.
        monotonic_ns
            A clock that never steps, where the source has one; lengths of periods are made from it. Of the
            same instant in every table. Default: `time_ns`.
        """
        if not len(time_ns):
            return
        if self._run == 0:
            self.begin_run()
        definition = catalogue().table(name)
        kinds = {c.name: c for c in definition.columns}
        made: dict[str, pa.Array] = {
            "time_ns": number_column(np.asarray(time_ns, dtype=np.int64)),
            "monotonic_ns": number_column(
                np.asarray(time_ns if monotonic_ns is None else monotonic_ns, dtype=np.int64)
            ),
        }
        for column, values in columns.items():
            if column not in kinds:
                raise InputError(f"column {column!r} of table {name!r} is not in the catalogue")
            array = _arrow(values, kinds[column].type)
            if array.null_count < len(array):
                made[column] = array
                self._present.add((name, column))
        write_parquet_table(self.path, name, pa.table(made), writer=WRITER, run=self._run)
        if name == "system":
            self._readings += len(time_ns)
            self._times.setdefault(self._run, []).append(np.asarray(time_ns, dtype=np.int64))

    def event(self, time_ns: int, event: str, text: str = "", value: float | None = None) -> None:
        """One row of table event."""
        row = {"source": [WRITER], "event": [event], "text": [text]}
        if value is not None:
            self.table("event", np.array([time_ns]), {**row, "value": np.array([value])})
        else:
            self.table("event", np.array([time_ns]), row)

    # ------------------------------------------------------------------ the end

    @property
    def runs(self) -> list[tuple[int, int]]:
        """First and last reading of each run, ns since 1970 UTC, in the order they were imported."""
        return [(int(min(t[0] for t in s)), int(max(t[-1] for t in s))) for s in self._times.values()]

    @property
    def interval_s(self) -> float:
        """The median time between successive readings of a run; 0 where there are no two."""
        periods = np.concatenate([np.array([], dtype=np.int64), *map(np.diff, self._run_times())])
        return float(np.median(periods)) / 1e9 if len(periods) else 0.0

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Stretches within a run that lack at least two readings, ns since 1970 UTC."""
        longest = _GAP_INTERVALS * self.interval_s * 1e9
        return [
            (int(time[at]), int(time[at + 1]))
            for time in self._run_times()
            for at in np.flatnonzero(np.diff(time) > longest)
        ]

    def _run_times(self) -> list[Integers]:
        return [np.concatenate(s) for s in self._times.values()]

    @property
    def readings(self) -> int:
        """Rows of table system so far."""
        return self._readings

    def has(self, table: str, column: str) -> bool:
        """Was any value of this column written?"""
        return (table, column) in self._present

    def start(self) -> None:
        """Make the recording. Raises InputError if there is one already."""
        describe.create(self.path, self.creator, host={}, system_under_test=self._system)

    def finish(self) -> None:
        """State what the source was, what it lacked, and that the recording has ended."""
        if self._nothing is not None and not (self._readings and self._present):
            raise self._nothing
        if not self._readings:
            why = f": {self._damage[0]}" if self._damage else ""
            raise InputError(
                f"{self._origin.get('files', ['the source'])[0]}: no readings in it{why}",
                hint="is the time range right, and is the file whole?",
            )
        if not self._present:
            raise InputError(
                f"{self._origin.get('files', ['the source'])[0]}: {self._readings:,} readings, and none of"
                " them holds a value: their times are there, and what was measured is blank",
                hint="did the collector run without the right to measure, or was the file cut to its times?",
            )
        if not any(table == "processor" and column in _CPU_TIMES for table, column in self._present):
            tables = {t for t, _ in self._present}
            rests = [words for table, words in _RESTS_ON.items() if table in tables]
            self.note(
                "no CPU time is in it, so that nothing can be said of the processors: an answer rests on "
                + ", ".join(rests)
            )
        ordered = sorted(self.runs)
        if any(later[0] < earlier[1] for earlier, later in pairwise(ordered)):
            self.note("some readings cover the same time twice: was a source given in two copies?")
        missed = sum(end - start for start, end in self.gaps)
        span = sum(int(t[-1] - t[0]) for t in self._run_times())
        if missed > span / 2:
            self.note(
                f"gaps are {100 * missed / span:.0f} % of the time: a reading usually follows the one before"
                f" by {self.interval_s:.3g} s, and {len(self.gaps):,} times by more than"
                f" {_GAP_INTERVALS * self.interval_s:.3g} s"
            )
        lacking = [
            {"signal": s, "reason": r, "would_need": w}
            for s, (r, w) in sorted(self._missing.items())
            if not any(c == s.rpartition(".")[2] and s in (c, f"{t}.{c}") for t, c in self._present)
        ]
        describe.write_source(
            self.path,
            WRITER,
            {
                "version": _version(),
                "end_reason": "complete",
                "origin": self._origin,
                "sampling": {
                    "interval_ms": self.interval_s * 1000,
                    "samples": self._readings,
                    "samples_lost": 0,
                },
                "damage": self._damage,
                "notes": self._notes,
                "missing": lacking,
            },
        )
        describe.update(self.path, {"host": self._host, "system_under_test": self._system})
        describe.end(self.path, "complete")


def _arrow(values: Any, kind: str) -> pa.Array:
    """A column as the catalogue wants it: integers rounded, NaN as null."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if kind == "text":
        return text_column(list(values))
    found = np.asarray(values, dtype=np.float64)
    bad = ~np.isfinite(found) | (np.abs(found) > 2.0**62)
    if kind == "float":
        return number_column(found, bad)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        # Exact beyond 2**53. What an unsigned counter holds beyond 2**62 is an underflow, not a count.
        return number_column(np.where(bad, 0, values).astype(np.int64), bad)
    return number_column(np.where(bad, 0, np.rint(found)).astype(np.int64), bad)


def _version() -> str:
    from satline import __version__

    return __version__


def texts(values: Sequence[str], count: int) -> list[str]:
    """Names of entities repeated for each of `count` readings: reading by reading."""
    return list(values) * count
