"""Ranks of thousands of series.

Own: sorting whole numbers is three times as fast here as sorting by argument, which `scipy.stats.rankdata`
does. The place of a value goes into the last bits of the value itself. Where values differ in those bits
only, they are sorted the long way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats, Integers

_ALL = np.int64(-1)


def ranks(values: Floats) -> Floats:
    """Ranks of each series over what is present, from 1, ties sharing their mean; NaN stays NaN. Shape
    (series, moments)."""
    found = np.full(values.shape, np.nan)
    for row, out in zip(values, found, strict=True):
        at = np.flatnonzero(np.isfinite(row))
        order, start = order_of(row[at])
        out[at[order]] = _shared(start, len(at)) if start is not None else np.arange(1.0, len(at) + 1)
    return found


class CentredRanks:
    """Ranks as above, but of mean 0 and sum of squares 1, and 0 where there is no value.

    Parameters
    ----------
    rows, moments
        Series at a time, and their length.
    """

    def __init__(self, rows: int, moments: int) -> None:
        n = moments
        self._bits = max(1, (n - 1).bit_length())
        self._place = np.arange(n)
        self._first = n * np.arange(rows)[:, None]
        self._untied = np.tile(_unit(np.arange(1.0, n + 1), float(n), 0.0), rows)
        # Storage is had once: to be given it anew takes as long as to fill it.
        self._keys, self._steps = np.empty((2, rows, n), dtype=np.int64)
        self._alike = np.empty((rows, n), dtype=np.bool_)

    def put(self, values: Floats, there: NDArray[np.bool_], out: Floats) -> None:
        """Write the ranks of each row into `out`; all are of shape (rows, moments), and `there` says what is
        present."""
        rows, n = values.shape
        keys, steps, alike = self._keys[:rows], self._steps[:rows], self._alike[:rows]
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(values, values.min(axis=1)[:, None], out=keys.view(np.float64))
        _with_places(keys, self._place, self._bits)
        np.bitwise_xor(keys[:, 1:], keys[:, :-1], out=steps[:, 1:])
        np.less(steps, 1 << self._bits, out=alike)
        alike[:, 0] = False
        # Ties, values that differ in their last bits only, and holes are for the long way.
        odd = alike.any(axis=1) | ~there.all(axis=1)
        if not odd.all():
            keys &= ~(_ALL << self._bits)
            keys += self._first[:rows]
            out.reshape(-1)[keys.reshape(-1)] = self._untied[: rows * n]
        for k in np.flatnonzero(odd).tolist():
            _put(values[k], there[k], out[k])


def _put(row: Floats, there: NDArray[np.bool_], out: Floats) -> None:
    at = np.flatnonzero(there)
    n = len(at)
    order, start = order_of(row[at])
    out[:] = 0.0
    out[at[order]] = _unit(np.arange(1.0, n + 1), float(n), 0.0) if start is None else _tied(start, n)


def _with_places(keys: Integers, place: Integers, bits: int) -> None:
    """Sort the bits of numbers from 0 on, the last of them being the place."""
    keys &= _ALL << bits
    keys |= place
    keys.sort(axis=-1)


def order_of(row: Floats) -> tuple[Integers, Integers | None]:
    """Places of the finite values `row` in rising order, and where each run of equal ones starts in it;
    ``None``: no two are equal."""
    n = len(row)
    if n < 2:
        return np.arange(n), None
    bits = (n - 1).bit_length()
    # From 0 on, so that the order of the bits is that of the values; no difference changes its place.
    with np.errstate(over="ignore"):
        keys = (row - row.min()).view(np.int64)
    _with_places(keys, np.arange(n), bits)
    new = (keys[1:] ^ keys[:-1]) >= 1 << bits
    keys &= ~(_ALL << bits)
    if new.all():
        return keys, None
    ordered = row[keys]
    if not np.array_equal(new, ordered[1:] != ordered[:-1]):
        keys = np.argsort(row)
        ordered = row[keys]
        new = ordered[1:] != ordered[:-1]
        if new.all():
            return keys, None
    return keys, np.concatenate([[0], np.flatnonzero(new) + 1])


def _shared(start: Integers, count: int) -> Floats:
    """Ranks in rising order, those of equal values being their mean."""
    size = np.diff(start, append=count)
    return np.asarray(np.repeat(start + (size + 1) / 2, size), dtype=np.float64)


def _tied(start: Integers, count: int) -> Floats:
    size = np.diff(start, append=count).astype(np.float64)
    return _unit(_shared(start, count), float(count), float((size**3 - size).sum()))


def _unit(found: Floats, n: float, ties: float) -> Floats:
    """Ranks of `n` values less their mean (n + 1)/2, by √((n³ − n − Σ(t³ − t))/12), t of a kind."""
    square = (n**3 - n - ties) / 12
    return np.asarray((found - (n + 1) / 2) / np.sqrt(square if square > 0 else 1.0), dtype=np.float64)
