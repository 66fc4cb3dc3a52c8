"""Correlation: coefficients with missing data, honest chances, what is taken out, groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.correlation import Name, Panel, correlate, layers
from satline.correlation._chance import fold
from satline.correlation._given import residuals
from satline.correlation._kernel import One, Room, Sums, centred, fast_length, lagged
from satline.correlation._panel import even
from satline.correlation._ranks import ranks
from satline.correlation._shifts import shift_of
from satline.errors import InputError
from satline.stats import false_discoveries

pytestmark = pytest.mark.slow


def autocorrelated(random, series, moments, phi):
    e = random.normal(size=(series, moments + 200))
    x = np.zeros_like(e)
    for t in range(1, e.shape[1]):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x[:, 200:]


def daily(random, series, moments):
    t = np.arange(moments)
    size = random.uniform(0.5, 1.5, (series, 1))
    return 0.6 * autocorrelated(random, series, moments, 0.8) + 2 * size * np.sin(
        2 * np.pi * t / (moments / 7)
    )


def panel_of(values, **options):
    return Panel.of({f"s{k}": v for k, v in enumerate(values)}, **options)


def test_the_planted_culprit_is_found_with_its_lag_and_decoys_are_not():
    random = np.random.default_rng(3)
    values = autocorrelated(random, 300, 2000, 0.8)
    values[0, 4:] += 1.5 * values[7, :-4]  # s7 comes four moments before the PQM
    found = correlate(panel_of(values, step_s=10.0), "s0", lags=10)
    assert [str(h.name) for h in found.found] == ["s7"]
    hit = found.found[0]
    assert (hit.lag, hit.lag_s) == (4, 40.0)
    assert hit.pearson > 0.5
    assert hit.spearman > 0.5
    assert found.tested == 299


@pytest.mark.parametrize("kind", ["white", "strongly autocorrelated", "daily", "trends", "spikes", "heavy"])
def test_pure_noise_gives_discoveries_in_no_more_panels_than_the_rate(kind):
    """With nothing true every discovery is false, so that the rate is that of panels with any: 5 % of 20."""
    panels = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        n, m = 700, 80
        if kind == "white":
            values = random.normal(size=(m, n))
        elif kind == "strongly autocorrelated":
            values = autocorrelated(random, m, n, 0.97)
        elif kind == "daily":
            values = daily(random, m, n)
        elif kind == "trends":
            values = random.normal(size=(m, 1)) * np.linspace(-5, 5, n) + random.normal(size=(m, n))
        elif kind == "spikes":
            values = (random.random((m, n)) < 4 / n).astype(float)
            values = values[np.ptp(values, axis=1) > 0]
        else:
            values = np.exp(1.5 * autocorrelated(random, m, n, 0.5))
        panels += bool(correlate(panel_of(values), "s0", lags=10).found)
    assert panels <= 3  # P(more than 3 | 20, 0.05) = 1.6 %


def test_a_naive_test_fails_on_that_noise():
    """The noise above is no easy one."""
    random = np.random.default_rng(1)
    values = daily(random, 80, 700)
    r = np.corrcoef(values)[0, 1:]
    assert (np.abs(np.arctanh(r)) * np.sqrt(700 - 3) > 5).all()


def test_what_the_clock_brings_goes_with_the_time_of_day_and_what_is_left_is_found():
    random = np.random.default_rng(5)
    values = daily(random, 60, 7 * 96)
    values[0] += 1.2 * (values[3] - 2 * np.sin(2 * np.pi * np.arange(7 * 96) / 96))
    panel = panel_of(values, step_s=900.0)
    assert not correlate(panel, "s0", lags=8).found
    assert [str(h.name) for h in correlate(panel, "s0", lags=8, given=["time-of-day"]).found] == ["s3"]


def test_at_equal_load_the_common_cause_is_gone():
    from dataclasses import replace

    random = np.random.default_rng(6)
    load = autocorrelated(random, 1, 1500, 0.7)[0]
    values = random.normal(size=(20, 1500))
    values[0] += load
    values[1] += load**2 + load
    panel = replace(panel_of(values), load=load, load_axis="active_users")
    assert [str(h.name) for h in correlate(panel, "s0", lags=3).found] == ["s1"]
    assert not correlate(panel, "s0", lags=3, given=["load"]).found


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.4), st.integers(-3, 3), st.integers(57, 64))
@settings(max_examples=80, deadline=None)
def test_coefficients_are_those_of_the_pairs_that_are_there(seed, missing, lag, n):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(3, n)) * 1e6 + 1e9, random.normal(size=n)
    x[random.random(x.shape) < missing] = np.nan
    y[random.random(n) < missing] = np.nan
    c, present = centred(x)
    one, sums = One(y, np.arange(-3, 4)), Sums(*np.empty((6, 3, 7)))
    one.against(c, present, Room(3, n), sums)
    one.complete(c, sums)
    found = lagged(sums, 5)
    later = np.full(n, np.nan)
    if lag >= 0:
        later[: n - lag] = y[lag:]
    else:
        later[-lag:] = y[:lag]
    for k in range(3):
        both = np.isfinite(x[k]) & np.isfinite(later)
        assert found.pairs[k, lag + 3] == both.sum()
        if both.sum() >= 5:
            expected = np.corrcoef(x[k][both], later[both])[0, 1]
            assert found.r[k, lag + 3] == pytest.approx(expected, abs=1e-7)
        else:
            assert np.isnan(found.r[k, lag + 3])


def test_a_series_takes_two_transforms_and_two_back_whatever_the_lags(monkeypatch):
    """Of its values and its ranks; the one, and the pattern of what is there, take theirs once."""
    random = np.random.default_rng(12)
    rows = {"rfft": 0, "irfft": 0}

    def counted(name):
        true = getattr(np.fft, name)

        def transform(x, n=None, **options):
            rows[name] += len(x) if n == 400 and np.ndim(x) == 2 else 0
            return true(x, n=n, **options)

        return transform

    for name in rows:
        monkeypatch.setattr(np.fft, name, counted(name))
    made = []
    for series, lags in ((41, 2), (81, 2), (81, 50)):
        rows.update(rfft=0, irfft=0)
        correlate(panel_of(random.normal(size=(series, 400))), "s0", lags=lags)
        made.append(dict(rows))
    assert made[1] == made[2]
    assert [made[1][name] - made[0][name] for name in rows] == [2 * 40, 2 * 40]


def test_of_lags_that_are_equally_likely_the_first_is_taken():
    values = np.zeros((2, 400))
    values[0, 200], values[1, 100] = 1.0, 1.0
    assert [h.lag for h in correlate(panel_of(values), "s0", lags=20).hits] == [-20]


@given(st.lists(st.one_of(st.integers(-5, 5).map(float), st.just(float("nan"))), min_size=1, max_size=40))
def test_ranks_share_ties_and_leave_holes(values):
    x = np.array(values)
    got = ranks(x[None, :])[0]
    for value, rank in zip(x, got, strict=True):
        if np.isnan(value):
            assert np.isnan(rank)
        else:
            good = x[np.isfinite(x)]
            assert rank == (good < value).sum() + ((good == value).sum() + 1) / 2


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 100), st.floats(-1e6, 1e6))
@settings(max_examples=15, deadline=None)
def test_units_do_not_matter(seed, scale, offset):
    random = np.random.default_rng(seed)
    values = autocorrelated(random, 6, 120, 0.5)
    changed = values * scale + offset
    one, other = (correlate(panel_of(v), "s0", lags=3) for v in (values, changed))
    for a, b in zip(one.hits, other.hits, strict=True):
        assert (a.name, a.lag) == (b.name, b.lag)
        assert a.p == pytest.approx(b.p, rel=1e-3, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_chances_keep_their_order_and_never_fall_below(p):
    p = np.array(p)
    q, strict = false_discoveries(p), false_discoveries(p, any_dependence=True)
    assert (q >= p - 1e-12).all()
    assert (strict >= q - 1e-12).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= -1e-12).all()


def test_near_identical_series_are_one_row_with_its_members():
    random = np.random.default_rng(2)
    values = random.normal(size=(6, 400))
    values[0] += 2 * values[1]
    values[2] = -3 * values[1] + 0.001 * random.normal(size=400)
    found = correlate(panel_of(values), "s0", lags=2)
    assert [{str(m) for m in h.members} for h in found.found] == [{"s1", "s2"}]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
@settings(max_examples=30)
def test_folding_parts_the_series_into_groups(seed, n):
    matrix = np.corrcoef(np.random.default_rng(seed).normal(size=(n + 1, 4)))
    groups = fold(matrix, range(n + 1), 0.8)
    assert sorted(k for g in groups for k in g) == list(range(n + 1))
    for a, *others in groups:
        assert all(abs(matrix[a, k]) >= 0.8 for k in others)


def test_series_made_of_the_same_counters_are_left_out_unless_asked_for():
    random = np.random.default_rng(4)
    x = random.normal(size=(3, 200))
    names = [
        Name("busy", "sda", "device", made_of=frozenset({"d_busy_us"})),
        Name("service", "sda", "device", made_of=frozenset({"d_busy_us", "d_reads"})),
        Name("busy", "sdb", "device", made_of=frozenset({"d_busy_us"})),
    ]
    panel = Panel.of(list(zip(names, x, strict=True)))
    found = correlate(panel, "busy@sda", lags=2)
    assert [str(n) for n in found.related] == ["service@sda"]
    assert [str(h.name) for h in found.hits] == ["busy@sdb"]
    assert correlate(panel, "busy@sda", lags=2, related=True).tested == 2


def test_level_shifts_at_the_same_time_are_marked():
    random = np.random.default_rng(8)
    values = autocorrelated(random, 12, 1200, 0.5)
    for k in (0, 1, 2):
        values[k, 700:] += 6
    values[3, 200:] += 6
    found = correlate(panel_of(values), "s0", lags=5)
    assert found.shift is not None
    assert abs(found.shift.place - 700) <= 3
    assert {str(h.name) for h in found.hits if h.shift is not None} <= {"s1", "s2"}
    marked = {str(m) for h in found.hits if h.shift is not None for m in h.members}
    assert {"s1", "s2"} <= marked


def test_noise_does_not_shift():
    random = np.random.default_rng(9)
    shifts = [shift_of(x) for x in autocorrelated(random, 150, 600, 0.9)]
    assert sum(s is not None for s in shifts) <= 3


def test_residuals_leave_nothing_of_what_is_given_and_keep_holes():
    random = np.random.default_rng(10)
    design = np.stack([np.ones(50), np.arange(50.0)], axis=1)
    values = np.stack([3 + 2 * np.arange(50.0), random.normal(size=50)])
    values[1, 7] = np.nan
    left = residuals(values, design)
    assert np.abs(left[0]).max() == 0
    assert np.isnan(left[1, 7])
    good = np.isfinite(left[1])
    assert np.abs(design[good].T @ left[1][good]).max() < 1e-9


@given(st.lists(st.integers(-3, 400), min_size=1, max_size=40), st.integers(0, 20))
def test_places_on_the_axis_rise_and_gaps_are_cut(steps, gap):
    """A clock that steps back, or a gap of any length, never brings two observations to one place."""
    middle = np.cumsum(np.array(steps, dtype=np.int64)) * 10**9
    place, count = even(np.ones(len(steps), dtype=np.int64), middle, 1e9, gap)
    assert place[0] == 0
    assert (np.diff(place) >= 1).all()
    assert (np.diff(place) <= gap + 1).all()
    assert count == place[-1] + 1


def test_no_lag_reaches_from_one_run_to_the_next():
    place, _ = even(np.array([1, 1, 2, 2]), np.array([0, 10, 20, 30]) * 10**9, 10e9, 5)
    assert place.tolist() == [0, 1, 7, 8]


@given(st.integers(1, 5000))
def test_fast_lengths_have_small_factors(n):
    k = fast_length(n)
    assert n <= k < 2 * n + 1
    for prime in (2, 3, 5):
        while k % prime == 0:
            k //= prime
    assert k == 1


def test_wrong_input_is_told():
    random = np.random.default_rng(11)
    panel = panel_of(random.normal(size=(3, 100)))
    with pytest.raises(InputError, match="no changing series t0"):
        correlate(panel, "t0")
    with pytest.raises(InputError, match="lags of 30"):
        correlate(panel, "s0", lags=30)
    with pytest.raises(InputError, match="does not change"):
        correlate(panel_of(np.stack([np.ones(100), np.arange(100.0)])), "s0", lags=2)
    with pytest.raises(InputError, match="not known"):
        correlate(panel, "s0", lags=2, given=["weather"])
    with pytest.raises(InputError, match="do not show"):
        correlate(panel, "s0", lags=2, given=["time-of-day"])


def test_layers_are_ordered_by_size_and_the_rest_is_together():
    values = np.outer([5.0, 1.0, 3.0], np.ones(10)) + np.arange(10)
    names = [Name("user_cpu", n, "user", "s/s") for n in ("a", "b", "\x1b[31mc")]
    found = layers(Panel.of(list(zip(names, values, strict=True))), "user_cpu", most=2)
    assert found.names == ("a", "\x1b[31mc", "all 1 others")
    assert sum(found.share) == pytest.approx(1)
    with pytest.raises(InputError, match="--layers cpu"):
        layers(Panel.of({"x": np.arange(5.0)}), "cpu")
