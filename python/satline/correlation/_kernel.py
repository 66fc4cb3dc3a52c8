"""One series against thousands, at many lags at once.

Every sum over pairs of moments at which both series are present is a matrix product: series × moments by
moments × lags. Missing moments are left out of each pair; they never count as zero.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats, Integers

_FEW = 16
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

    def work(k: int) -> None:
        part = slice(k * _FEW, (k + 1) * _FEW)
        x, there = found[part], present[part]
        np.copyto(x, values[part])
        whole = bool(there.all())
        if not whole:
            x[~there] = 0.0
        count = np.maximum(1, there.sum(axis=1, keepdims=True))
        for _ in range(2):  # twice: the mean of large numbers is not exact
            x -= x.sum(axis=1, keepdims=True) / count
            if not whole:
                x[~there] = 0.0
        largest = np.maximum(x.max(axis=1, initial=0.0), -x.min(axis=1, initial=0.0))[:, None]
        x /= np.where(largest > 0, largest, 1.0)
        norm = np.sqrt(np.einsum("it,it->i", x, x))[:, None]
        x /= np.where(norm > 0, norm, 1.0)

    in_threads(work, -(-len(values) // _FEW))
    return found, present


def ranks(values: Floats) -> Floats:
    """Ranks of each series over what is present, from 1, ties sharing their mean; NaN stays NaN. Shape
    (series, moments)."""
    found = np.full(values.shape, np.nan)
    one = np.arange(1.0, values.shape[1] + 1)

    def work(k: int) -> None:
        row = values[k]
        order = np.argsort(row)  # NaN comes last
        ordered = row[order]
        count = int(np.searchsorted(ordered, np.nan)) if np.isnan(ordered[-1]) else len(row)
        order, ordered = order[:count], ordered[:count]
        new = ordered[1:] != ordered[:-1]
        if new.all():
            found[k, order] = one[:count]
            return
        start = np.concatenate([[0], np.flatnonzero(new) + 1])
        size = np.diff([*start, count])
        found[k, order] = np.repeat(start + (size + 1) / 2, size)

    def some(k: int) -> None:
        for place in range(k * _FEW, min(len(values), (k + 1) * _FEW)):
            work(place)

    if values.size:
        in_threads(some, -(-len(values) // _FEW))
    return found


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
        self.power = spectrum(y)[0]
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
        sums_x = x.sum(axis=1, keepdims=True) - sums_x
        squares_x = np.einsum("it,it->i", x, x)[:, None] - squares_x
    n = np.maximum(number, 1.0)
    within_x, within_y = squares_x - sums_x**2 / n, squares_y - sums_y**2 / n
    size = within_x * within_y
    good = (number >= least) & (within_x > 1e-9) & (within_y > 1e-9)
    together = x @ one.shifted - sums_x * sums_y / n
    r = np.where(good, together / np.sqrt(np.where(good, size, 1.0)), np.nan)
    return Lagged(np.clip(r, -1.0, 1.0), np.rint(number).astype(np.int64), np.where(good, size, 0.0))


def spectrum(x: Floats) -> Floats:
    """Power at each frequency, shape (series, frequencies), such that sums of products over it are sums over
    all of the circle: the ends count once, the rest twice."""
    size = fast_length(x.shape[1])
    power = np.empty((len(x), size // 2 + 1))

    def work(k: int) -> None:
        part = slice(k * _FEW, (k + 1) * _FEW)
        transform = np.fft.rfft(x[part], n=size, axis=1)
        power[part] = transform.real**2 + transform.imag**2

    in_threads(work, -(-len(x) // _FEW))
    weight = np.full(size // 2 + 1, 2.0)
    weight[0] = 1.0
    if size % 2 == 0:
        weight[-1] = 1.0
    power *= np.sqrt(weight)
    return power


def fast_length(n: int) -> int:
    """The least number from `n` on with no prime factor above 5: transforms of such lengths are fast."""
    k = max(1, n)
    while True:
        rest = k
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return k
        k += 1


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do `work` for 0 … count − 1; numpy sorts and transforms outside Python's lock."""
    if count < 4:
        for k in range(count):
            work(k)
        return
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(work, range(count)))
