"""What the hypervisor takes from a planted program is neither its run time nor its wait."""

from dataclasses import replace

import planted
import pytest

QUOTA = planted.Compared("quota", 4.0, 4.0, 8.0, 7.1, None, None, stolen=1.2)


def test_a_gap_as_long_as_what_was_stolen_is_no_error() -> None:
    assert QUOTA.error_of_sum == 0
    assert replace(QUOTA, stolen=0.5).error_of_sum == pytest.approx(-0.4)
    assert replace(QUOTA, summed=8.3).error_of_sum == pytest.approx(0.3), "nothing adds to it"
    assert replace(QUOTA, recorded=2.0).error == pytest.approx(-0.8)
    assert replace(QUOTA, recorded=None).error is None
