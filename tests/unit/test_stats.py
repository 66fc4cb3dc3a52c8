"""Distributions against printed and closed values, intervals of shares; who loads scipy."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.importers import Sink
from satline.stats import f_power, f_quantile, f_tail, isotonic, t_quantile, t_two_sided, wilson

freedoms = st.floats(0.5, 1e4)


def test_none_of_ten_is_not_never() -> None:
    low, high = wilson(0.0, 10)
    assert (low, high) == (0.0, pytest.approx(0.2775, abs=1e-4))


def test_no_cases_tell_nothing() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


@given(st.floats(1e-12, 0.999), st.floats(0.5, 50), freedoms)
def test_a_quantile_of_f_has_its_tail_however_small(tail: float, above: float, below: float) -> None:
    f = f_quantile(tail, above, below)
    if 1e-100 < f < 1e100:
        # With few degrees of freedom a last digit of f is several of the tail. Below one, which nobody asks
        # for, scipy gives no f closer to 0 than about 2e-16 times the other number of them.
        assert f_tail(f, above, below) == pytest.approx(tail, rel=1e-7 if above >= 1 else 2e-4)


@given(st.floats(0.01, 0.999), freedoms)
def test_t_is_the_root_of_f(confidence: float, freedom: float) -> None:
    t = t_quantile(confidence, freedom)
    assert t_two_sided(t, freedom) == pytest.approx(1 - confidence, rel=1e-7)
    assert t * t == pytest.approx(f_quantile(1 - confidence, 1, freedom), rel=1e-6)


def test_closed_values() -> None:
    # One degree of freedom is Cauchy's distribution, two have a root.
    assert t_quantile(0.95, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-12)
    assert t_two_sided(3.0, 2) == pytest.approx(1 - 3 / math.sqrt(11), rel=1e-12)
    assert f_tail(-1.0, 2, 3) == 1.0
    assert f_power(3.0, 2, 10, 0.0) == pytest.approx(f_tail(3.0, 2, 10), rel=1e-12)


@given(st.floats(0, 5e3), st.floats(0, 5e3))
def test_more_of_an_effect_is_never_seen_less(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert f_power(4.0, 3, 20, less) <= f_power(4.0, 3, 20, more) + 1e-9
    assert 0.0 <= f_power(4.0, 3, 20, more) <= 1.0


@given(
    st.lists(
        st.tuples(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.1, 0.3])), st.floats(1e-3, 1e4)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_the_nearest_course_is_that_of_scipy(drawn: list[tuple[float, float]], rising: bool) -> None:
    from scipy.optimize import isotonic_regression

    values, weights = (np.array(column) for column in zip(*drawn, strict=True))
    # The same sums in the same order, but a machine that multiplies and adds in one step rounds once less.
    np.testing.assert_allclose(
        isotonic(values, weights, rising=rising),
        isotonic_regression(values, weights=weights, increasing=rising).x,
        rtol=1e-12,
        atol=1e-9,
    )


def test_no_values_have_no_course() -> None:
    assert isotonic(np.array([]), np.array([])).tolist() == []


def _loads(code: str, *arguments: str) -> str:
    """Modules of scipy that a fresh interpreter has loaded after `code`."""
    script = f"import sys; {code}; print(*sorted(m for m in sys.modules if m.split('.')[0] == 'scipy'))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_what_asks_for_no_chance_does_not_load_scipy(tmp_path: Path) -> None:
    number = np.arange(300)
    active = 1 + (number // 30) % 5
    sink = Sink(tmp_path / "host.satline")
    sink.start()
    sink.host(name="web1", processors=2)
    sink.begin_run()
    time = 1_795_000_000 * 10**9 + number * 2_000_000_000
    sink.table("system", time, {"context_switches": np.cumsum(active * 1000), "users_in_queue": active})
    sink.finish()
    path = tmp_path / "host.satline"
    assert _loads("import satline, satline.stats, satline.reduction, satline.diagnosis") == ""
    assert _loads("import satline.cli; satline.cli.run(sys.argv[1:])", "info", str(path)) == ""
    assert _loads("from satline.stats import f_tail; f_tail(1, 2, 3)") != ""
