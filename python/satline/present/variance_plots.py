"""Plots of an analysis: level means, interactions, half-normal plot, residuals."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from satline.experiment.variance import Analysis
from satline.present._escape import visible
from satline.present._numbers import number
from satline.present._plot import MOST_LINES, Line, Mark, Plot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LABELLED = MOST_LINES - 1
MOST_PAIRS = 20


def plots(found: Analysis, response: str) -> list[Plot]:
    """All that the analysis has."""
    made = [_means(found, response), *_interactions(found, response)]
    if len(found.contrasts) > 2 and all(len(one) == 2 for one in found.layout.levels):
        made.append(_half_normal(found))
    if found.model.error_freedom > 0 and found.model.error_squares > 0.0:
        made.append(_residuals(found, response))
    return made


def _mark(x: float, y: float | None, title: str, low: float | None = None, high: float | None = None) -> Mark:
    shown = "–" if y is None else number(y, digits=4)
    return Mark(x, y, low, high, shown, visible(f"{title}: {shown}"))


def _back(value: float | None, log: bool) -> float | None:
    return math.exp(value) if log and value is not None else value


def _means(found: Analysis, response: str) -> Plot:
    names, marks = [], []
    for place, one in enumerate(found.means):
        name = visible(f"{one.factor} {one.level}", longest=40)
        names.append(name)
        y, low, high = (_back(end, found.log) for end in (one.value, one.low, one.high))
        marks.append(_mark(place, y, name, low, high))
    notes = ["Fitted means; bars: intervals of each mean by itself."] if found.lenth is None else []
    return Plot(
        "means",
        "Mean at each level",
        "bars",
        "level",
        visible(response),
        (Line("mean", tuple(marks)),),
        x_type="name",
        names=tuple(names),
        notes=tuple(notes),
    )


def _interactions(found: Analysis, response: str) -> list[Plot]:
    layout, made = found.layout, []
    pairs = [t for t in found.terms if len(t) == 2] or list(
        itertools.combinations(range(len(layout.names)), 2)
    )
    for a, b in pairs[:MOST_PAIRS]:
        if len(layout.levels[b]) > MOST_LINES:
            a, b = b, a
        if len(layout.levels[b]) > MOST_LINES:
            continue
        xs, key = _places(layout.levels[a])
        lines = []
        for j, level in enumerate(layout.levels[b]):
            marks = []
            for i, x in enumerate(xs):
                one = found.model.combination(found.model.cell_row({a: i, b: j}))
                value = _back(None if one is None else one.value, found.log)
                marks.append(
                    _mark(x, value, f"{layout.names[a]} {layout.levels[a][i]}, {layout.names[b]} {level}")
                )
            lines.append(Line(visible(f"{layout.names[b]} {level}", longest=40), tuple(marks), j))
        pad = 0.05 * (max(xs) - min(xs))
        made.append(
            Plot(
                f"interaction-{a + 1}-{b + 1}",
                visible(f"{layout.names[a]} × {layout.names[b]}", longest=60),
                "lines",
                visible(layout.names[a]),
                visible(response),
                tuple(lines),
                notes=(*key, "Fitted means; lines that are not parallel interact."),
                span=(min(xs) - pad, max(xs) + pad),
            )
        )
    return made


def _places(levels: tuple[str, ...]) -> tuple[list[float], tuple[str, ...]]:
    """Numbers stand where they are; names one after the other, with a key."""
    try:
        found = [float(level) for level in levels]
        if all(math.isfinite(x) for x in found):
            return found, ()
    except ValueError:
        pass
    key = "; ".join(f"{i} {visible(level)}" for i, level in enumerate(levels, 1))
    return [float(i) for i in range(1, len(levels) + 1)], (key,)


def _half_normal(found: Analysis) -> Plot:
    """|effect| against half-normal scores: noise lies on a line through 0 [Daniel 1959]."""
    from statistics import NormalDist

    effects = sorted((abs(c.value), c.source) for c in found.contrasts if c.value is not None)
    m, normal = len(effects), NormalDist()
    scores = [normal.inv_cdf(0.5 + (rank + 0.5) / (2.0 * m)) for rank in range(m)]
    points = [
        (source, _mark(score, size, source)) for score, (size, source) in zip(scores, effects, strict=True)
    ]
    rest, named = points[:-_LABELLED], points[-_LABELLED:]
    lines = [
        Line(visible(source, longest=60), (mark,), slot)
        for slot, (source, mark) in enumerate(reversed(named))
    ]
    if rest:
        lines.append(Line("others", tuple(mark for _, mark in rest), _LABELLED))
    last = scores[-1] * 1.05
    # A plot with a straight line through it has no lines between its points.
    if found.lenth is not None:
        slope, notes = found.lenth.pseudo_error, ["The line is Lenth's pseudo standard error."]
    else:
        slope = sorted(size for size, _ in effects)[m // 2] / 0.6745
        notes = ["The line is through the median effect."]
    return Plot(
        "half-normal",
        "Half-normal plot of the effects",
        "lines",
        "half-normal score",
        "size of the effect" + (", logarithm" if found.log else ""),
        tuple(lines),
        hinge=((0.0, 0.0), (last, slope * last)),
        notes=tuple(notes),
        span=(0.0, last),
    )


def _residuals(found: Analysis, response: str) -> Plot:
    fitted = found.model.y - found.model.residuals
    marks = [
        _mark(x, y, f"fitted {number(x, digits=4)}")
        for x, y in zip(_floats(fitted), _floats(found.model.residuals), strict=True)
    ]
    low, high = min(m.x for m in marks), max(m.x for m in marks)
    pad = 0.05 * (high - low) or 1.0
    return Plot(
        "residuals",
        "Residuals against fitted values",
        "lines",
        visible(f"fitted {response}") + (", logarithm" if found.log else ""),
        "residual",
        (Line("residual", tuple(marks)),),
        hinge=((low - pad, 0.0), (high + pad, 0.0)),
        span=(low - pad, high + pad),
    )


def _floats(values: ArrayLike) -> list[float]:
    import numpy as np

    return [float(x) for x in np.asarray(values)]
