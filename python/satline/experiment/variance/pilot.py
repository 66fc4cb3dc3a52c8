"""Scatter and autocorrelation of observations, from a run or some that are there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satline.errors import InputError
from satline.experiment.variance._power import effective_size
from satline.experiment.variance._table import RUN, numbers_of, read_table, runs_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST = 20
MOST_ALIKE = 0.995


@dataclass(frozen=True)
class Pilot:
    """Of observations within runs, in the order of their rows.

    deviation
        Their standard deviation.
    correlation
        Of successive ones.
    """

    observations: int
    runs: int
    deviation: float
    correlation: float


def pilot(path: Path, response: str, run: str | None = None) -> Pilot:
    """Read a table of observations at equal intervals, in their order.

    Raises
    ------
    InputError
        No such table or column, fewer than 20 observations in a run, or no scatter.
    """
    import numpy as np

    table = read_table(path)
    y = numbers_of(table, response, path)
    run = run or (RUN if RUN in table.column_names else None)
    which = np.zeros(len(y), dtype=np.int64) if run is None else runs_of(table, run, path)
    parts = [y[(which == one) & np.isfinite(y)] for one in np.unique(which[which >= 0])]
    shortest = min((len(part) for part in parts), default=0)
    if shortest < LEAST:
        raise InputError(
            f"{path}: a run has {shortest} observations of {response}; {LEAST} are needed",
            hint="a pilot's rows are observations at equal intervals",
        )
    try:
        return of_series(parts)
    except ValueError as error:
        raise InputError(f"{path}: {response}: {error}", hint="name another column, or run longer") from None


def of_series(parts: list[NDArray[np.float64]]) -> Pilot:
    """Pooled over the runs.

    The correlation φ̂ = Σ e_t e_{t+1} / Σ e_t² falls short by (1 + 3φ)/n [Kendall 1954], the variance by what
    the run's own mean takes, 1 − 1/n_effective: both are given back.

    Raises
    ------
    ValueError
        No scatter, or observations so alike that the runs are too short to tell.
    """
    squares = products = 0.0
    for part in parts:
        e = part - part.mean()
        squares += float(e @ e)
        products += float(e[1:] @ e[:-1])
    n = sum(len(part) for part in parts)
    if not squares > 0.0:
        raise ValueError("all observations of a run are alike")
    each = n / len(parts)
    phi = (products / squares + 1.0 / each) / (1.0 - 3.0 / each)
    if phi > MOST_ALIKE:
        raise ValueError("observations resemble each other so long that the runs are too short to tell")
    phi = max(phi, -MOST_ALIKE)
    worth = effective_size(int(each), phi)
    if worth < 2.0:
        raise ValueError("a run is worth fewer than two independent observations")
    return Pilot(n, len(parts), (squares / (n * (1.0 - 1.0 / worth))) ** 0.5, phi)
