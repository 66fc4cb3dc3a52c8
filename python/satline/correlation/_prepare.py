"""Series made ready, a few at a time, to be held against one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.correlation._kernel import One, centre, spectrum
from satline.correlation._panel import Floats, Integers
from satline.correlation._ranks import CentredRanks

# Values in one step of work: what is made of them stays near the processor.
_NEAR = 80_000
_MOST_ROWS = 64


@dataclass(frozen=True)
class Prepared:
    """Series ready to be held against one.

    present
        Where each has a value; shape (series, moments). `number`: at how many moments.
    kinds
        Their values and their ranks, centred; with each the mean square of the coefficient over all circular
        shifts against the one, as of `_chance`.
    """

    present: NDArray[np.bool_]
    number: Integers
    kinds: tuple[tuple[Floats, Floats], tuple[Floats, Floats]]


class _Room:
    """Storage of one thread, had once: to be given it anew takes as long as to fill it."""

    def __init__(self, rows: int, moments: int, size: int) -> None:
        self.values = np.empty((rows, moments))
        self.power = np.empty((rows, size // 2 + 1), dtype=np.complex128)
        self.ranked = CentredRanks(rows, moments)


class Preparation:
    """Centres, ranks and transforms series.

    Parameters
    ----------
    most
        Series in one call.
    """

    def __init__(self, by_value: One, by_rank: One, most: int) -> None:
        self._moments = len(by_value.y)
        self._size = by_value.size
        self._powers = by_value.power, by_rank.power
        self._few = max(1, min(_MOST_ROWS, _NEAR // self._moments))
        self._present = np.empty((most, self._moments), dtype=np.bool_)
        self._kinds = np.empty((2, most, self._moments))
        self._rooms = threading.local()

    def __call__(self, values: Floats, places: Integers) -> Prepared:
        """Those of `values` that are in these `places`; valid until the next call."""
        count = len(places)
        present, kinds = self._present[:count], self._kinds[:, :count]
        plain = np.empty((2, count))
        number = np.full(count, self._moments, dtype=np.int64)

        def work(k: int) -> None:
            part = slice(k * self._few, (k + 1) * self._few)
            room, there = self._room(), present[part]
            own, power = room.values[: len(there)], room.power[: len(there)]
            for row, place in zip(own, places[part].tolist(), strict=True):
                row[:] = values[place]
            np.isfinite(own, out=there)
            if not there.all():
                number[part] = np.count_nonzero(there, axis=1)
            centre(own, there, kinds[0, part])
            room.ranked.put(own, there, kinds[1, part])
            for kind, weight, found in zip(kinds, self._powers, plain, strict=True):
                # No product of the library: its threads would stand in the way of these.
                found[part] = np.einsum("if,f->i", spectrum(kind[part], power), weight)

        in_threads(work, -(-count // self._few))
        plain /= float(self._size) ** 2
        return Prepared(present, number, ((kinds[0], plain[0]), (kinds[1], plain[1])))

    def _room(self) -> _Room:
        if not hasattr(self._rooms, "own"):
            self._rooms.own = _Room(self._few, self._moments, self._size)
        room: _Room = self._rooms.own
        return room


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do `work` for 0 … count − 1; numpy sorts and transforms outside Python's lock."""
    if count < 4:
        for k in range(count):
            work(k)
        return
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(work, range(count)))
