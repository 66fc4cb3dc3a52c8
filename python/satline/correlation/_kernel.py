"""One series against thousands, at many lags at once.

Every sum over pairs of moments at which both series are present is a product of series with one that is
shifted. All lags of a product come from one transform there and one back, whose cost does not go with their
number, and which take no threads of the library: those wait for each other longer than they work. Missing
moments are left out of each pair; they never count as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats, Integers

Complexes = NDArray[np.complex128]

# numpy 1 has no place to put a transform.
_PLACED = int(np.__version__.partition(".")[0]) >= 2
_PATTERNS = 4096
_WHOLE = b"whole"


class Room:
    """Storage for the transforms of so many series, had once: to be given it anew takes as long as to fill
    it."""

    def __init__(self, rows: int, moments: int) -> None:
        self._size = fast_length(moments)
        self._spectrum, self._product = np.empty((2, rows, self._size // 2 + 1), dtype=np.complex128)
        self._back = np.empty((rows, self._size))

    def transform(self, x: Floats) -> Complexes:
        """Of each series, valid until the next."""
        if _PLACED:
            return np.fft.rfft(x, n=self._size, axis=1, out=self._spectrum[: len(x)])
        return np.fft.rfft(x, n=self._size, axis=1)

    def product(self, transformed: Complexes, other: Complexes) -> Floats:
        """The transform back of a product, valid until the next."""
        both = np.multiply(transformed, other, out=self._product[: len(transformed)])
        if _PLACED:
            return np.fft.irfft(both, n=self._size, axis=1, out=self._back[: len(both)])
        return np.fft.irfft(both, n=self._size, axis=1)


def power(transformed: Complexes, weight: Floats) -> Floats:
    """Sum over all frequencies of each power times `weight`, which is of `both_ways`; the transforms are used
    up."""
    parts = transformed.view(np.float64)
    parts *= parts
    # No product of the library: its threads would stand in the way of these.
    return np.asarray(np.einsum("if,f->i", parts, weight), dtype=np.float64)


def both_ways(x: Floats) -> Floats:
    """What the parts of another's powers, of cosine and of sine, are multiplied with, so that the sum is
    Σ|X|²|Y|² over all of the circle: the ends count once, the rest twice. Of one series; shape
    (2 × frequencies)."""
    size = fast_length(len(x))
    found = np.abs(np.fft.rfft(x, n=size)) ** 2
    found[1 : (size + 1) // 2] *= 2.0
    return np.repeat(found, 2)


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


class Shifted:
    """One series that others are multiplied with, moment by moment, at each lag.

    Products on the circle of the transforms also pair the last moments of one with the first of the other;
    a small circle of those alone says by how much.
    """

    def __init__(self, y: Floats, lags: Integers) -> None:
        n, size = len(y), fast_length(len(y))
        reach = int(np.abs(lags).max())
        self._whole, self._at = np.conj(np.fft.rfft(y, n=size)), -lags % size
        self._seam = max(0, reach - (size - n))
        self._size = fast_length(2 * reach + self._seam)
        self._around_at = -lags % self._size
        ends = np.zeros((2, self._size))
        ends[0, reach : reach + self._seam] = y[: self._seam]
        ends[1, np.arange(-reach, self._seam - reach)] = y[n - self._seam :]
        self._ends = np.conj(np.fft.rfft(ends, axis=1))

    def on_circle(self, transformed: Complexes, room: Room) -> Floats:
        """Sum of x_t y_(t + lag) at each lag, the moments after the last being the first; shape (rows,
        lags). `transformed` is x in that room."""
        return room.product(transformed, self._whole)[:, self._at]

    def around(self, x: Floats) -> Floats:
        """The part of it over pairs of last and first moments."""
        if not self._seam:
            return np.zeros((len(x), len(self._at)))
        both = np.fft.rfft(x[:, x.shape[1] - self._seam :], n=self._size, axis=1) * self._ends[0]
        both += np.fft.rfft(x[:, : self._seam], n=self._size, axis=1) * self._ends[1]
        return np.fft.irfft(both, n=self._size, axis=1)[:, self._around_at]


class Sums(NamedTuple):
    """Sums over the moments at which both are present, shape (series, lags): how many, of the one and its
    squares, of each series and its squares, of their product."""

    number: Floats
    y: Floats
    squares_y: Floats
    x: Floats
    squares_x: Floats
    product: Floats


class One:
    """The one series, as every other is held against it.

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
        self.size = fast_length(len(values))
        self.weight = both_ways(self.y)
        self._whole = bool(self.there.all())
        self._values = Shifted(self.y, lags)
        self._masks = Shifted(self.there.astype(np.float64), lags)
        self._squares = Shifted(self.y * self.y, lags)
        self._known: dict[bytes, Floats] = {}

    def against(self, x: Floats, present: NDArray[np.bool_], room: Room, out: Sums) -> Floats:
        """Sum each row of `x` with the one into `out`, but for what `complete` does of many rows at once.

        `x` is as of `centred`, and has values where `present` says. Returns the mean square of each
        coefficient over all circular shifts.
        """
        transformed = room.transform(x)
        out.product[:] = self._values.on_circle(transformed, room)
        if not self._whole:
            out.x[:] = self._masks.on_circle(transformed, room)
        plain = power(transformed, self.weight) / float(self.size) ** 2
        if not self._whole:
            squares = x * x
            out.squares_x[:] = self._masks.on_circle(room.transform(squares), room)
        for found, part in zip(np.moveaxis(self._of_patterns(present, room), 1, 0), out[:3], strict=True):
            part[:] = found
        return plain

    def complete(self, x: Floats, out: Sums) -> None:
        """Take from `out`, as of `against`, what lies beyond the ends of `x`."""
        squares = np.einsum("it,it->i", x, x)[:, None]
        out.product[:] -= self._values.around(x)
        if self._whole:
            # Only the ends have no partner; of what is centred the rest adds up to minus those.
            out.x[:], out.squares_x[:] = -_ends(x, self.lags), squares - _ends(x, self.lags, np.square)
        else:
            out.x[:] -= self._masks.around(x)
            out.squares_x[:] -= self._masks.around(x * x)

    def _of_patterns(self, present: NDArray[np.bool_], room: Room) -> Floats:
        """Moments, sums and sums of squares of the one where each row of `present` has values, by lag; most
        series share one pattern. Shape (rows, 3, lags)."""
        keys = [_WHOLE] * len(present)
        if not present.all():
            keys = [packed.tobytes() for packed in np.packbits(present, axis=1)]
        known = {key: found for key in keys if (found := self._known.get(key)) is not None}
        new = {key: k for k, key in enumerate(keys) if key not in known}
        if new:
            masks = present[list(new.values())].astype(np.float64)
            transformed = room.transform(masks)
            parts = [
                part.on_circle(transformed, room) - part.around(masks)
                for part in (self._masks, self._values, self._squares)
            ]
            np.rint(parts[0], out=parts[0])
            made = dict(zip(new, np.stack(parts, axis=1), strict=True))
            if len(self._known) + len(made) > _PATTERNS:
                self._known = {}
            self._known.update(made)
            known |= made
        return np.stack([known[key] for key in keys])


def _ends(x: Floats, lags: Integers, of: Callable[[Floats], Floats] = np.positive) -> Floats:
    """Sums over the moments that have no partner at each lag: the last ones where it is positive."""
    reach = int(np.abs(lags).max())
    first = np.cumsum(of(x[:, :reach]), axis=1)
    last = np.cumsum(of(x[:, ::-1][:, :reach]), axis=1)
    return np.concatenate([first[:, ::-1], np.zeros((len(x), 1)), last], axis=1)[:, lags + reach]


def lagged(found: Sums, least: int) -> Lagged:
    """Product-moment coefficients of each series with the one at each lag: r(x_t, y_(t + lag)).

    A positive lag means that x comes first. Of ranks it is Spearman's coefficient, with ranks taken once over
    all that a series has.
    """
    n = np.maximum(found.number, 1.0)
    within_x, within_y = found.squares_x - found.x**2 / n, found.squares_y - found.y**2 / n
    size = within_x * within_y
    good = (found.number >= least) & (within_x > 1e-9) & (within_y > 1e-9)
    together = found.product - found.x * found.y / n
    r = np.where(good, together / np.sqrt(np.where(good, size, 1.0)), np.nan)
    return Lagged(np.clip(r, -1.0, 1.0), found.number.astype(np.int64), np.where(good, size, 0.0))
