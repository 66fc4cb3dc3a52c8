"""Expansion factors: how many times longer transactions take than they would alone, by class and load [TB84].

    expansion = elapsed time / elapsed time without contention

Without contention a transaction takes its processor time, and its I/Os the time of their service. Where these
were not recorded the response at the lightest loads stands for it: then 1 is as light as was seen, not alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from satline.comparison._blocks import Floats, Integers, estimate, make_side
from satline.comparison._observations import Readings, fetched, read
from satline.comparison._results import Estimate
from satline.errors import InputError
from satline.recording import Recording
from satline.reduction import Classing, Filters, axis_named, make_classes, variables

Method = Literal["service", "lightest"]
LEAST = 20


@dataclass(frozen=True)
class Stretched:
    """Transactions of one class at one load; means in seconds.

    alone_s
        What they would have taken without contention.
    """

    kind: str
    load: str
    at: float
    transactions: int
    response_s: float
    alone_s: float
    cpu_s: float | None
    expansion: Estimate


@dataclass(frozen=True)
class Expansion:
    """Expansion factors of a recording.

    methods
        By class: ``service`` (processor time and service of I/Os), or ``lightest`` (the response at the
        lightest load class with enough transactions).
    """

    load_axis: str
    load_unit: str
    filters: str
    methods: dict[str, Method]
    rows: tuple[Stretched, ...]


def expansion(
    recording: Recording, load_axis: str | None = None, *, filters: Filters | None = None
) -> Expansion:
    """Expansion factors by class of transaction and class of load; those of all classes together first.

    Raises
    ------
    InputError
        The recording has no completed transactions in its observations.
    """
    readings = read(recording, load_axis, "response", filters)
    work = readings.transactions
    if not len(work.at):
        raise InputError(
            f"{recording.path}: no completed transactions in its observations",
            hint="the simulator and the emulator record them; `satline import` reads logs of requests",
        )
    axis = axis_named(readings.axis, variables())
    classes, number = make_classes(readings.load, readings.seconds, axis, Classing())
    at_class = number[work.at]
    every_io_s = _io_service(recording)
    response, cpu = work.values["response"], work.values["cpu"]
    ios = work.values["ios"]
    alone = cpu + (0.0 if every_io_s is None else every_io_s) * np.nan_to_num(ios)
    if every_io_s is None and (np.nan_to_num(ios) > 0).any():
        alone = np.full(len(cpu), np.nan)
    rows: list[Stretched] = []
    methods: dict[str, Method] = {}
    groups = [("", np.ones(len(work.at), dtype=bool))]
    groups += [(kind, work.kind == k) for k, kind in enumerate(work.kinds)] if len(work.kinds) > 1 else []
    for kind, of in groups:
        good = of & np.isfinite(response)
        served = good & np.isfinite(alone) & (alone > 0)
        method: Method = "service" if good.sum() and served.sum() >= 0.99 * good.sum() else "lightest"
        base = alone if method == "service" else np.full(len(cpu), _lightest(response, at_class, good))
        used = served if method == "service" else good
        found = [
            row
            for k, one in enumerate(classes)
            if (
                row := _row(
                    readings, kind, one.label, one.midpoint, used & (at_class == k), response, base, cpu
                )
            )
        ]
        if found:
            methods[kind], rows = method, rows + found
    if not rows:
        raise InputError(
            f"{recording.path}: fewer than {LEAST} transactions at any load", hint="record for longer"
        )
    return Expansion(readings.axis, readings.unit, readings.filters, methods, tuple(rows))


def _row(
    readings: Readings,
    kind: str,
    load: str,
    at: float,
    which: np.ndarray,
    response: Floats,
    alone: Floats,
    cpu: Floats,
) -> Stretched | None:
    """One class of transactions at one load; ``None`` where they are too few."""
    where = readings.transactions.at[which]
    if len(where) < LEAST or not alone[which].sum() > 0:
        return None
    count = len(readings.seconds)
    sums = [np.bincount(where, v[which], count).astype(np.float64) for v in (response, alone)]
    ratio = float(sums[0].sum() / sums[1].sum())
    inside = np.flatnonzero(np.bincount(where, minlength=count))
    side = make_side(
        readings.batches[inside],
        (sums[0] - ratio * sums[1])[inside],
        np.zeros(len(inside), dtype=np.int64),
        False,
        0,
    )
    cell: Integers = np.zeros(len(inside), dtype=np.int64)
    totals = side.totals(cell, 1, sums[0][inside], sums[1][inside])
    drawn = side.replicate(totals)[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = drawn[1:, 0] / drawn[1:, 1]
    own = cpu[which]
    return Stretched(
        kind=kind,
        load=load,
        at=at,
        transactions=len(where),
        response_s=float(response[which].mean()),
        alone_s=float(alone[which].mean()),
        cpu_s=float(np.nanmean(own)) if np.isfinite(own).any() else None,
        expansion=estimate(ratio, [ratios], [side.scatter(totals[..., 1])]),
    )


def _lightest(response: Floats, at_class: Integers, good: np.ndarray) -> float:
    """Mean response in the lightest class of load that has enough transactions; NaN without."""
    counts = np.bincount(at_class[good & (at_class >= 0)])
    enough = np.flatnonzero(counts >= LEAST)
    return float(response[good & (at_class == enough[0])].mean()) if len(enough) else float("nan")


def _io_service(recording: Recording) -> float | None:
    """Mean time of a user's I/O without queueing, seconds; ``None`` where it is not known."""
    rows = fetched(
        recording,
        "system",
        """
        SELECT sum(s) / nullif(sum(n), 0) / 1e6::DOUBLE AS each FROM (
            SELECT virtual_io_service_us - lag(virtual_io_service_us) OVER w AS s,
                virtual_ios - lag(virtual_ios) OVER w AS n
            FROM system WINDOW w AS (PARTITION BY run ORDER BY monotonic_ns))
        WHERE s >= 0 AND n >= 0""",
    )
    each = np.ma.filled(np.ma.asarray(rows["each"], dtype=np.float64), np.nan)
    return float(each[0]) if len(each) and np.isfinite(each[0]) else None
