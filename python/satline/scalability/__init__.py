"""Scalability: tables of load, throughput and response, as load tests print them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from satline.errors import InputError
from satline.scalability._families import Floats
from satline.scalability._fits import Fits, Fitted, fit_all
from satline.scalability._levels import Grouped, bound_at, bounds_of, group, little
from satline.scalability._read import Table, is_table, read_table
from satline.scalability._region import Point
from satline.scalability._results import (
    Amdahl,
    Bounds,
    BrokenLine,
    Compared,
    Law,
    Little,
    Row,
    Scalability,
    Usl,
    Value,
)
from satline.scalability._verdict import Facts, Verdict, few, judge

__all__ = [
    "Amdahl",
    "Bounds",
    "BrokenLine",
    "Compared",
    "Little",
    "Row",
    "Scalability",
    "Table",
    "Usl",
    "Value",
    "analyse",
    "is_table",
    "read_table",
]

MOST_ROWS = 12
SUPERLINEAR = 1.2
NO_PEAK = 1e9
IN_WORDS = {"n": "users", "x": "", "vus": "users", "vu": "users", "user": "users", "user count": "users"}
ERRORS = {
    ("equal",): "equal at all loads",
    ("relative",): "in proportion to throughput",
    ("equal", "relative"): "equal at all loads or in proportion to throughput: intervals hold both",
}


def analyse(table: Table, *, at: Sequence[float] = (), think_s: float | None = None) -> Scalability:
    """Fit the laws to a table and say where throughput stops rising.

    Parameters
    ----------
    at
        Loads to predict throughput for, besides those seen.
    think_s
        Known think time; else it follows from N, X and R by Little's law.

    Raises
    ------
    InputError
        No row has throughput above 0, or a load of `at` is not above 0.
    """
    if any(not 0 < n < 1e15 for n in at):
        raise InputError("loads are above 0", hint="write --at 64,128")
    busy = table.throughput > 0
    if not busy.any():
        raise InputError(
            f"{table.path}: column {table.throughput_name}: no throughput above 0",
            hint="name the column of throughput: --throughput COLUMN",
        )
    load, rate = table.load[busy], table.throughput[busy]
    grouped = group(load, rate)
    levels = grouped.levels
    unit = _unit(table.load_name)
    bounds = bounds_of(levels.load, levels.mean)
    law = None if table.response_s is None else little(table.load, table.throughput, table.response_s)
    fits = fit_all(grouped) if len(levels.load) >= 3 else None
    usl, amdahl, line = _laws(fits, levels.load, table.unit) if fits else (None, None, None)
    verdict = _verdict(grouped, fits, usl, line, bounds, unit)
    better: Law = fits.better if fits else "bounds"
    source = fits.source if fits else "none"
    return Scalability(
        table=str(table.path),
        load_name=table.load_name,
        throughput_name=table.throughput_name,
        unit=table.unit,
        rows_read=len(table.load),
        loads=grouped.joined or len(levels.load),
        range_low=float(levels.load[0]),
        range_high=float(levels.load[-1]),
        headline=verdict.headline,
        outcome=verdict.outcome,
        at=verdict.at,
        reasons=verdict.reasons,
        advice=verdict.advice,
        better=better,
        usl=usl,
        amdahl=amdahl,
        broken_line=line,
        compared=fits.compared if fits else (),
        errors=ERRORS[fits.errors] if fits else "not known",
        error_source=source,
        misfit=fits.misfit if fits else None,
        bounds=bounds,
        little=law,
        rows=_rows(table, grouped, fits, law, think_s, at),
        notes=table.notes,
        warnings=tuple(_warnings(table, grouped, fits, law, unit)),
    )


def _unit(name: str) -> str:
    plain = name.strip()[:20]
    return IN_WORDS.get(plain.lower(), plain) or "users"


def _laws(fits: Fits, load: Floats, unit: str) -> tuple[Usl, Amdahl, BrokenLine | None]:
    one = fits.fitted["usl"]
    rate = one.value(lambda p: p.scale, unit)
    peak = one.value(_peak, "load")
    peak = Value(
        _infinite(peak.value), peak.low, None if peak.high is None else _infinite(peak.high), peak.unit
    )
    usl = Usl(
        rate,
        one.value(lambda p: p.first, "fraction"),
        one.value(lambda p: p.second, "per pair"),
        peak,
        one.best.scale / one.first if one.first > 0 else None,
        peak.high is not None and peak.high <= float(load[-1]),
    )
    flat = fits.fitted["amdahl"]
    amdahl = Amdahl(flat.value(lambda p: p.scale, unit), flat.value(lambda p: p.first, "fraction"))
    if "broken-line" not in fits.fitted:
        return usl, amdahl, None
    bent = fits.fitted["broken-line"]
    at = bent.value(lambda p: p.first, "load")
    if bent.regions:
        at = Value(
            at.value,
            0.0 if any(r.at_low for r in bent.regions) else at.low,
            math.inf if any(r.at_high for r in bent.regions) else at.high,
            at.unit,
        )
    return (
        usl,
        amdahl,
        BrokenLine(
            at,
            bent.value(lambda p: p.scale, f"{unit} per load"),
            bent.value(lambda p: p.second, "ratio"),
        ),
    )


def _peak(p: Point) -> Floats:
    """√((1 − σ)/κ); `NO_PEAK` without coherency, 0 where throughput falls from the first on."""
    found = np.sqrt(np.maximum(1 - p.first, 0) / np.maximum(p.second, 1e-30))
    return np.asarray(np.minimum(found, NO_PEAK))


def _infinite(value: float) -> float:
    return math.inf if value >= NO_PEAK * 0.999 else value


def _marginal(fitted: Fitted, last: float) -> Value:
    """X′(N)/λ of the universal scalability law at the greatest load: (1 − σ − κN²)/(1 + …)²."""
    return fitted.value(
        lambda p: np.asarray(
            (1 - p.first - p.second * last**2)
            / np.square(1 + p.first * (last - 1) + p.second * last * (last - 1))
        ),
        "ratio",
    )


def _verdict(
    grouped: Grouped, fits: Fits | None, usl: Usl | None, line: BrokenLine | None, bounds: Bounds, unit: str
) -> Verdict:
    levels = grouped.levels
    low, high, count = float(levels.load[0]), float(levels.load[-1]), len(levels.load)
    grown = float(levels.mean[-1] / levels.mean[0])
    linear = f"{grown / (high / low):.0%} of linear at {high:.3g} {unit}"
    if count == 1:
        return few(count, unit, low, high, f"One load only, {low:.3g} {unit}: bounds, and no curve.")
    if fits is None or usl is None:
        said = f"Two loads only: throughput is {linear}; bounds, and no curve."
        return few(count, unit, low, high, said)
    if not fits.fitted["usl"].regions:
        said = f"Three loads: the law goes through them, and nothing tells how sure it is ({linear})."
        return few(count, unit, low, high, said)
    if line is None:
        said = f"Three loads: values have intervals by repeated rows, a bend cannot be seen ({linear})."
        return few(count, unit, low, high, said)
    line_aicc, law_aicc = fits.aicc("broken-line"), fits.aicc("usl")
    return judge(
        Facts(
            unit,
            low,
            high,
            bounds.rising,
            float(levels.mean.max() / levels.mean[0]),
            bool(levels.mean[-1] < levels.mean[0]),
            fits.better,
            usl,
            _marginal(fits.fitted["usl"], high),
            line,
            None if line_aicc is None or law_aicc is None else line_aicc - law_aicc,
        )
    )


def _rows(
    table: Table,
    grouped: Grouped,
    fits: Fits | None,
    law: Little | None,
    think_s: float | None,
    at: Sequence[float],
) -> tuple[Row, ...]:
    levels = grouped.levels
    shown = levels.load
    if len(shown) > MOST_ROWS:
        shown = shown[np.unique(np.linspace(0, len(shown) - 1, MOST_ROWS).round().astype(int))]
    wanted = sorted({*shown.tolist(), *(float(n) for n in at), *([] if at else [2 * float(levels.load[-1])])})
    think = think_s if think_s is not None else (law.think_s.value if law else None)
    found = []
    for n in wanted:
        own = np.flatnonzero(levels.load == n)
        usl = fits.fitted["usl"].throughput(n, table.unit) if fits else None
        line = (
            fits.fitted["broken-line"].throughput(n, table.unit)
            if fits and "broken-line" in fits.fitted
            else None
        )
        low, high = bound_at(levels.load, levels.mean, n)
        best = line if fits and fits.better == "broken-line" else usl
        response = None
        if table.response_s is not None:
            here = table.response_s[(table.load == n) & np.isfinite(table.response_s)]
            response = float(here.mean()) if len(here) else None
        predicted = None
        if think is not None and best is not None and best.value > 0:
            predicted = max(n / best.value - max(think, 0.0), 0.0)
        found.append(
            Row(
                n,
                int((table.load == n).sum())
                if not grouped.joined
                else (int(levels.rows[own[0]]) if len(own) else 0),
                float(levels.mean[own[0]]) if len(own) else None,
                usl,
                line,
                low,
                high if math.isfinite(high) else None,
                response,
                predicted,
                not levels.load[0] <= n <= levels.load[-1],
            )
        )
    return tuple(found)


def _warnings(table: Table, grouped: Grouped, fits: Fits | None, law: Little | None, unit: str) -> list[str]:
    levels, found = grouped.levels, []
    dead = np.unique(table.load[table.throughput == 0])
    if len(dead):
        found.append(
            f"throughput is 0 at {_some(dead)} {unit}: a collapse or a run that failed; left out of the laws"
        )
    each = levels.mean / levels.load
    if each.max() > SUPERLINEAR * each[0]:
        best = float(levels.load[int(each.argmax())])
        found.append(
            f"throughput per {unit.removesuffix('s')} is {each.max() / each[0]:.2f} times greater at"
            f" {best:.3g} than at {levels.load[0]:.3g}: no law here is more than linear; see"
            " whether the first rows were warmed up"
        )
    if grouped.joined:
        found.append(f"{grouped.joined:,} different loads were joined into {len(levels.load)} levels")
    if grouped.dependent:
        found.append(
            "rows at one load resemble those before them: they do not count as repeated measurements, and"
            " each load's mean is one"
        )
    if fits and fits.misfit is not None and fits.misfit < 0.05:
        found.append(
            f"even the best law misses the loads' means by more than repeated rows differ (chance"
            f" {fits.misfit:.2g}): intervals are by what it misses, and hold no other form of the curve"
        )
    if fits and fits.exact:
        found.append("the rows lie on a law without any error: measured values would scatter")
    if levels.load[-1] < 2 * levels.load[0] and len(levels.load) > 1:
        found.append(
            f"the range of loads is narrow, {levels.load[0]:.3g} to {levels.load[-1]:.3g} {unit}: a"
            " user alone is extrapolated"
        )
    return found + (_by_little(law, unit) if law else [])


def _by_little(law: Little, unit: str) -> list[str]:
    found = []
    if law.impossible:
        found.append(
            f"at {_some(np.array(law.impossible))} {unit} the response is longer than N/X: by Little's law"
            " that cannot be. Units, or not all of the load, or not all that was completed"
        )
    elif law.unseen is not None and law.unseen > 0.5:
        found.append(
            f"{law.unseen:.0%} of the growth of N/X is not in the response: users wait where it is not"
            " measured (the load generator's limit, a connection pool, pacing), or R is no mean"
        )
    return found


def _some(loads: Floats) -> str:
    shown = ", ".join(f"{n:.6g}" for n in loads[:5])
    return shown + (", …" if len(loads) > 5 else "")
