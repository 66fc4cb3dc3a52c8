"""What residuals say against the analysis: no normal distribution, a trend over the runs, unequal spread.

Residuals of a designed experiment are few and depend on each other, so that no table fits them. Each
statistic is held against that of the same design with normal errors, simulated: the chances are exact but
for the number of draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from satline.experiment.variance._model import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]

DRAWS = 1999
MOST_VALUES = 4_000_000
LEAST_FREEDOM = 3


@dataclass(frozen=True)
class Check:
    """One look at the residuals.

    name
        ``normal``, ``run order``, ``spread by FACTOR``.
    statistic
        Correlation with normal scores; correlation with the order; ratio of the largest to the least mean
        square of the levels.
    chance
        Of one so far out where all is well; ``None`` where the design leaves too little to judge by.
    """

    name: str
    statistic: float | None
    chance: float | None
    reason: str = ""


def check_residuals(model: Model, order: NDArray[np.float64] | None) -> list[Check]:
    """All checks that the design allows; a fixed seed, so that the same table says the same."""
    import numpy as np

    layout = model.layout
    if model.error_freedom < LEAST_FREEDOM:
        reason = f"{model.error_freedom} degrees of freedom are too few"
        return [Check("normal", None, None, reason)]
    n = len(model.y)
    draws = max(199, min(DRAWS, MOST_VALUES // n))
    noise = np.random.default_rng(1979).standard_normal((n, draws))
    made = noise - model.basis @ (model.basis.T @ noise)
    seen = model.residuals[:, None]
    checks = [_held("normal", _normal, seen, made, low=True)]
    if order is None:
        checks.append(Check("run order", None, None, "no column numbers the runs"))
    elif len(np.unique(order)) > 2:
        centred = order - order.mean()
        # What blocks and terms already explain of the order is no trend of its own.
        own = centred - model.basis @ (model.basis.T @ centred)
        if float(own @ own) > 1e-9 * float(centred @ centred):
            checks.append(_held("run order", lambda e: np.abs(_correlation(e, own)), seen, made))
    for place, name in enumerate(layout.names):
        codes = layout.codes[:, place]
        groups = [codes == level for level in range(len(layout.levels[place]))]
        least = min(float((made[group] ** 2).mean()) for group in groups)
        if min(int(group.sum()) for group in groups) >= 2 and least > 1e-12:
            checks.append(_held(f"spread by {name}", _spread(groups), seen, made))
    return checks


def _held(
    name: str,
    statistic: Statistic,
    seen: NDArray[np.float64],
    made: NDArray[np.float64],
    *,
    low: bool = False,
) -> Check:
    import numpy as np

    value, null = float(statistic(seen)[0]), statistic(made)
    beyond = int(np.count_nonzero(null <= value if low else null >= value))
    return Check(name, value, (beyond + 1) / (len(null) + 1))


def _normal(e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of ordered residuals with normal scores: of a normal plot, how straight it is."""
    import numpy as np

    normal = NormalDist()
    n = len(e)
    scores = np.array([normal.inv_cdf((i + 0.625) / (n + 0.25)) for i in range(n)])
    return _correlation(np.sort(e, axis=0), scores)


def _correlation(e: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    centred = e - e.mean(axis=0)
    x = x - x.mean()
    size = np.sqrt((centred**2).sum(axis=0) * float(x @ x))
    found: NDArray[np.float64] = (x @ centred) / np.where(size > 0.0, size, 1.0)
    return found


def _spread(groups: list[NDArray[np.bool_]]) -> Statistic:
    def ratio(e: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        squares = np.array([(e[group] ** 2).mean(axis=0) for group in groups])
        found: NDArray[np.float64] = squares.max(axis=0) / np.maximum(squares.min(axis=0), 1e-300)
        return found

    return ratio
