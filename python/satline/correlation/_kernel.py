"""One series against thousands, at many lags at once.

Every sum over pairs of moments at which both series are present is a matrix product: series × moments by
moments × lags. Missing moments are left out of each pair; they never count as zero.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats, Integers
from satline.correlation._ranks import CentredRanks
from satline.correlation._spectrum import both_ways, fast_length, spectrum

_FEW = 8
_PATTERNS = 4096


@dataclass(frozen=True)
class Lagged:
    """Coefficients of one series with others: shape (series, lags).

    r
        NaN with fewer pairs than asked for, or where one of the two does not change among them.
    pairs
        Moments at which both are present.
    share
        Part of the sum of squares of the other series that lies in those pairs, times that of the one: 1 with
        nothing missing.
    """

    r: Floats
    pairs: Integers
    share: Floats


def centred(values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Series of mean 0 and sum of squares 1 over what is present, 0 elsewhere; and what is present."""
    present = np.isfinite(values)
    found = np.empty(values.shape)
    _centre(values, present, found)
    return found, present


def _centre(values: Floats, there: NDArray[np.bool_], out: Floats) -> None:
    count: Any = values.shape[1]
    whole = bool(there.all())
    np.copyto(out, values)
    if not whole:
        out[~there] = 0.0
        count = np.maximum(1, there.sum(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        out -= (out.sum(axis=1) / count)[:, None]
        if not whole:
            out[~there] = 0.0
        square = np.einsum("it,it->i", out, out)
    # Squares of the very large or small are not to be had.
    extreme = ~((square > 1e-200) & (square < 1e200))
    if extreme.any():
        some = out[extreme]
        largest = np.abs(some).max(axis=1, initial=0.0)[:, None]
        out[extreme] = some / np.where(largest > 0, largest, 1.0)
        square = np.einsum("it,it->i", out, out)
    # Once more: the mean of large numbers is not exact.
    rest = out.sum(axis=1) / count
    square = square - rest * rest * count
    norm = np.sqrt(np.where(square > 0, square, 1.0))[:, None]
    out -= rest[:, None]
    out /= norm
    if not whole:
        out[~there] = 0.0


@dataclass(frozen=True)
class Prepared:
    """Series ready to be held against one.

    present
        Where each has a value; shape (series, moments).
    kinds
        Their values and their ranks, centred; with each the mean square of the coefficient over all circular
        shifts against the one, as of `_chance`.
    """

    present: NDArray[np.bool_]
    kinds: tuple[tuple[Floats, Floats], tuple[Floats, Floats]]


class Preparation:
    """Centres, ranks and transforms series, a few at a time: what is made of them stays near the processor.

    Parameters
    ----------
    most
        Series in one call.
    """

    def __init__(self, by_value: One, by_rank: One, most: int) -> None:
        moments = len(by_value.y)
        self._ones = by_value, by_rank
        # Storage is had once: to be given it anew takes as long as to fill it.
        self._present = np.empty((most, moments), dtype=np.bool_)
        self._kinds = np.empty((2, most, moments))
        self._ranked = CentredRanks(moments)
        self._room = threading.local()

    def __call__(self, values: Floats, places: Integers) -> Prepared:
        """Those of `values` that are in these `places`; valid until the next call."""
        count = len(places)
        present, kinds = self._present[:count], self._kinds[:, :count]
        plain = np.empty((2, count))

        def work(k: int) -> None:
            part = slice(k * _FEW, (k + 1) * _FEW)
            power, own = self._own_room()
            there = present[part]
            own = own[: len(there)]
            for row, place in zip(own, places[part].tolist(), strict=True):
                row[:] = values[place]
            np.isfinite(own, out=there)
            _centre(own, there, kinds[0, part])
            for row, holds, out in zip(own, there, kinds[1, part], strict=True):
                self._ranked.put(row, holds, out)
            for kind, one, found in zip(kinds, self._ones, plain, strict=True):
                # No product of the library: its threads would stand in the way of these.
                found[part] = np.einsum("if,f->i", spectrum(kind[part], power[: len(own)]), one.power)

        in_threads(work, -(-count // _FEW))
        plain /= float(self._ones[0].size) ** 2
        return Prepared(present, ((kinds[0], plain[0]), (kinds[1], plain[1])))

    def _own_room(self) -> tuple[NDArray[np.complex128], Floats]:
        """Of each thread: for powers, and for values."""
        if not hasattr(self._room, "both"):
            power = np.empty((_FEW, self._ones[0].size // 2 + 1), dtype=np.complex128)
            self._room.both = power, np.empty((_FEW, len(self._ones[0].y)))
        both: tuple[NDArray[np.complex128], Floats] = self._room.both
        return both


def shifted(values: Floats, lags: Integers) -> Floats:
    """Shape (moments, lags): column k is `values` taken `lags[k]` moments later, 0 beyond the ends."""
    n = len(values)
    found = np.zeros((n, len(lags)))
    for k, lag in enumerate(lags.tolist()):
        if lag >= 0:
            found[: n - lag, k] = values[lag:]
        else:
            found[-lag:, k] = values[:lag]
    return found


class One:
    """The one series, as every other is held against it: shifted by each lag, with what is summed beside.

    Parameters
    ----------
    values
        NaN where missing.
    lags
        In moments.
    """

    def __init__(self, values: Floats, lags: Integers) -> None:
        y, there = centred(values[None, :])
        self.y, self.there, self.lags = y[0], there[0], lags
        self.shifted = shifted(self.y, lags)
        self.masks = shifted(self.there.astype(np.float64), lags)
        self.squares = self.shifted * self.shifted
        self.size = fast_length(len(values))
        self.power = both_ways(self.y)
        self._known: dict[bytes, Floats] = {}
        # Most moments have their partner at every lag: the others' sums are taken from those of all.
        self.lacking = np.flatnonzero((self.masks == 0).any(axis=1))
        self.few = len(self.lacking) < 0.6 * len(values)
        self.without = 1.0 - self.masks[self.lacking] if self.few else self.masks

    def sums(self, present: NDArray[np.bool_]) -> Floats:
        """Moments, sums and sums of squares of the one where each row of `present` has values, by lag; most
        series share one pattern. Shape (rows, 3, lags)."""
        keys = [packed.tobytes() for packed in np.packbits(present, axis=1)]
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if len(self._known) + len(new) > _PATTERNS:
            self._known.clear()
            new = {key: k for k, key in enumerate(keys)}
        if new:
            masks = present[list(new.values())].astype(np.float64)
            made = np.stack([masks @ part for part in (self.masks, self.shifted, self.squares)], axis=1)
            self._known.update(zip(new, made, strict=True))
        return np.stack([self._known[key] for key in keys])


def lagged(x: Floats, present: NDArray[np.bool_], one: One, least: int) -> Lagged:
    """Product-moment coefficients of each row of `x` with the one at each lag: r(x_t, y_(t + lag)).

    A positive lag means that x comes first. x as of `centred`; ranks give Spearman's coefficient, with ranks
    taken once over all that a series has.
    """
    number, sums_y, squares_y = np.moveaxis(one.sums(present), 1, 0)
    some = x[:, one.lacking] if one.few else x
    sums_x, squares_x = some @ one.without, (some * some) @ one.without
    if one.few:
        sums_x = -sums_x  # they are centred
        squares_x = np.einsum("it,it->i", x, x)[:, None] - squares_x
    n = np.maximum(number, 1.0)
    within_x, within_y = squares_x - sums_x**2 / n, squares_y - sums_y**2 / n
    size = within_x * within_y
    good = (number >= least) & (within_x > 1e-9) & (within_y > 1e-9)
    together = x @ one.shifted - sums_x * sums_y / n
    r = np.where(good, together / np.sqrt(np.where(good, size, 1.0)), np.nan)
    return Lagged(np.clip(r, -1.0, 1.0), np.rint(number).astype(np.int64), np.where(good, size, 0.0))


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do `work` for 0 … count − 1; numpy sorts and transforms outside Python's lock."""
    if count < 4:
        for k in range(count):
            work(k)
        return
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(work, range(count)))
