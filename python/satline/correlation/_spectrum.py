"""Powers of series by frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from satline.correlation._panel import Floats

# numpy 1 has no place to put a transform.
_PLACED = int(np.__version__.partition(".")[0]) >= 2


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
