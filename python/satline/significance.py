"""What a chance, or several, can be trusted for: intervals of shares, several tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

NORMAL_97_5 = 1.959963984540054


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, made such that all of them together keep their level [Holm 1979]."""
    adjusted, greatest = [0.0] * len(chances), 0.0
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank, place in enumerate(order):
        greatest = max(greatest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = greatest
    return adjusted


def wilson(part: float, n: float) -> tuple[float, float]:
    """95 % interval of a part of `n` independent cases [Wilson 1927]; of none, all that a part can be.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = NORMAL_97_5**2
    middle = (part + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_97_5 / (1 + z2 / n) * math.sqrt(part * (1 - part) / n + z2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)
