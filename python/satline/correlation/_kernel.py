"""One series against thousands, at many lags at once.

Every sum over pairs of moments at which both series are present is a matrix product: series × moments by
moments × lags. Missing moments are left out of each pair; they never count as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats, Integers

# numpy 1 has no place to put a transform.
_PLACED = int(np.__version__.partition(".")[0]) >= 2
_PATTERNS = 4096


def spectrum(x: Floats, room: NDArray[np.complex128] | None = None) -> Floats:
    """Power at each frequency in two parts, of cosine and of sine; shape (series, 2 × frequencies). It may
    lie in `room`, if that is given.

    In double precision: single takes as long.
    """
    size = fast_length(x.shape[1])
    if room is not None and _PLACED:
        found = np.fft.rfft(x, n=size, axis=1, out=room)
    else:
        found = np.fft.rfft(x, n=size, axis=1)
    parts = found.view(np.float64)
    parts *= parts
    return np.asarray(parts, dtype=np.float64)


def both_ways(x: Floats) -> Floats:
    """What another's `spectrum` is multiplied with, so that the sum is Σ|X|²|Y|² over all of the circle:
    the ends count once, the rest twice. Of one series; shape (2 × frequencies)."""
    power = spectrum(x[None, :])[0].reshape(-1, 2).sum(axis=1)
    power *= 2.0
    power[0] /= 2.0
    if fast_length(len(x)) % 2 == 0:
        power[-1] /= 2.0
    return np.repeat(power, 2)


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
    centre(values, present, found)
    return found, present


def centre(values: Floats, there: NDArray[np.bool_], out: Floats) -> None:
    """The same into `out`: numbers that rise with the values, and are equal where these are."""
    count: Any = values.shape[1]
    whole = bool(there.all())
    with np.errstate(over="ignore", invalid="ignore"):
        if whole:
            np.subtract(values, (values.sum(axis=1) / count)[:, None], out=out)
        else:
            count = np.maximum(1, there.sum(axis=1))
            np.copyto(out, values)
            out[~there] = 0.0
            out -= (out.sum(axis=1) / count)[:, None]
            out[~there] = 0.0
        square = np.einsum("it,it->i", out, out)
    # Squares of the very large or small are not to be had.
    extreme = ~((square > 1e-200) & (square < 1e200))
    if extreme.any():
        some = out[extreme]
        largest = np.abs(some).max(axis=1, initial=0.0)[:, None]
        out[extreme] = some / np.where(largest > 0, largest, 1.0)
        square = np.einsum("it,it->i", out, out)
    # Once more, where the mean of large numbers was not exact.
    rest = out.sum(axis=1) / count
    again = rest * rest * count > 1e-30 * square
    if again.any():
        square = square - rest * rest * count
        out -= np.where(again, rest, 0.0)[:, None]
    out *= (1.0 / np.sqrt(np.where(square > 0, square, 1.0)))[:, None]
    if not whole:
        out[~there] = 0.0


def shifted(values: Floats, lags: Integers) -> Floats:
    """Shape (moments, lags): column k is `values` taken `lags[k]` moments later, 0 beyond the ends."""
    n = len(values)
    # Column by column in storage: rows would be written number by number.
    found = np.zeros((len(lags), n))
    for row, lag in zip(found, lags.tolist(), strict=True):
        if lag >= 0:
            row[: n - lag] = values[lag:]
        else:
            row[-lag:] = values[:lag]
    return found.T


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
