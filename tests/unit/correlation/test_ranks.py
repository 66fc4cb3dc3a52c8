"""Ranks by sorting keys that carry their place, beside sorting by argument."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.correlation._kernel import centred
from satline.correlation._ranks import CentredRanks, order_of, ranks


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_the_order_is_that_of_the_values_however_near_far_or_small_they_are(values):
    row = np.array(values)
    order, start = order_of(row)
    ordered = row[order]
    assert sorted(order.tolist()) == list(range(len(row)))
    assert (ordered[1:] >= ordered[:-1]).all()
    if start is None:
        assert len(np.unique(row)) == len(row)
    else:
        assert (
            start.tolist() == np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])).tolist()
        )


def test_values_that_differ_in_their_last_bits_only_are_told_apart():
    row = 1e9 + np.arange(200) * np.spacing(1e9)
    shuffled = np.random.default_rng(1).permutation(200)
    assert ranks(row[None, shuffled])[0].tolist() == (shuffled + 1).tolist()
    far = np.array([1e300, 1.0, 1.0000000000000002, -1e300, 1.0])
    assert ranks(far[None, :])[0].tolist() == [5.0, 2.5, 4.0, 1.0, 2.5]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]), st.sampled_from([1, 5, 10**6]))
@settings(max_examples=40)
def test_centred_ranks_are_the_ranks_centred(seed, missing, kinds):
    random = np.random.default_rng(seed)
    row = random.integers(-kinds, kinds, 80).astype(np.float64)
    row[random.random(80) < missing] = np.nan
    expected, there = centred(ranks(row[None, :]))
    found = np.full(80, 7.0)
    CentredRanks(80).put(row, there[0], found)
    assert np.allclose(found, expected[0], atol=1e-12)
