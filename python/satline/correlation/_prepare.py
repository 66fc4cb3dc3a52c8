"""Series made ready, a few at a time, to be held against one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.correlation._kernel import One, Room, Sums, centre
from satline.correlation._panel import Floats, Integers
from satline.correlation._ranks import CentredRanks

# Values in one step of work: what is made of them stays near the processor.
_NEAR = 80_000
_MOST_ROWS = 64


@dataclass(frozen=True)
class Kind:
    """Series of one kind, values or ranks: centred; the mean square of the coefficient over all circular
    shifts against the one, as of `_chance`; and the sums with the one at each lag."""

    x: Floats
    plain: Floats
    sums: Sums


@dataclass(frozen=True)
class Prepared:
    """Series ready to be held against one.

    present
        Where each has a value; shape (series, moments). `number`: at how many moments.
    kinds
        What was made of their values, and of their ranks.
    """

    present: NDArray[np.bool_]
    number: Integers
    kinds: tuple[Kind, Kind]


class _Rooms:
    """Storage of one thread."""

    def __init__(self, rows: int, moments: int) -> None:
        self.values = np.empty((rows, moments))
        self.transforms = Room(rows, moments)
        self.ranked = CentredRanks(rows, moments)


class Preparation:
    """Centres, ranks and transforms series, and sums them up with the one.

    Parameters
    ----------
    most
        Series in one call.
    """

    def __init__(self, by_value: One, by_rank: One, most: int) -> None:
        self._moments = len(by_value.y)
        self._ones = by_value, by_rank
        self._few = max(1, min(_MOST_ROWS, _NEAR // self._moments))
        self._present = np.empty((most, self._moments), dtype=np.bool_)
        self._kinds = np.empty((2, most, self._moments))
        self._sums = np.empty((2, len(Sums._fields), most, len(by_value.lags)))
        self._rooms = threading.local()

    def __call__(self, values: Floats, places: Integers) -> Prepared:
        """Those of `values` that are in these `places`; valid until the next call."""
        count = len(places)
        present, kinds, sums = self._present[:count], self._kinds[:, :count], self._sums[:, :, :count]
        plain = np.empty((2, count))
        number = np.full(count, self._moments, dtype=np.int64)

        def work(k: int) -> None:
            part = slice(k * self._few, (k + 1) * self._few)
            room, there = self._room(), present[part]
            own = room.values[: len(there)]
            for row, place in zip(own, places[part].tolist(), strict=True):
                row[:] = values[place]
            np.isfinite(own, out=there)
            if not there.all():
                number[part] = np.count_nonzero(there, axis=1)
            centre(own, there, kinds[0, part])
            room.ranked.put(own, there, kinds[1, part])
            for kind, one, mean, found in zip(kinds, self._ones, plain, sums, strict=True):
                into = Sums(*found[:, part])
                mean[part] = one.against(kind[part], there, room.transforms, into)

        in_threads(work, -(-count // self._few))
        made = [Kind(x, mean, Sums(*found)) for x, mean, found in zip(kinds, plain, sums, strict=True)]
        for kind, one in zip(made, self._ones, strict=True):
            one.complete(kind.x, kind.sums)
        return Prepared(present, number, (made[0], made[1]))

    def _room(self) -> _Rooms:
        if not hasattr(self._rooms, "own"):
            self._rooms.own = _Rooms(self._few, self._moments)
        room: _Rooms = self._rooms.own
        return room


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do `work` for 0 … count − 1; numpy sorts and transforms outside Python's lock."""
    if count < 4:
        for k in range(count):
            work(k)
        return
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(work, range(count)))
