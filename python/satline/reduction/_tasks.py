"""The busiest threads of a load class."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np

from satline.reduction._statistics import Floats, Integers
from satline.reduction._values import floats


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


def busy_tasks(
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
    cpu, delay = floats(rows["cpu"]), floats(rows["delay"])
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
