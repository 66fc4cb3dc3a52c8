"""Which cell of a designed experiment gets the next replicate: where an effect is undecided.

Effects are contrasts of the cells' means: Σ c_i m_i. After each round of replicates every undecided effect is
tested against 0, and against the smallest effect that matters. All tests of an effect together err with a
chance of at most `level`: each look at t = runs so far ÷ the most runs spends α(t) − α(before) of it, where

    α(t) = 2 − 2 Φ(z / √t), z the normal quantile of level/2

[Lan and DeMets, Biometrika 70 (1983) 659], little at first. What each look spends is added up (the union
bound), which holds for any dependence between looks: no later look errs more than it says. The variance is
pooled over cells, so that Student's t has the degrees of freedom of all replicates. Own: neither scipy nor
statsmodels has sequential designs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from satline.errors import SatlineError
from satline.stats import f_quantile

State = Literal["there", "negligible", "undecided"]


@dataclass(frozen=True)
class Effect:
    """An effect after so many runs: its size with the interval of this look (at the level that the look
    spends), and what is decided: it is there, it is surely smaller than what matters, or neither."""

    name: str
    value: float
    low: float
    high: float
    state: State


@dataclass(frozen=True)
class Replicate:
    """What to run next. cell: its number, ``None``: stop; spent: part of the level that all looks so far
    spent, which the next call is given back."""

    cell: int | None
    why: str
    effects: tuple[Effect, ...]
    spent: float


def spending(part: float, level: float) -> float:
    """α(t): how much of the error may have been spent at this part of the most runs."""
    if part <= 0:
        return 0.0
    normal = NormalDist()
    return 2 - 2 * normal.cdf(normal.inv_cdf(1 - level / 2) / math.sqrt(min(1.0, part)))


def next_replicate(
    cells: Sequence[Sequence[float]],
    contrasts: Mapping[str, Sequence[float]],
    *,
    smallest: float,
    most_runs: int,
    level: float = 0.05,
    spent: float = 0.0,
    decided: Mapping[str, State] | None = None,
) -> Replicate:
    """The cell whose next replicate narrows the undecided effects most.

    Parameters
    ----------
    cells
        Observations of each cell; every cell has at least one.
    contrasts
        Coefficients of each effect, one a cell; they add up to 0.
    smallest
        The smallest effect that matters, in the unit of the observations.
    most_runs
        Runs after which it stops in every case.
    spent
        As the `Replicate` of the look before has it.
    decided
        Effects that earlier looks decided: they stay so.

    Raises
    ------
    SatlineError
        A cell without an observation, or coefficients that are not those of a contrast.
    """
    counts = np.array([len(c) for c in cells])
    if not counts.all():
        raise SatlineError("a cell has no observation", hint="run each cell once before asking for more")
    means = np.array([float(np.mean(c)) for c in cells])
    runs, freedom = int(counts.sum()), int((counts - 1).sum())
    rows = {name: np.asarray(c, dtype=np.float64) for name, c in contrasts.items()}
    for name, row in rows.items():
        if row.shape != means.shape or abs(row.sum()) > 1e-9 * np.abs(row).sum() or not row.any():
            raise SatlineError(
                f"the coefficients of {name} are not those of a contrast",
                hint="one for each cell, adding up to 0",
            )
    before = dict(decided or {})
    if freedom < 1:
        cell = int(np.argmin(counts))
        unknown = tuple(
            Effect(n, float(r @ means), -math.inf, math.inf, before.get(n, "undecided"))
            for n, r in rows.items()
        )
        return Replicate(cell, "a second replicate first: nothing tells the error yet", unknown, spent)
    variance = sum(float(np.var(c, ddof=1)) * (len(c) - 1) for c in cells if len(c) > 1) / freedom
    allowed = max(spending(runs / most_runs, level), spent)
    now = allowed - spent
    effects, open_ones = [], []
    for name, row in rows.items():
        value = float(row @ means)
        error = math.sqrt(variance * float((row**2 / counts).sum()))
        factor = math.sqrt(f_quantile(now, 1, freedom)) if now > 1e-12 else math.inf
        low, high = value - factor * error, value + factor * error
        state: State = before.get(name, "undecided")
        if state == "undecided" and (low > 0 or high < 0):
            state = "there"
        elif state == "undecided" and -smallest < low and high < smallest:
            state = "negligible"
        effects.append(Effect(name, value, low, high, state))
        if state == "undecided":
            open_ones.append((name, row))
    if not open_ones:
        return Replicate(None, "every effect is decided", tuple(effects), allowed)
    if runs >= most_runs:
        return Replicate(None, f"the {most_runs} runs are done", tuple(effects), allowed)
    # by how much one more replicate lowers the variance of each undecided effect, relative to it
    gain = np.zeros(len(means))
    for _, row in open_ones:
        share = row**2 / counts
        gain += row**2 / (counts * (counts + 1)) / float(share.sum())
    cell = int(np.argmax(gain))
    names = ", ".join(n for n, _ in open_ones)
    return Replicate(cell, f"narrows what is undecided most: {names}", tuple(effects), allowed)
