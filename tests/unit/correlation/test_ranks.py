"""Ranks by sorting keys that carry their place, beside sorting by argument."""

from __future__ import annotations

import numpy as np
import pytest
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


def by_argument(values):
    """The same the plain way: ranks less their mean, by the root of their sum of squares."""
    found = np.zeros(values.shape)
    for row, out in zip(values, found, strict=True):
        at = np.flatnonzero(np.isfinite(row))
        n = len(at)
        _, kind, size = np.unique(row[at], return_inverse=True, return_counts=True)
        rank = (np.cumsum(size) - size + (size + 1) / 2)[kind.reshape(-1)]
        square = (n**3 - n - float((size.astype(float) ** 3 - size).sum())) / 12
        out[at] = (rank - (n + 1) / 2) / np.sqrt(square if square > 0 else 1.0)
    return found


def put(values, rows):
    """All of `values`, so many rows at a time."""
    found = np.full(values.shape, 7.0)
    ranked = CentredRanks(rows, values.shape[1])
    for k in range(0, len(values), rows):
        ranked.put(values[k : k + rows], np.isfinite(values[k : k + rows]), found[k : k + rows])
    return found


KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "near a large number": lambda random, shape: 1e12 + random.normal(size=shape),
    "heavy": lambda random, shape: np.exp(4 * random.normal(size=shape)),
    "one far out": lambda random, shape: random.normal(size=shape) + 1e18 * (random.random(shape) < 0.01),
    "whole numbers": lambda random, shape: random.integers(0, 50, shape).astype(float),
    "mostly nothing": lambda random, shape: random.random(shape) * (random.random(shape) < 0.1),
    "rising": lambda random, shape: np.sort(random.normal(size=shape), axis=1),
    "falling": lambda random, shape: -np.sort(random.normal(size=shape), axis=1),
    "constant": lambda random, shape: np.full(shape, random.normal()),
}


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5),
    st.sampled_from([1, 2, 37, 1000, 5000]),
    st.sampled_from([0.0, 0.3]),
    st.integers(1, 5),
)
@settings(max_examples=60, deadline=None)
def test_centred_ranks_are_exactly_those_by_argument(seed, kinds, n, missing, rows):
    random = np.random.default_rng(seed)
    values = np.concatenate([KINDS[kind](random, (1, n)) for kind in kinds])
    holes = random.random(values.shape) < missing
    values[holes & (random.random((len(values), 1)) < 0.5)] = np.nan
    values[holes & (random.random(values.shape) < 0.1)] = np.inf
    assert np.array_equal(put(values, rows), by_argument(values))


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=60))
def test_whatever_the_values_are(values):
    row = np.array([values])
    assert np.array_equal(put(row, 1), by_argument(row))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_they_are_the_ranks_centred(kind):
    values = KINDS[kind](np.random.default_rng(5), (3, 400))
    assert np.allclose(put(values, 2), centred(ranks(values))[0], atol=1e-12)
