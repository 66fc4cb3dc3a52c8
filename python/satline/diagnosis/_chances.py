"""How likely each upgrade is to serve, when its gain is known with an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# An upgrade serves that brings so much of what the best one would: who buys it has not bought the wrong
# one. Of 0.6 to 0.9, set on pairs 4000-4299 of benches/confusion.
SERVES = 0.7
DRAWS = 4000
_SEED = 4000


class Chances:
    """Chances over the upgrades' gains, with errors that are normal.

    errors
        Standard errors of the gains.
    together
        Correlation of the errors of two upgrades; of others 0. No upgrade is in two of these pairs.
    """

    def __init__(
        self,
        gains: Mapping[str, float],
        errors: Mapping[str, float],
        together: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.errors = dict(errors)
        self._kinds = list(gains)
        mean = np.array([gains[k] for k in self._kinds])
        spread = np.array([errors[k] for k in self._kinds])
        normal = np.random.default_rng(_SEED).standard_normal((DRAWS, len(mean)))
        for (one, other), part in (together or {}).items():
            if one in gains and other in gains:
                i, j = self._kinds.index(one), self._kinds.index(other)
                normal[:, j] = part * normal[:, i] + np.sqrt(1 - part * part) * normal[:, j]
        drawn = mean + spread * normal
        best = drawn.max(axis=1, keepdims=True)
        # Where nothing helps only the best one serves.
        self._serves = drawn >= np.minimum(best, SERVES * best)

    def serve(self, kinds: Sequence[str]) -> float:
        """Chance that one of these upgrades serves."""
        return float(self._serves[:, [k in kinds for k in self._kinds]].any(axis=1).mean())

    def needed(self, chance: float) -> tuple[str, ...]:
        """The likeliest upgrades, so many that one of them serves with at least this chance."""
        order = sorted(self._kinds, key=lambda k: -self.serve((k,)))
        for count in range(1, len(order)):
            if self.serve(order[:count]) >= chance:
                return tuple(order[:count])
        return tuple(order)
