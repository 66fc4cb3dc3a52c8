"""The variance of a coefficient by the phases, beside its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.correlation._kernel import One, Preparation
from satline.correlation._ranks import ranks


@given(st.integers(0, 2**32 - 1), st.sampled_from([24, 25, 27]), st.sampled_from([0.0, 0.2]))
@settings(max_examples=30, deadline=None)
def test_it_is_the_mean_square_over_all_circular_shifts(seed, n, missing):
    random = np.random.default_rng(seed)
    values = np.cumsum(random.normal(size=(3, n)), axis=1)
    values[random.random(values.shape) < missing] = np.nan
    at = np.arange(-2, 3)
    ones = One(values[0], at), One(ranks(values[:1])[0], at)
    made = Preparation(*ones, 2)(values, np.array([2, 1]))
    for (x, plain), one in zip(made.kinds, ones, strict=True):
        for k in range(2):
            shifts = [float(x[k] @ np.roll(one.y, shift)) ** 2 for shift in range(n)]
            assert plain[k] == pytest.approx(np.mean(shifts), rel=1e-9, abs=1e-12)
