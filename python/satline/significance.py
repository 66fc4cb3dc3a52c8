"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, made such that all of them together keep their level [Holm 1979]."""
    adjusted, greatest = [0.0] * len(chances), 0.0
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank, place in enumerate(order):
        greatest = max(greatest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = greatest
    return adjusted
