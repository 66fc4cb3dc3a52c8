"""Terms of a linear model of factors, and the columns that stand for them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Term = tuple[int, ...]
SMALL = 1e-8  # of a column's length: what is left of rounding


@dataclass(frozen=True)
class Layout:
    """Which cell each run was of.

    names, levels
        Of the factors.
    codes
        Runs × factors: the number of the level.
    block
        Number of the block of each run, from 0; ``None`` without blocks.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]
    block: NDArray[np.int64] | None = None

    @property
    def two_level(self) -> bool:
        """Every factor has two levels."""
        return all(len(one) == 2 for one in self.levels)

    def words(self, term: Term) -> str:
        """As tables name it."""
        return " × ".join(self.names[i] for i in term) or "mean"


def all_terms(factors: int, highest: int | None = None) -> list[Term]:
    """Main effects, then interactions of two, and so on, up to `highest` factors."""
    most = factors if highest is None else min(highest, factors)
    return [c for n in range(1, most + 1) for c in itertools.combinations(range(factors), n)]


def contrasts(levels: int) -> NDArray[np.float64]:
    """Levels × (levels − 1), columns of sum 0: −1 for the first level, 1 for the column's own."""
    import numpy as np

    made = np.zeros((levels, levels - 1))
    made[0] = -1.0
    made[1:] = np.eye(levels - 1)
    return made


def columns(layout: Layout, term: Term) -> NDArray[np.float64]:
    """The columns of a term: products of those of its factors."""
    import numpy as np

    made = np.ones((len(layout.codes), 1))
    for factor in term:
        own = contrasts(len(layout.levels[factor]))[layout.codes[:, factor]]
        made = (made[:, :, None] * own[:, None, :]).reshape(len(made), -1)
    return made


def block_columns(layout: Layout) -> NDArray[np.float64]:
    """The columns of the blocks; none without blocks."""
    import numpy as np

    if layout.block is None:
        return np.zeros((len(layout.codes), 0))
    return contrasts(int(layout.block.max()) + 1)[layout.block]


@dataclass(frozen=True)
class Estimable:
    """Which terms the runs can tell.

    kept
        Terms of the model.
    lost
        Term → degrees of freedom that missing cells take from it.
    aliased
        Term that is left out → the term of the model that is the same but for its sign, or ``None`` for
        the blocks or several together.
    """

    kept: tuple[Term, ...]
    lost: dict[Term, int]
    aliased: dict[Term, Term | None]


def estimable(layout: Layout, terms: Sequence[Term]) -> Estimable:
    """Go through the terms in order; what those before it, or the blocks, say already is left out."""
    import numpy as np

    basis = orthonormal(np.hstack([np.ones((len(layout.codes), 1)), block_columns(layout)]))
    kept: list[Term] = []
    lost: dict[Term, int] = {}
    aliased: dict[Term, Term | None] = {}
    single: list[tuple[Term, NDArray[np.float64]]] = []
    for term in terms:
        x = columns(layout, term)
        own = orthonormal(x - basis @ (basis.T @ x), scale=float(np.sqrt((x**2).sum(axis=0).max())))
        if own.shape[1] == 0:
            same = (t for t, c in single if x.shape[1] == 1 and np.all(np.abs(c) == np.abs(x[:, 0])))
            aliased[term] = next((t for t in same if _parallel(columns(layout, t)[:, 0], x[:, 0])), None)
            continue
        if own.shape[1] < x.shape[1]:
            lost[term] = x.shape[1] - own.shape[1]
        kept.append(term)
        if x.shape[1] == 1:
            single.append((term, x[:, 0]))
        basis = np.hstack([basis, own])
    return Estimable(tuple(kept), lost, aliased)


def _parallel(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool(abs(abs(a @ b) - float((a @ a) ** 0.5 * (b @ b) ** 0.5)) < SMALL * len(a))


def orthonormal(x: NDArray[np.float64], scale: float | None = None) -> NDArray[np.float64]:
    """A basis of the columns of x; columns shorter than `SMALL` of `scale` count as 0."""
    import numpy as np

    if x.shape[1] == 0:
        return x
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    largest = float(s[0]) if scale is None else scale
    found: NDArray[np.float64] = u[:, s > SMALL * max(largest, 1e-300)]
    return found
