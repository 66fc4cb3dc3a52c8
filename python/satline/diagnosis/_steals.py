"""Page reads as a function of how many users compete for how much storage."""

from __future__ import annotations

import math

import numpy as np

from satline.diagnosis._observed import Observed
from satline.stats import isotonic

# Steals for each other read, s, grow with the users who compete for a frame by the power
# STEEP / (1 + BEND s) + FLAT: from nearly none, while their working sets fit, steeply; at last little more
# than in proportion, when every read steals a page that is wanted. Set by eye on nine of the pairs 4000-4299
# of benches/confusion, on the levels and steals that were simulated after a change of admission;
# FLAT (of 1 and 1.5) on all of them. LEAST: from what s on it grows, where no steals are seen; MOST: what s
# does not exceed.
STEEP, BEND, FLAT = 3.0, 2.0, 1.5
LEAST, MOST = 0.005, 30.0
# Where more are admitted s goes by how many are in queue, whatever they wait for: it grows by the power
# CROWD / (1 + CALM s). Where fewer than FEW are seen they tell little, and the storage that users in queue
# hold tells more: s would be FULL if they held all of it. Set on the steals simulated after admission of more
# on pairs 4000-4299 and 5000-5092 but those of io-heavy.
CROWD, CALM = 3.8, 0.6
FEW, FULL = 0.15, 1.8
_STEPS = 12


class Steals:
    """Reads after a change of level or storage, against those measured.

    Reads that steals from users in queue cause go by who competes; the others bring back the pages of
    users who were not in queue, and fall only where storage has room for more of these.
    """

    def __init__(self, seen: Observed) -> None:
        self._seen = seen
        self._others = max(seen.reads * (1 - seen.stolen), 1e-9)
        order = np.argsort(seen.competing)
        self._levels = seen.competing[order]
        # Light loads tell of few steals in little work.
        self._parts = isotonic(seen.steals[order] / self._others, seen.works[order])

    def reads(self, competing: float, storage: float) -> float:
        """Reads per unit of work, in parts of those measured, when so many compete for so much storage."""
        seen = self._seen
        each = competing / storage
        now, measured = self._at(float(seen.competing[-1])), seen.reads * seen.stolen / self._others
        if now > LEAST / 2 and measured > 0:
            steals = self._at(each) * measured / now
        else:
            steals = _grown(LEAST, each / float(seen.competing[-1]))
        # As much storage for each user, in queue or not, as at a load that was so much lighter.
        lighter = float(np.interp(seen.loads[-1] / storage, seen.loads, seen.others))
        others = lighter / seen.others[-1] if seen.others[-1] > 0 else 1.0
        return float(self._others * (others + min(steals, MOST)) / max(seen.reads, 1e-9))

    def admitted(self, level: float) -> float:
        """Reads per unit of work, in parts of those measured, after admission of more users, so many."""
        seen = self._seen
        times, measured = level / seen.level, seen.reads * seen.stolen / self._others
        steals = measured
        if times > 1 and measured < FEW and seen.occupied is not None:
            steals = max(measured, _grown(FULL, seen.occupied * times, CROWD, CALM, 0.0))
        elif times > 1:
            steals = _grown(max(measured, LEAST), times, CROWD, CALM, 0.0)
        return float(self._others * (1 + min(steals, MOST)) / max(seen.reads, 1e-9))

    def _at(self, competing: float) -> float:
        """Steals for each other read with so many: as seen, and beyond as they grow."""
        least, most = float(self._levels[0]), float(self._levels[-1])
        if competing > most:
            return _grown(float(self._parts[-1]), competing / most)
        if competing < least:
            return float(self._parts[0]) * (competing / least) ** 2
        return float(np.interp(competing, self._levels, self._parts))


def _grown(part: float, times: float, steep: float = STEEP, bend: float = BEND, flat: float = FLAT) -> float:
    """Steals for each other read when so many times as many compete: d ln s = power × d ln n, in steps."""
    part = max(part, LEAST)
    step = math.log(max(times, 1e-3)) / _STEPS
    for _ in range(_STEPS):
        part *= math.exp(max(-3.0, min(3.0, step * (flat + steep / (1 + bend * part)))))
    return part
