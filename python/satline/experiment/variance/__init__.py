"""Analysis of variance of designed experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satline.errors import InputError
from satline.experiment.variance._checks import Check, check_residuals
from satline.experiment.variance._coding import Layout, Term, all_terms, estimable
from satline.experiment.variance._lenth import LEAST, Lenth, lenth
from satline.experiment.variance._model import Kind, Linear, Model
from satline.experiment.variance._power import (
    Needed,
    effective_size,
    observations_needed,
    power_of_factor,
    replicates_needed,
    smallest_seen,
    terms_of_two,
    window_variance,
)
from satline.experiment.variance._table import Results, per_run, read_table, split_by
from satline.experiment.variance._yates import YatesRow, yates
from satline.stats import f_tail, holm, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Analysis",
    "Check",
    "Contrast",
    "Layout",
    "Lenth",
    "LevelMean",
    "Needed",
    "Results",
    "Row",
    "YatesRow",
    "all_terms",
    "analyse",
    "effective_size",
    "estimable",
    "lenth",
    "mean_squares",
    "observations_needed",
    "per_run",
    "power_of_factor",
    "read_table",
    "replicates_needed",
    "split_by",
    "terms_of_two",
    "window_variance",
    "yates",
]

MOST_TERMS = 1100


@dataclass(frozen=True)
class Row:
    """A line of the table of variance.

    f, chance, adjusted
        F ratio, its significance, and the same kept for all terms together (Holm or Bonferroni). ``None``
        for the error and its parts, and where there is no error to hold it against.
    """

    source: str
    squares: float
    freedom: int
    f: float | None = None
    chance: float | None = None
    adjusted: float | None = None

    @property
    def mean_square(self) -> float | None:
        """squares / freedom."""
        return self.squares / self.freedom if self.freedom else None


@dataclass(frozen=True)
class Contrast:
    """A difference with its interval, in the response or its logarithm.

    value
        Mean at the second of `between` less mean at the first, in the model that the type of sums of squares
        compares: of type II, the one without interactions of that factor; of an interaction, half the
        difference of two such differences. ``None``: the runs do not tell it.
    low, high
        Ends of an interval that holds for all contrasts together, unless no adjustment was asked for.
    """

    source: str
    between: tuple[str, str] | None
    value: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class LevelMean:
    """Mean response at one level, each cell counting once; ``None`` where the runs do not tell it."""

    factor: str
    level: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Analysis:
    """What an experiment says.

    rows
        Blocks, terms, error, total; below the error what it is made of.
    seen
        The smallest difference of two-level effects that such an experiment sees four times in five.
    """

    layout: Layout
    terms: tuple[Term, ...]
    rows: tuple[Row, ...]
    error_parts: tuple[Row, ...]
    contrasts: tuple[Contrast, ...]
    means: tuple[LevelMean, ...]
    kind: Kind
    level: float
    adjust: str
    log: bool
    pooled_from: int | None
    yates: tuple[YatesRow, ...]
    lenth: Lenth | None
    checks: tuple[Check, ...]
    seen: float | None
    aliases: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    model: Model


def mean_squares(parts: list[tuple[str, float, int]], error: tuple[float, int]) -> list[Row]:
    """Rows of sums of squares and degrees of freedom: MS = SS/df, F = MS/MS of the error, P(F′ > F)."""
    below = error[0] / error[1]
    made = []
    for source, squares, freedom in parts:
        f = squares / freedom / below if below > 0.0 else math.inf
        chance = f_tail(f, freedom, error[1]) if math.isfinite(f) else 0.0
        made.append(Row(source, squares, freedom, f, chance))
    return made


def analyse(
    layout: Layout,
    y: NDArray[np.float64],
    *,
    pool: int | None = None,
    kind: Kind = "II",
    by_lenth: bool = False,
    log: bool = False,
    adjust: str = "holm",
    level: float = 0.05,
    order: NDArray[np.float64] | None = None,
    check: bool = True,
) -> Analysis:
    """Analyse the runs.

    Parameters
    ----------
    y
        The response of each run, already its logarithm if `log`.
    pool
        Interactions of so many factors or more are the error, as declared.
    by_lenth
        Judge effects by Lenth's method; needs no error.
    level
        Chance of a false finding.
    check
        Look at the residuals, which takes most of the time.

    Raises
    ------
    InputError
        No degrees of freedom for the error, a main effect that cannot be told, type III with missing cells.
    """
    factors = len(layout.names)
    highest = factors if pool is None else max(pool - 1, 0)
    if pool is not None and not 2 <= pool <= factors:
        raise InputError(f"--pool {pool}: there are {factors} factors", hint="2 pools every interaction")
    wanted = all_terms(factors, highest)
    if len(wanted) > MOST_TERMS:
        raise InputError(f"{len(wanted)} terms; at most {MOST_TERMS}", hint="pool high orders: --pool 3")
    found = estimable(layout, wanted)
    notes = _lost(layout, found.aliased, found.lost, kind)
    model = Model(layout, found.kept, y)
    if by_lenth and not layout.two_level:
        raise InputError("Lenth's method is for factors at two levels", hint="pool high orders: --pool 2")
    has_error = model.error_freedom > 0
    if not has_error and not by_lenth:
        raise InputError(
            f"the model has as many terms as there are runs ({len(y)}): nothing is left for the error",
            hint=_way_out(layout),
        )
    parts = [(layout.words(term), *model.squares(term, kind)) for term in found.kept]
    if layout.block is not None:
        parts.insert(0, ("blocks", *model.block_squares()))
    error = (model.error_squares, model.error_freedom)
    if has_error and not by_lenth:
        rows = _adjusted(mean_squares(parts, error), adjust, skip=layout.block is not None)
    else:
        rows = [Row(*part) for part in parts]
    centred = y - y.mean()
    total = Row("total", float(centred @ centred), len(y) - 1)
    deviation = math.sqrt(error[0] / error[1]) if has_error and not by_lenth else None
    found_contrasts = _contrasts(model, kind, deviation, adjust, level)
    chosen = None
    if by_lenth:
        values = [c.value for c in found_contrasts]
        if len(values) < LEAST or any(v is None for v in values):
            raise InputError(
                f"{len(values)} effects: Lenth's method needs {LEAST}",
                hint="pool instead: --pool 2, or replicate",
            )
        try:
            chosen = lenth([v for v in values if v is not None], level)
        except ValueError as fault:
            raise InputError(f"Lenth's method: {fault}", hint="look at the responses") from None
    parts_of_error, pooled_note = _error_parts(model, pool) if has_error else ((), "")
    notes += [pooled_note] if pooled_note else []
    if has_error and error[0] == 0.0:
        notes.append("the model fits every run exactly: there is no scatter to judge by")
    seen = None
    two = [c for c in found_contrasts if c.error is not None]
    if two and error[0] > 0.0 and not by_lenth:
        each = level / (1 if adjust == "none" else len(two))
        seen = smallest_seen(max(c.error or 0.0 for c in two), error[1], each)
    return Analysis(
        layout,
        found.kept,
        (*rows, *([Row("error", *error)] if has_error else []), total),
        parts_of_error,
        tuple(found_contrasts),
        tuple(_means(model, kind, deviation, level)),
        kind,
        level,
        adjust,
        log,
        pool,
        tuple(_yates_rows(layout, y)),
        chosen,
        tuple(check_residuals(model, order) if check and has_error and error[0] > 0.0 else ()),
        seen,
        tuple((layout.words(t), layout.words(s)) for t, s in found.aliased.items() if s is not None),
        tuple(notes),
        model,
    )


def _way_out(layout: Layout) -> str:
    """What would leave something for the error with the least given up."""
    factors = len(layout.names)
    ways = []
    for pool in range(factors, 1, -1):
        kept = estimable(layout, all_terms(factors, pool - 1)).kept
        if Model(layout, kept, layout.codes[:, 0].astype(float)).error_freedom > 0:
            ways = [f"--pool {pool} takes interactions of {pool} factors or more as the error"]
            break
    ways += ["--lenth judges by the effects themselves"] if layout.two_level and factors > 2 else []
    return "; ".join([*ways, "or replicate the runs" if ways else "replicate the runs"])


def _lost(layout: Layout, aliased: dict[Term, Term | None], lost: dict[Term, int], kind: Kind) -> list[str]:
    notes = []
    for term, same in aliased.items():
        if len(term) == 1:
            what = "the blocks or other factors" if same is None else layout.words(same)
            raise InputError(
                f"the effect of {layout.words(term)} cannot be told from {what} by these runs",
                hint="leave one of them out of --factors, or run more cells",
            )
    untold = [layout.words(term) for term, same in aliased.items() if same is None]
    if untold:
        notes.append(f"not estimable by these runs, and left out: {', '.join(untold)}")
    for term, count in lost.items():
        if len(term) == 1:
            raise InputError(
                f"not all levels of {layout.words(term)} can be told apart by these runs",
                hint="run cells that join them, or leave the factor out",
            )
        notes.append(f"missing cells take {count} of the degrees of freedom of {layout.words(term)}")
    if (lost or untold) and kind == "III":
        raise InputError(
            "type III asks about cells that were not run: " + "; ".join(notes),
            hint="use --type II, or pool the interactions that lack cells",
        )
    return notes


def _adjusted(rows: list[Row], adjust: str, skip: bool) -> list[Row]:
    """Significances kept for all terms together; blocks are no finding."""
    from dataclasses import replace

    first, rest = (rows[:1], rows[1:]) if skip else ([], rows)
    chances = [row.chance if row.chance is not None else 1.0 for row in rest]
    if adjust == "holm":
        chances = holm(chances)
    elif adjust == "bonferroni":
        chances = [min(1.0, len(chances) * p) for p in chances]
    return [*first, *(replace(row, adjusted=p) for row, p in zip(rest, chances, strict=True))]


def _asked(model: Model, term: Term, kind: Kind) -> Model:
    """The model in which the effect of a term is what its sum of squares is of."""
    return model.without_holders(term) if kind == "II" else model


def _contrasts(
    model: Model, kind: Kind, deviation: float | None, adjust: str, level: float
) -> list[Contrast]:
    """Each level against the first, and interactions of two-level factors."""
    layout = model.layout
    found: list[tuple[str, tuple[str, str] | None, Linear | None]] = []
    for term in model.terms:
        if len(term) == 1:
            (factor,) = term
            own = _asked(model, term, kind)
            base = own.cell_row({factor: 0})
            for place, name in enumerate(layout.levels[factor][1:], 1):
                row = own.cell_row({factor: place}) - base
                found.append((layout.words(term), (layout.levels[factor][0], name), own.combination(row)))
        elif all(len(layout.levels[factor]) == 2 for factor in term):
            own = _asked(model, term, kind)
            found.append((layout.words(term), None, own.combination(own.effect_row(term))))
    together = 1 if adjust == "none" else max(1, sum(one is not None for *_, one in found))
    t = t_quantile(1.0 - level / together, model.error_freedom) if deviation is not None else 0.0
    made = []
    for source, between, one in found:
        if one is None or deviation is None:
            made.append(Contrast(source, between, None if one is None else one.value))
            continue
        error = one.error_factor * deviation
        made.append(Contrast(source, between, one.value, error, one.value - t * error, one.value + t * error))
    return made


def _means(model: Model, kind: Kind, deviation: float | None, level: float) -> list[LevelMean]:
    layout, made = model.layout, []
    for factor, levels in enumerate(layout.levels):
        own = _asked(model, (factor,), kind)
        for place, name in enumerate(levels):
            one = own.combination(own.cell_row({factor: place}))
            if one is None or deviation is None:
                value = None if one is None else one.value
                made.append(LevelMean(layout.names[factor], name, value))
                continue
            half = t_quantile(1.0 - level, model.error_freedom) * one.error_factor * deviation
            made.append(LevelMean(layout.names[factor], name, one.value, one.value - half, one.value + half))
    return made


def _error_parts(model: Model, pool: int | None) -> tuple[tuple[Row, ...], str]:
    """The error's two sources where it has both: replicates of cells, and what was pooled."""
    import numpy as np

    layout = model.layout
    keys = layout.codes if layout.block is None else np.column_stack([layout.codes, layout.block])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.bincount(group)
    means = np.bincount(group, weights=model.y) / counts
    within = model.y - means[group]
    pure, freedom = float(within @ within), len(model.y) - len(counts)
    rest = model.error_freedom - freedom
    if freedom < 1 or rest < 1:
        return (), ""
    squares = max(model.error_squares - pure, 0.0)
    what = "pooled interactions" if pool is not None else "cells and blocks"
    below = pure / freedom
    f = squares / rest / below if below > 0.0 else math.inf
    chance = f_tail(f, rest, freedom) if math.isfinite(f) else 0.0
    parts = (Row(what, squares, rest, f, chance), Row("replicates", pure, freedom))
    doubt = chance < 0.05 and squares > 0.0
    return parts, f"{what} scatter more than replicates do: some are real (see error)" if doubt else ""


def _yates_rows(layout: Layout, y: NDArray[np.float64]) -> list[YatesRow]:
    """Yates' table of a whole 2^k with as many replicates in each cell; none otherwise."""
    import numpy as np

    if not layout.two_level or len(layout.names) > 12:
        return []
    place = (layout.codes * (1 << np.arange(len(layout.names)))).sum(axis=1)
    counts = np.bincount(place, minlength=1 << len(layout.names))
    if counts.min() != counts.max():
        return []
    return yates([float(x) for x in np.bincount(place, weights=y)], int(counts[0]))
