"""Least squares of a linear model of factors: sums of squares of types II and III, effects, level means.

On numpy's decompositions, not statsmodels: its tables of variance are for models of full rank, and it brings
pandas and patsy. Which terms a fraction or missing cells alias, and which means and contrasts the runs can
tell, would have to be found here all the same; once they are, a sum of squares is one projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from satline.experiment.variance._coding import (
    SMALL,
    Layout,
    Term,
    block_columns,
    columns,
    contrasts,
    orthonormal,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["II", "III"]


@dataclass(frozen=True)
class Linear:
    """A linear combination of the model's coefficients; ``error_factor`` times the residual standard
    deviation is its standard error."""

    value: float
    error_factor: float


class Model:
    """y = mean + block + Σ terms + error, by least squares.

    Parameters
    ----------
    terms
        Of the model, such that each is estimable at least in part.
    y
        The response of each run.
    """

    def __init__(self, layout: Layout, terms: Sequence[Term], y: NDArray[np.float64]) -> None:
        import numpy as np

        self.layout, self.terms, self.y = layout, tuple(terms), y
        self.mean_columns = np.ones((len(y), 1))
        self.blocks = block_columns(layout)
        self.columns = {term: columns(layout, term) for term in self.terms}

    @cached_property
    def x(self) -> NDArray[np.float64]:
        """All columns: mean, blocks, terms in their order."""
        import numpy as np

        return np.hstack([self.mean_columns, self.blocks, *(self.columns[t] for t in self.terms)])

    @cached_property
    def basis(self) -> NDArray[np.float64]:
        """Orthonormal columns of what the model can say."""
        return orthonormal(self.x)

    @cached_property
    def residuals(self) -> NDArray[np.float64]:
        """What the model leaves."""
        left: NDArray[np.float64] = self.y - self.basis @ (self.basis.T @ self.y)
        return left

    @property
    def error_freedom(self) -> int:
        """Degrees of freedom left for the error."""
        return len(self.y) - int(self.basis.shape[1])

    @property
    def error_squares(self) -> float:
        """Sum of squares of the error; what is only rounding is 0."""
        squares = float(self.residuals @ self.residuals)
        centred = self.y - self.y.mean()
        return squares if squares > 1e-20 * float(self.y @ self.y) + 1e-24 * float(centred @ centred) else 0.0

    @cached_property
    def orthogonal(self) -> bool:
        """The columns of each term are at right angles to those of every other: nothing is to be adjusted."""
        import numpy as np

        parts = [self.mean_columns, self.blocks, *(self.columns[t] for t in self.terms)]
        group = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        products = np.abs(self.x.T @ self.x)
        return bool((products[group[:, None] != group[None, :]] < SMALL * len(self.y)).all())

    def squares(self, term: Term, kind: Kind) -> tuple[float, int]:
        """Sum of squares of a term and its degrees of freedom.

        Type II: what it adds to the model of all terms that do not hold it. Type III: what it adds to the
        model of all other terms, columns of sum 0.
        """
        if self.orthogonal:
            return self._added([], self.columns[term])
        own = set(term)
        others = [t for t in self.terms if t != term and not (kind == "II" and own < set(t))]
        return self._added([self.columns[t] for t in others], self.columns[term])

    def block_squares(self) -> tuple[float, int]:
        """Of the blocks, beyond the mean."""
        return self._added([], self.blocks, with_blocks=False)

    def _added(
        self, others: list[NDArray[np.float64]], own: NDArray[np.float64], *, with_blocks: bool = True
    ) -> tuple[float, int]:
        import numpy as np

        before = orthonormal(np.hstack([self.mean_columns, *([self.blocks] if with_blocks else []), *others]))
        scale = float(np.sqrt((own**2).sum(axis=0).max()))
        beyond = orthonormal(own - before @ (before.T @ own), scale=scale)
        parts = beyond.T @ self.y
        return float(parts @ parts), int(beyond.shape[1])

    def without_holders(self, term: Term) -> Model:
        """The model of all terms that do not hold `term`: what type II compares."""
        left = tuple(t for t in self.terms if not set(term) < set(t))
        if self.orthogonal or left == self.terms:  # nothing would change
            return self
        return Model(self.layout, left, self.y)

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        import numpy as np

        return np.asarray(np.linalg.pinv(self.x, rcond=SMALL), dtype=np.float64)

    def combination(self, row: NDArray[np.float64]) -> Linear | None:
        """row · coefficients; ``None`` where the runs do not tell it."""
        import numpy as np

        weights = row @ self._inverse
        if np.abs(weights @ self.x - row).max() > 1e-6 * max(1.0, float(np.abs(row).max())):
            return None
        value, factor = float(weights @ self.y), float(np.sqrt(weights @ weights))
        rounding = 1e-13 * factor * float(np.sqrt(self.y @ self.y))
        return Linear(value if abs(value) > rounding else 0.0, factor)

    def cell_row(self, levels: dict[int, int]) -> NDArray[np.float64]:
        """The mean over all cells with these levels, each cell counting once: factors not named drop out,
        as their columns have sum 0."""
        import numpy as np

        parts = [np.ones(1), np.zeros(self.blocks.shape[1])]
        for term in self.terms:
            made = np.ones(1)
            for factor in term:
                count = len(self.layout.levels[factor])
                code = contrasts(count)[levels[factor]] if factor in levels else np.zeros(count - 1)
                made = (made[:, None] * code[None, :]).ravel()
            parts.append(made)
        return np.hstack(parts)

    def effect_row(self, term: Term) -> NDArray[np.float64]:
        """Of a term of two-level factors: twice its coefficient, mean at + less mean at −."""
        import numpy as np

        parts = [np.zeros(1), np.zeros(self.blocks.shape[1])]
        parts += [np.full(self.columns[t].shape[1], 2.0 if t == term else 0.0) for t in self.terms]
        return np.hstack(parts)
