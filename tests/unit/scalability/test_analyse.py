"""The laws against published fits, against another way to the same intervals, and on odd tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from satline.errors import InputError
from satline.scalability import Scalability, Table, Value, analyse
from satline.scalability._families import laws
from satline.scalability._region import Levels, least, region
from satline.stats import t_quantile

# Data set raytracer of the R package usl: 64 processors of an SGI Origin 2000.
PROCESSORS = (1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64)
TRACED = (20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310)
# Data set specsdm91 of the same.
LOAD = (1, 18, 36, 72, 108, 144, 216)
SCRIPTS = (64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2)


def table(load: Sequence[float], rate: Sequence[float], response: Sequence[float] | None = None) -> Table:
    return Table(
        Path("t.csv"),
        np.array(load, dtype=np.float64),
        np.array(rate, dtype=np.float64),
        None if response is None else np.array(response, dtype=np.float64),
        tuple(range(2, len(load) + 2)),
        "N",
        "X",
        "per second",
    )


def answer(load: Sequence[float], rate: Sequence[float], **more: object) -> Scalability:
    return analyse(table(load, rate), **more)  # type: ignore[arg-type]


def law(load: np.ndarray, rate: float, contention: float, coherency: float) -> np.ndarray:
    return rate * load / (1 + contention * (load - 1) + coherency * load * (load - 1))


def holds(value: Value, truth: float) -> bool:
    assert value.low is not None
    assert value.high is not None
    return value.low <= truth <= value.high


def test_raytracer_has_the_published_coefficients() -> None:
    # first six rows: github.com/smoeding/usl, tests/confint.Rout.save
    usl = answer(PROCESSORS[:6], TRACED[:6]).usl
    assert usl is not None
    assert usl.contention.value == pytest.approx(0.02444, abs=5e-6)
    assert usl.coherency.value == pytest.approx(0.00163, abs=5e-6)
    assert usl.rate.value == pytest.approx(20.85605, abs=1e-5)


def test_all_of_raytracer_has_no_peak_as_its_vignette_says() -> None:
    # vignettes/usl.Rnw of version 3: "With beta = 0 the model indicates no coherency penalty [...] the
    # predicted throughput never reaches a maximum", "the true beta might in fact not really be zero"
    found = answer(PROCESSORS, TRACED, at=[96, 128])
    assert found.usl is not None
    assert found.usl.coherency.value == 0
    assert found.usl.coherency.high is not None
    assert found.usl.coherency.high > 0
    assert found.usl.peak.value == math.inf
    assert not found.usl.peak_in_range
    assert found.usl.limit == pytest.approx(found.usl.rate.value / found.usl.contention.value)
    assert found.better == "amdahl"
    assert found.outcome == "partly-known"
    assert found.headline.startswith("No peak within the range seen")
    assert [r.extrapolated for r in found.rows if r.load > 64] == [True, True]


def test_specsdm91_has_the_published_coefficients_peak_and_fitted_values() -> None:
    # tests/summary.Rout.save, peak-scalability.Rout.save, limit-scalability.Rout.save, predict.Rout.save
    found = answer(LOAD, SCRIPTS)
    usl = found.usl
    assert usl is not None
    assert usl.contention.value == pytest.approx(2.773e-2, rel=2e-4)
    assert usl.coherency.value == pytest.approx(1.044e-4, rel=5e-4)
    assert usl.rate.value == pytest.approx(89.995, rel=1e-4)
    assert usl.peak.value == pytest.approx(96.51956, rel=1e-4)
    assert usl.limit == pytest.approx(3245.589, rel=1e-4)
    fitted = [r.usl.value for r in found.rows if r.usl is not None and not r.extrapolated]
    assert fitted == pytest.approx([90, 1078, 1541, 1850, 1879, 1822, 1646], abs=0.6)
    residual = next(c.residual for c in found.compared if c.law == "usl")
    assert residual == pytest.approx(82.85, abs=0.01)


@pytest.mark.parametrize(
    ("load", "rate", "errors"),
    # standard errors: tests/summary.Rout.save; of the six by their intervals, which are ± t(0.9, 5) errors
    [
        (LOAD, SCRIPTS, (9.122e-3, 1.988e-5, 14.21)),
        (PROCESSORS[:6], TRACED[:6], tuple(x / 2.015048 for x in (0.016905, 0.000525, 1.58887))),
    ],
)
def test_intervals_are_as_wide_as_published_standard_errors_say(
    load: Sequence[float], rate: Sequence[float], errors: tuple[float, ...]
) -> None:
    # profiles are skewed where value ± t·error is not; their widths are alike
    usl = answer(load, rate).usl
    assert usl is not None
    t = t_quantile(0.95, len(load) - 3)
    for value, error in zip((usl.contention, usl.coherency, usl.rate), errors, strict=True):
        assert value.low is not None
        assert value.high is not None
        assert value.low <= value.value <= value.high
        assert value.high - value.low == pytest.approx(2 * t * error, rel=0.35)


def test_a_profile_ends_where_an_exhaustive_search_says() -> None:
    random = np.random.default_rng(5)
    load = np.array([1.0, 2, 4, 8, 16, 24, 32, 48, 64])
    rate = law(load, 100, 0.03, 0.0008) + 25 * random.normal(size=9)
    levels = Levels(load, np.ones(9), rate, np.log(rate), 0.0, 0.0)
    at_best = least(levels, laws(load)[0], "equal")
    found = region(levels, at_best, at_best.left * t_quantile(0.95, 6) ** 2 / 6)
    sigma, kappa = np.meshgrid(np.linspace(0, 0.4, 1201), np.linspace(0, 0.008, 1201), indexing="ij")
    shape = load / (1 + sigma[..., None] * (load - 1) + kappa[..., None] * load * (load - 1))
    scale = (shape * rate).sum(axis=2) / (shape**2).sum(axis=2)
    left = ((rate - scale[..., None] * shape) ** 2).sum(axis=2)
    best = left.min()
    inside = left <= at_best.left * (1 + t_quantile(0.95, 6) ** 2 / 6)
    assert best * (1 - 2e-3) <= at_best.left <= best
    for ends, axis in (
        (found.interval(lambda p: p.first), sigma),
        (found.interval(lambda p: p.second), kappa),
    ):
        within = 2.5 * float(axis.max()) / 1200
        assert ends[0] == pytest.approx(float(axis[inside].min()), abs=within)
        assert ends[1] == pytest.approx(float(axis[inside].max()), abs=within, rel=0.01)
    peaks = np.sqrt((1 - sigma) / np.maximum(kappa, 1e-30))[inside]
    assert found.interval(lambda p: np.sqrt((1 - p.first) / np.maximum(p.second, 1e-30)))[0] == pytest.approx(
        float(peaks.min()), rel=0.02
    )


def test_a_knee_a_peak_and_a_straight_line_are_told_apart() -> None:
    random = np.random.default_rng(2)
    load = np.array([1.0, 2, 4, 8, 12, 16, 24, 32, 48, 64])
    noise = 1 + 0.01 * random.normal(size=10)
    knee = answer(load, 10 * np.minimum(load, 14) * noise)
    assert (knee.outcome, knee.better) == ("saturated", "broken-line")
    assert knee.at is not None
    assert knee.at.low <= 14 <= knee.at.high
    peak = answer(load, law(load, 10, 0.02, 0.002) * noise)
    assert (peak.outcome, peak.better) == ("saturated", "usl")
    assert peak.at is not None
    assert peak.at.low <= math.sqrt(0.98 / 0.002) <= peak.at.high
    assert "falls beyond" in peak.headline
    straight = answer(load, 10 * load * noise)
    assert (straight.outcome, straight.at) == ("not-saturated", None)
    gradual = answer(load, law(load, 10, 0.06, 0) * noise)
    assert gradual.outcome == "partly-known"
    assert "still rises" in gradual.headline


def test_the_point_where_errors_are_surely_relative_is_that_of_logarithms() -> None:
    random = np.random.default_rng(8)
    load = np.repeat([1.0, 3, 10, 30, 100, 300], 4)
    rate = law(load, 10, 0.01, 0.00001) * np.exp(0.1 * random.normal(size=24))
    found = answer(load, rate)
    assert found.errors == "in proportion to throughput"
    assert found.error_source == "repeated rows"
    assert found.usl is not None
    assert holds(found.usl.rate, 10)
    assert found.usl.rate.value == pytest.approx(10, rel=0.15)


def test_repeated_rows_tell_the_error_unless_the_law_misses() -> None:
    load = np.repeat([1.0, 2, 4, 8, 16, 32], 3)
    wiggle = np.tile([0.99, 1.0, 1.01], 6)
    right = answer(load, law(load, 10, 0.05, 0.001) * wiggle)
    assert right.error_source == "repeated rows"
    assert right.misfit is not None
    assert right.misfit > 0.05
    wrong = answer(load, law(load, 10, 0.05, 0.001) * wiggle * np.repeat([1, 1.3, 0.8, 1.2, 0.8, 1.2], 3))
    assert wrong.error_source == "misfit"
    assert any("misses" in text for text in wrong.warnings)


def test_repeated_rows_that_follow_each_other_are_one_measurement() -> None:
    random = np.random.default_rng(4)
    load = np.repeat([1.0, 2, 4, 8, 16, 32], 200)
    drift = np.zeros(1200)
    for k in range(1, 1200):
        drift[k] = 0.95 * drift[k - 1] + 0.01 * random.normal()
    found = answer(load, law(load, 10, 0.05, 0.001) * np.exp(drift))
    assert found.error_source == "residuals"
    assert any("resemble" in text for text in found.warnings)


def test_few_rows_say_less() -> None:
    one = answer([8], [70])
    assert (one.better, one.usl, one.outcome) == ("bounds", None, "partly-known")
    assert one.headline.startswith("One load only")
    assert one.bounds.cycle_s == pytest.approx(8 / 70)
    two = answer([1, 8], [10, 70])
    assert (two.better, two.usl, two.broken_line) == ("bounds", None, None)
    assert two.headline.startswith("Two loads only")
    assert two.rows[-1].bound_high == pytest.approx(16 * 70 / 8)
    three = answer([1, 8, 16], [10, 70, 110])
    assert three.headline.startswith("Three loads")
    assert three.usl is not None
    assert (three.usl.contention.low, three.usl.contention.high) == (None, None)
    assert three.broken_line is None
    assert all(r.usl is not None and r.usl.low is None for r in three.rows)
    four = answer([1, 8, 16, 32], [10, 70, 110, 150])
    assert four.usl is not None
    assert four.usl.contention.low is not None


@pytest.mark.parametrize(
    "rate",
    [
        [100.0] * 6,
        [100.0, 90, 80, 70, 60, 50],
        [100.0, 90, 40, 10, 1, 0.1],
        [1e14, 2e14, 3e14, 4e14, 5e14, 6e14],
        [1e-9, 2e-9, 3e-9, 4e-9, 4e-9, 4e-9],
        [1.0, 100, 1, 100, 1, 100],
        [0.0, 0, 0, 0, 0, 5],
        [10.0, 20, 30, 40, 50, 0],
        [1.0, 4, 9, 16, 25, 36],
    ],
)
def test_odd_throughputs_have_an_answer_that_claims_no_knee(rate: list[float]) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = answer([1, 2, 3, 4, 5, 6], rate)
    assert found.headline
    flattening = rate[0] == 1e-9
    assert found.outcome == "partly-known" or found.outcome == "not-saturated" or flattening
    for row in found.rows:
        assert row.usl is None or math.isfinite(row.usl.value)


def test_throughput_that_does_not_rise_is_saturated_at_or_below_the_lightest() -> None:
    for rate in ([100, 101, 99, 100, 102, 98], [100, 92, 79, 71, 60, 50]):
        found = answer([10, 20, 30, 40, 50, 60], rate)
        assert found.outcome == "partly-known"
        assert "from the lightest load, 10 users, on" in found.headline
        assert "lighter" in found.advice[0]


def test_a_collapse_is_said() -> None:
    found = answer([1, 2, 4, 8, 16], [10, 20, 40, 75, 0])
    assert any("throughput is 0 at 16" in text for text in found.warnings)
    with pytest.raises(InputError, match="no throughput above 0"):
        answer([1, 2], [0, 0])


def test_loads_in_any_order_below_one_and_far_apart() -> None:
    load = np.array([64.0, 1, 16, 4, 32, 8])
    same = [answer(n, law(n, 10, 0.05, 0.001)).usl for n in (load, np.sort(load))]
    assert same[0] == same[1]
    parts = answer([0.1, 0.2, 0.4, 0.8, 1.6, 3.2], [1, 2, 3.9, 7, 11, 13])
    assert parts.usl is not None
    assert math.isfinite(parts.usl.rate.value)
    wide = answer([1, 10, 1e3, 1e6, 1e9, 1e12], [1, 9, 500, 900, 1000, 990])
    assert wide.usl is not None
    assert math.isfinite(wide.usl.contention.value)


def test_littles_law_gives_think_time_and_finds_what_cannot_be() -> None:
    load = np.array([1.0, 5, 10, 20, 40, 80])
    rate = np.array([9.9, 48.9, 95, 150, 148, 152])
    response = load / rate - 0.09
    good = analyse(table(load, rate, response))
    assert good.little is not None
    assert good.little.think_s.value == pytest.approx(0.09)
    assert good.little.saturation == pytest.approx(152 / 9.9)
    assert not good.little.impossible
    assert not good.warnings
    row = next(r for r in good.rows if r.load == 20)
    assert row.predicted_response_s == pytest.approx(float(response[3]), rel=0.15)
    wrong = analyse(table(load, rate, 20 * load / rate))
    assert wrong.little is not None
    assert wrong.little.impossible == tuple(load)
    assert any("Little" in text for text in wrong.warnings)
    held = analyse(table(load, rate, np.full(6, 0.01)))
    assert any("not in the response" in text for text in held.warnings)


def test_a_hundred_thousand_loads_are_joined() -> None:
    random = np.random.default_rng(6)
    load = random.uniform(1, 500, size=100_000)
    found = answer(load, law(load, 10, 0.01, 0.00004) * (1 + 0.05 * random.normal(size=len(load))))
    assert any("joined" in text for text in found.warnings)
    assert found.usl is not None
    assert found.usl.peak.value == pytest.approx(math.sqrt(0.99 / 0.00004), rel=0.05)
    assert len(found.rows) <= 14


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # a small part of benches/scalability/run.py
    load = np.array([1.0, 2, 4, 8, 16, 24, 32, 48, 64])
    held = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        rate = law(load, 100, 0.04, 0.001) * (1 + 0.05 * random.normal(size=9))
        usl = answer(load, rate).usl
        assert usl is not None
        held += [holds(usl.contention, 0.04), holds(usl.coherency, 0.001), holds(usl.peak, math.sqrt(960))]
    assert np.mean(held) >= 0.88
