"""The distributions of F and t, central and not, without a library of 140 MB."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_TINY = 1e-300


@lru_cache(maxsize=65_536)
def beta_part(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta I_x(a, b), by its continued fraction [A&S 26.5.8], Lentz's way."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(b, a, 1.0 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    h = d
    for m in range(1, 10_000):
        for up in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _away(1.0 + up * d)
            c = _away(1.0 + up / c)
            h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return h


def _away(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def f_tail(f: float, above: float, below: float) -> float:
    """P(F > f) of `above`, `below` degrees of freedom: I_x(below/2, above/2), x = below/(below + above f)."""
    return beta_part(below / 2.0, above / 2.0, below / (below + above * max(f, 0.0)))


def t_two_sided(t: float, freedom: float) -> float:
    """P(|T| > |t|); `freedom` need not be whole."""
    return beta_part(freedom / 2.0, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, freedom: float) -> float:
    """t with P(|T| ≤ t) = `confidence`."""
    return _where(lambda t: t_two_sided(t, freedom), 1.0 - confidence)


@lru_cache(maxsize=4096)
def f_quantile(tail: float, above: float, below: float) -> float:
    """f with P(F > f) = `tail`."""
    return _where(lambda f: f_tail(f, above, below), tail)


def f_power(f: float, above: float, below: float, shift: float) -> float:
    """P(F′ > f) of the noncentral F: central ones, mixed by Poisson's weights of shift/2 [A&S 26.6.20]."""
    x = above * f / (above * f + below)
    half, b = shift / 2.0, below / 2.0
    if not 0.0 < x < 1.0 or half == 0.0:
        return f_tail(f, above, below)
    # The weights that matter; I_x(a + 1, b) = I_x(a, b) − x^a (1 − x)^b / (a B(a, b)) leads to the next.
    first = max(0, int(half - 12.0 * math.sqrt(half) - 40.0))
    a = above / 2.0 + first
    part = beta_part(a, b, x)
    step = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a + 1.0) - math.lgamma(b)
    )
    weight = math.exp(-half + first * math.log(half) - math.lgamma(first + 1.0))
    within = 0.0
    for j in range(first, int(half + 12.0 * math.sqrt(half) + 40.0)):
        within += weight * part
        part -= step
        step *= x * (a + b) / (a + 1.0)
        a += 1.0
        weight *= half / (j + 1.0)
    return min(max(1.0 - within, 0.0), 1.0)


def _where(falling: Callable[[float], float], target: float) -> float:
    low, high = 0.0, 1.0
    while falling(high) > target:
        high *= 2.0
        if high > 1e150:
            return math.inf
    while high - low > 1e-13 * high:
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return (low + high) / 2.0
