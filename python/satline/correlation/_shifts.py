"""Level shifts: a series that from some moment on is another, and series that shift at the same time.

Whether a series shifts is told by the self-normalised CUSUM test [Shao and Zhang 2010], which needs no
estimate of its autocorrelation: with S_k the sums of the first k values, R_t = S_n − S_(t−1),

    G = max_k (S_k − k/n S_n)² / n / V_k,
    n² V_k = Σ_(t ≤ k) (S_t − t/k S_k)² + Σ_(t > k) (R_t − (n − t + 1)/(n − k) R_(k+1))².

The test is own: neither scipy nor statsmodels has it.

Whether two shift together is told by the distance of the two moments alone, so that it does not matter how
many series shift by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.correlation._panel import Floats, Integers
from satline.stats import false_discoveries

# G passes this in one of a thousand series without a shift: quantile of 20,000 random walks of 240 steps
# (`python benches/correlation/run.py --critical`, which also gives 40.6 for 5 % and 73.5 for 1 %).
_SURE = 132.3
_PIECES = 240
_EDGE = 0.05
_LEAST = 40
_AT_ONCE = 256


@dataclass(frozen=True)
class Shift:
    """One shift of level.

    place
        The first moment after it.
    before, after
        Mean values.
    """

    place: int
    before: float
    after: float


def shift_of(values: Floats) -> Shift | None:
    """The shift of level of a series; ``None``: none is sure (a chance of 0.001), or too few values."""
    return shifts_of(values[None, :], np.zeros(1, dtype=np.int64)).get(0)


def shifts_of(values: Floats, places: Integers) -> dict[int, Shift]:
    """The sure shifts of those of `values`, shape (series, moments), in these places, by their number among
    them."""
    found: dict[int, Shift] = {}
    for start in range(0, len(places), _AT_ONCE):
        rows = [_cut(values[place]) for place in places[start : start + _AT_ONCE]]
        by_count: dict[int, list[int]] = {}
        for k, (pieces, _) in enumerate(rows):
            if len(pieces):
                by_count.setdefault(len(pieces), []).append(k)
        for alike in by_count.values():
            statistic, at = self_normalised(np.stack([rows[k][0] for k in alike]))
            for j in np.flatnonzero(statistic > _SURE).tolist():
                number = start + alike[j]
                found[number] = _placed(values[places[number]], rows[alike[j]][1], int(at[j]))
    return found


def _cut(values: Floats) -> tuple[Floats, Integers]:
    """Means of pieces of a series, less its mean, and where among its values each piece begins."""
    there = np.isfinite(values)
    x = values if there.all() else values[there]
    n = len(x)
    if n < _LEAST:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    edges = np.linspace(0, n, min(_PIECES, n // 4) + 1).astype(np.int64)
    return np.add.reduceat(x - x.mean(), edges[:-1]) / np.diff(edges), edges


def _placed(values: Floats, edges: Integers, k: int) -> Shift:
    """The moment itself, within the pieces around the `k`th edge."""
    at = np.flatnonzero(np.isfinite(values))
    x, n = values[at], len(at)
    low, high = edges[max(0, k - 2)], edges[min(len(edges) - 1, k + 3)]
    path = np.abs(np.cumsum(x - x.mean()))
    place = int(low + np.argmax(path[low:high])) + 1
    place = min(max(place, 1), n - 1)
    return Shift(int(at[place]), float(x[:place].mean()), float(x[place:].mean()))


def self_normalised(x: Floats) -> tuple[Floats, Integers]:
    """G of each series, and the k at which it is greatest; `x` has the shape (series, n)."""
    n = x.shape[1]
    first, last = max(2, int(n * _EDGE)), min(n - 2, int(n * (1 - _EDGE)))
    if last <= first:
        return np.zeros(len(x)), np.zeros(len(x), dtype=np.int64)
    s = np.cumsum(x, axis=1)
    t = np.arange(1, n + 1, dtype=np.float64)
    k = np.arange(first, last)
    before = _inside(s, t)
    # The same from the other end.
    r = s[:, -1:] - np.concatenate([np.zeros((len(s), 1)), s[:, :-1]], axis=1)
    after = _inside(r[:, ::-1], t)[:, ::-1]
    v = (before[:, k - 1] + after[:, k]) / n**2
    bridge = (s[:, k - 1] - k / n * s[:, -1:]) ** 2 / n
    good = (v > 0) & (np.ptp(x, axis=1) > 0)[:, None]
    g = np.where(good, bridge / np.where(good, v, 1.0), 0.0)
    best = np.argmax(g, axis=1)
    return np.asarray(g[np.arange(len(g)), best], dtype=np.float64), k[best]


def _inside(s: Floats, t: Floats) -> Floats:
    """Σ_{u ≤ k} (S_u − u/k S_k)² for every k."""
    squares, products, sides = np.cumsum(s * s, axis=1), np.cumsum(t * s, axis=1), np.cumsum(t * t)
    slope = s / t
    return np.maximum(0.0, squares - 2 * slope * products + slope**2 * sides)


def together(
    values: Floats, places: Integers, one: Floats, rate: float
) -> tuple[Shift | None, dict[int, tuple[Shift, float]]]:
    """The shift of `one`, and those of `values` in these `places` that shift with it, by their number among
    them, each with its rate of false discoveries.

    The chance that a shift anywhere in n moments lies within d of a given one is (2d + 1) / n; only series
    that shift at all are compared.
    """
    own = shift_of(one)
    if own is None:
        return None, {}
    found = shifts_of(values, places)
    if not found:
        return own, {}
    n = int(np.count_nonzero(np.isfinite(one)))
    numbers = list(found)
    away: Integers = np.array([abs(found[k].place - own.place) for k in numbers])
    q = false_discoveries(np.minimum(1.0, (2 * away + 1) / n))
    return own, {k: (found[k], float(q[j])) for j, k in enumerate(numbers) if q[j] <= rate}
