"""The variance of a coefficient by the phases, beside its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.correlation import _kernel
from satline.correlation._kernel import One
from satline.correlation._prepare import Preparation
from satline.correlation._ranks import ranks

AT = np.arange(-2, 3)


@given(st.integers(0, 2**32 - 1), st.sampled_from([24, 25, 27]), st.sampled_from([0.0, 0.2]))
@settings(max_examples=30, deadline=None)
def test_it_is_the_mean_square_over_all_circular_shifts(seed, n, missing):
    random = np.random.default_rng(seed)
    values = np.cumsum(random.normal(size=(3, n)), axis=1)
    values[random.random(values.shape) < missing] = np.nan
    ones = One(values[0], AT), One(ranks(values[:1])[0], AT)
    made = Preparation(*ones, 2)(values, np.array([2, 1]))
    for kind, one in zip(made.kinds, ones, strict=True):
        x, plain = kind.x, kind.plain
        for k in range(2):
            shifts = [float(x[k] @ np.roll(one.y, shift)) ** 2 for shift in range(n)]
            assert plain[k] == pytest.approx(np.mean(shifts), rel=1e-9, abs=1e-12)


def series(random, n):
    """What differs most by frequency: noise, walks, cycles, trends, spikes, heavy tails."""
    t = np.arange(n)
    return np.stack(
        [
            random.normal(size=n),
            np.cumsum(random.normal(size=n)),
            np.sin(2 * np.pi * t / 144) + 1e-3 * random.normal(size=n),
            np.sin(2 * np.pi * t / 7),
            1e9 + 1e-3 * t + 1e-4 * random.normal(size=n),
            (random.random(n) < 5 / n) * 1e12,
            np.exp(3 * random.normal(size=n)),
            random.poisson(0.1, n) * 1.0,
        ]
    )


@pytest.mark.parametrize(("n", "placed"), [(4000, True), (10_001, True), (4000, False)])
def test_it_is_that_of_the_whole_kernel(n, placed, monkeypatch):
    """Without a place to put transforms, as of numpy 1, too."""
    monkeypatch.setattr(_kernel, "_PLACED", placed and _kernel._PLACED)
    values = series(np.random.default_rng(n), n)
    for place in range(len(values)):
        ones = One(values[place], AT), One(ranks(values[place : place + 1])[0], AT)
        made = Preparation(*ones, len(values))(values, np.arange(len(values)))
        for kind, one in zip(made.kinds, ones, strict=True):
            x, plain = kind.x, kind.plain
            power = np.abs(np.fft.fft(x, n=one.size, axis=1)) ** 2
            exact = power @ np.abs(np.fft.fft(one.y, n=one.size)) ** 2 / one.size**2
            np.testing.assert_allclose(plain, exact, rtol=1e-9, atol=1e-9 / n)
