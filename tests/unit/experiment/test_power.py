"""How many replicates, how long a window: against experiments that were drawn."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.errors import InputError
from satline.experiment.variance import effective_size, observations_needed, replicates_needed
from satline.experiment.variance._power import power_of_factor, smallest_seen, window_variance
from satline.experiment.variance.pilot import of_series, pilot


def test_an_effect_is_seen_as_often_as_promised() -> None:
    """1,500 experiments with three levels, the outer ones 1.5 apart and the others midway."""
    rng = np.random.default_rng(4)
    needed = replicates_needed([3], 1.5, 1.0)
    assert needed is not None
    n = needed.replicates
    means = np.array([-0.75, 0.75, 0.0])
    y = rng.normal(size=(1500, 3, n)) + means[None, :, None]
    between = n * y.mean(axis=2).var(axis=1, ddof=1)
    within = y.var(axis=2, ddof=1).mean(axis=1)
    from satline.stats import f_quantile

    seen = float(np.mean(between / within > f_quantile(0.05, 2, needed.error_freedom)))
    assert seen == pytest.approx(needed.power, abs=0.03)


@settings(deadline=None)
@given(st.floats(0.2, 3.0), st.floats(0.1, 3.0), st.integers(2, 5))
def test_one_replicate_fewer_would_not_do(difference: float, deviation: float, levels: int) -> None:
    needed = replicates_needed([levels, 2], difference, deviation)
    if needed is None:
        return
    assert needed.power >= 0.8
    n = needed.replicates - 1
    freedom = levels * 2 * n - 1 - (levels + levels - 1)
    fewer = min(power_of_factor(difference, deviation, k, levels * 2 * n / k, freedom) for k in (levels, 2))
    assert fewer < 0.8


def test_the_smallest_that_is_seen_is_seen_four_times_in_five() -> None:
    from satline.experiment.variance._power import power_of_contrast

    assert power_of_contrast(smallest_seen(0.3, 9), 0.3, 9) == pytest.approx(0.8, abs=1e-6)
    assert power_of_contrast(1.0, 1.0, 0) == 0.0


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_autocorrelated_observations_are_worth_fewer(phi: float) -> None:
    n = 50
    exact = np.fromfunction(lambda i, j: np.sign(phi) ** abs(i - j) * abs(phi) ** abs(i - j), (n, n))
    if phi == 0.0:
        exact = np.eye(n)
    assert effective_size(n, phi) == pytest.approx(n * n / float(exact.sum()), rel=1e-9)
    assert effective_size(1, phi) == pytest.approx(1.0)


def test_a_window_long_enough_and_one_that_never_is() -> None:
    count = observations_needed([2, 2], 0.2, 0.9, 0.8, 3, between=0.05)
    assert count is not None
    scatter = math.sqrt(window_variance(count, 0.9, 0.8, 0.05))
    needed = replicates_needed([2, 2], 0.2, scatter)
    assert needed is not None
    assert needed.replicates == 3
    assert (
        replicates_needed([2, 2], 0.2, math.sqrt(window_variance(count - 1, 0.9, 0.8, 0.05))) or needed
    ).replicates > 3
    assert observations_needed([2, 2], 0.2, 0.9, 0.8, 3, between=1.0) is None


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
def test_a_pilot_tells_scatter_and_autocorrelation(phi: float) -> None:
    """On average over 300 pilots of 3 runs with 150 observations; what the runs differ by does no harm."""
    rng = np.random.default_rng(8)
    found = []
    for _ in range(300):
        e = rng.normal(size=(3, 150)) * math.sqrt(1.0 - phi**2)
        x = np.empty((3, 150))
        x[:, 0] = rng.normal(size=3)
        for t in range(1, 150):
            x[:, t] = phi * x[:, t - 1] + e[:, t]
        one = of_series([2.0 * run + 50.0 * k for k, run in enumerate(x)])
        found.append((one.correlation, one.deviation**2))
    correlation, variance = np.mean(found, axis=0)
    assert correlation == pytest.approx(phi, abs=0.01)
    assert variance == pytest.approx(4.0, rel=0.05)


def test_what_is_no_pilot(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("y\n" + "1\n" * 19)
    with pytest.raises(InputError, match="a run has 19 observations"):
        pilot(path, "y")
    path.write_text("y\n" + "1\n" * 30)
    with pytest.raises(InputError, match="are alike"):
        pilot(path, "y")
    path.write_text("y\n" + "".join(f"{i}\n" for i in range(60)))
    with pytest.raises(InputError, match="too short to tell"):
        pilot(path, "y")
