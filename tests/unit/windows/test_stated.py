"""What a workload states of its draws."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from satline import share
from satline.errors import InputError
from satline.windows.stated import Stated, mean_think_s

PLACES = (np.arange(100_000) + 0.5) / 100_000
NORMAL = np.array([NormalDist().inv_cdf(place) for place in PLACES])
SIGMA = np.log1p(0.5625) ** 0.5


@pytest.mark.parametrize(
    ("key", "quantiles"),
    [
        ({"distribution": "fixed", "mean_seconds": 2.0}, np.full(2, 2.0)),
        ({"distribution": "exponential", "mean_seconds": 2.0}, -2.0 * np.log1p(-PLACES)),
        ({"distribution": "exponential", "mean_seconds": 0.0}, np.zeros(2)),
        (
            {"distribution": "lognormal", "mean_seconds": 2.0, "sd_seconds": 1.5},
            2 / 1.5625**0.5 * np.exp(SIGMA * NORMAL),
        ),
        ({"distribution": "lognormal", "mean_seconds": 2.0, "sd_seconds": 0.0}, np.full(2, 2.0)),
        (
            {"distribution": "table", "quantiles_seconds": [0.4, 0.4, 7.9, 118.0]},
            np.interp(PLACES * 3, range(4), [0.4, 0.4, 7.9, 118.0]),
        ),
    ],
)
@pytest.mark.parametrize("cut", [{}, {"minimum_seconds": 1.0, "maximum_seconds": 5.0}])
def test_means_hold_for_draws_that_are_cut(key: dict[str, Any], quantiles: Any, cut: dict[str, Any]) -> None:
    expected = np.clip(quantiles, cut.get("minimum_seconds", 0), cut.get("maximum_seconds", 86_400)).mean()
    assert mean_think_s({**key, **cut}) == pytest.approx(expected, rel=2e-4)


def test_a_shipped_workload_is_read() -> None:
    text = (share.path("workloads") / "mixed-interactive.toml").read_text()
    stated = Stated.read(text)
    assert stated.shares["programmer"] == pytest.approx(
        {"edit": 0.35, "compile": 0.2, "run": 0.25, "look": 0.2}
    )
    assert stated.think_s["editor"] == pytest.approx(0.1 + 1.2 * (np.exp(-0.1 / 1.2) - np.exp(-10)))


def test_an_open_system_states_no_think_times() -> None:
    script = '[[script]]\nname = "s"\n[[script.command]]\nclass = "c"\ninput = "true"\n'
    assert Stated.read(f'name = "x"\narrivals = {{ per_second = 2.0 }}\n{script}').think_s == {}
    assert Stated.read(f'name = "x"\n{script}').think_s["s"] == pytest.approx(2.0, rel=0.01)


def test_what_is_no_workload_is_refused() -> None:
    for text in ("a = ", 'name = "x"', '[[script]]\nname = "s"'):
        with pytest.raises(InputError, match="no workload file"):
            Stated.read(text)
