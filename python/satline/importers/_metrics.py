"""Mapping files for metrics: what an application's metrics in a PCP archive or a Prometheus mean.

docs/guides/mapping-files.md explains them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from satline.importers._mapping import GUIDE, KINDS, variable
from satline.importers._sink import Floats, Integers, Sink
from satline.problems import read_toml

TABLES = ("system", "lock")
# Columns of locks that have a total in table system.
_TOTALS = ("spin_us", "wait_us", "defers")
EACH = "*"


def _known(to: str) -> str:
    variable(to, TABLES)
    return to


class Metric(BaseModel):
    """One metric.

    name: the metric of PCP, or the series of Prometheus. instance, labels: only these, with * and ? as in
    names of files; all that fit are added up. kind: counter (raw), rate (per second), level. The values times
    `factor` are in the catalogue's unit; PCP's times are microseconds already, and its sizes bytes.
    entity: the lock's name; * stands for the instance, or for the value of the label `entity_label`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    to: Annotated[str, AfterValidator(_known)]
    kind: Literal["counter", "rate", "level"] | None = None
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    instance: str | None = None
    labels: dict[str, str] = {}
    entity: str | None = None
    entity_label: str | None = None
    load: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        allowed = [k for k in KINDS[variable(self.to, TABLES).kind] if k in ("counter", "rate", "level")]
        if self.kind is not None and self.kind not in allowed:
            raise ValueError(
                f"kind: {self.kind} does not go with {self.to}, a {variable(self.to, TABLES).kind}; "
                f"write {' or '.join(allowed)}"
            )
        if (self.table == "lock") != (self.entity is not None):
            raise ValueError(
                'entity: say which lock it is: entity = "…", or "*" for each instance or label'
                if self.table == "lock"
                else "entity: only a lock has one"
            )
        if self.load and self.table != "system":
            raise ValueError("load: only a column of the whole system can be the load")
        return self

    @property
    def table(self) -> str:
        """Table of the catalogue."""
        return self.to.partition(".")[0]

    @property
    def column(self) -> str:
        """Column of that table."""
        return self.to.partition(".")[2]

    @property
    def meaning(self) -> str:
        """The kind, by default the catalogue's."""
        return self.kind or ("level" if variable(self.to, TABLES).kind == "level" else "counter")

    def fits_instance(self, instance: str) -> bool:
        """Is this PCP's instance meant?"""
        return self.instance is None or fnmatchcase(instance, self.instance)

    def fits_labels(self, labels: Mapping[str, str]) -> bool:
        """Are these the labels that are meant?"""
        return all(fnmatchcase(labels.get(k, ""), v) for k, v in self.labels.items())


class MetricFile(BaseModel):
    """A whole file. `users` is read by whom it concerns."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: list[Metric] = []
    users: Any = None

    @model_validator(mode="after")
    def _one_load(self) -> Self:
        if sum(m.load for m in self.metric) > 1:
            raise ValueError("metric: load = true stands at several; one column is the load")
        return self


def read_metrics(path: Path | None) -> tuple[Metric, ...]:
    """The metrics that a mapping file names; none without a file.

    Raises
    ------
    InputError
        Naming the file, and line and key of all that is wrong in it.
    """
    if path is None:
        return ()
    _, found = read_toml(
        path,
        MetricFile,
        kind="mapping",
        name_one="name a file that you may read",
        hint=f"{GUIDE} explains mapping files",
    )
    return tuple(found.metric)


@dataclass(frozen=True)
class Mapped:
    """Mapped columns on the readings: of the whole system, and by lock."""

    system: Mapping[str, Floats]
    locks: Mapping[str, Mapping[str, Floats]]

    def write_locks(self, sink: Sink, time_ns: Integers, part: slice) -> None:
        """Rows of table lock of one run, in order of time."""
        names = list(self.locks)
        columns = list(dict.fromkeys(c for one in self.locks.values() for c in one))
        if not names or not len(time_ns):
            return
        empty = np.full(len(time_ns), np.nan)
        flat = {
            c: np.stack([one[c][part] if c in one else empty for one in self.locks.values()], axis=1).ravel()
            for c in columns
        }
        there = np.any([np.isfinite(v) for v in flat.values()], axis=0)
        lock = np.tile(np.array(names, dtype=object), len(time_ns))
        sink.table(
            "lock",
            np.repeat(time_ns, len(names))[there],
            {"lock": lock[there], **{c: v[there] for c, v in flat.items()}},
        )


def place(
    metrics: Sequence[Metric],
    found: Mapping[int, Mapping[str, Sequence[Floats]]],
    time_ns: Integers,
    sink: Sink,
) -> Mapped:
    """Columns from the values that were found.

    Parameters
    ----------
    found
        By the metric's number, by entity (empty for the whole system), the values of each series that fits at
        the readings, NaN where missing.
    """
    system: dict[str, Floats] = {}
    locks: dict[str, dict[str, Floats]] = {}
    for number, metric in enumerate(metrics):
        groups = found.get(number, {})
        if not groups:
            sink.note(f"mapping: no values of {metric.name} were found")
            sink.missing(metric.to, f"no values of {metric.name}", "the metric that the mapping file names")
        for entity, parts in groups.items():
            values = _together(parts, metric.meaning, time_ns) * metric.factor
            column = metric.column
            if metric.to == "system.tasks_runnable" and (values[np.isfinite(values)] % 1 > 0).any():
                column = "run_queue_mean"  # so many now are whole
            row = system if metric.table == "system" else locks.setdefault(entity, {})
            before = row.get(column)
            row[column] = values if before is None else before + values
        if metric.load and groups:
            sink.load_axis(metric.column)
    for column in _TOTALS:
        parts = [one[column] for one in locks.values() if column in one]
        if parts:
            system.setdefault(f"lock_{column}", _together(parts, "counter", time_ns))
    return Mapped(system, locks)


def _together(parts: Sequence[Floats], meaning: str, time_ns: Integers) -> Floats:
    """The sum over series that come and go; of counters and rates, what they have grown by, as a counter."""
    there = np.any([np.isfinite(p) for p in parts], axis=0)
    if meaning == "level":
        total = np.sum([np.nan_to_num(p) for p in parts], axis=0)
    elif meaning == "counter":
        total = np.sum([_grown(p) for p in parts], axis=0)
    else:
        seconds = np.diff(time_ns, prepend=time_ns[:1]) / 1e9
        total = np.cumsum(np.sum([np.nan_to_num(p) for p in parts], axis=0) * seconds)
    return np.where(there, total, np.nan)


def _grown(values: Floats) -> Floats:
    """What a counter has grown since its first value; after a restart it grew by its new value."""
    known = np.flatnonzero(np.isfinite(values))
    steps = np.diff(values[known])
    made = np.zeros(len(values))
    made[known[1:]] = np.where(steps >= 0, steps, values[known[1:]])
    return np.asarray(np.cumsum(made))
