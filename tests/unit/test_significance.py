"""Intervals of shares."""

import pytest

from satline.significance import wilson


def test_none_of_ten_is_not_never() -> None:
    low, high = wilson(0.0, 10)
    assert (low, high) == (0.0, pytest.approx(0.2775, abs=1e-4))


def test_no_cases_tell_nothing() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)
