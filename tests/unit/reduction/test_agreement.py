"""The fast statistics against plain ones, and a whole reduction against one plain query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import MadeRecording, at

from satline.reduction import reduce
from satline.reduction._statistics import PERCENTILES, Grouped, order_statistics, point

VALUES = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 5.0]), st.integers(0, 3).map(float)
)


# An observation has some length, or none that counts.
SECONDS = st.just(0.0) | st.floats(1e-9, 10)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(VALUES, st.integers(-1, 4), SECONDS, st.integers(1, 6)), max_size=120),
    weighted=st.booleans(),
)
def test_points_of_classes_are_those_of_plain_formulas(
    rows: list[tuple[float, int, float, int]], weighted: bool
) -> None:
    values = np.array([r[0] for r in rows], dtype=float)
    number = np.array([r[1] for r in rows], dtype=np.int64)
    weights = np.array([r[2] for r in rows], dtype=float) if weighted else None
    batches = np.cumsum([r[3] == 1 for r in rows]).astype(np.int64)
    points = Grouped(number, batches, 5).points(values, weights)
    for k, p in enumerate(points):
        good = (number == k) & np.isfinite(values)
        if weights is not None:
            good &= weights > 0
        x, b, w = values[good], batches[good], None if weights is None else weights[good]
        assert p.n == len(x)
        if not len(x):
            assert p.mean is None
            continue
        size = float(np.abs(x).max()) + 1
        assert p.mean == pytest.approx(np.average(x, weights=w), abs=1e-9 * size)
        for percent in PERCENTILES:
            assert p.percentiles[percent] == pytest.approx(np.percentile(x, percent), abs=1e-9 * size)
        if len(x) == 1:
            assert p.sd is None
            continue
        if w is None:
            assert p.sd == pytest.approx(x.std(ddof=1), abs=1e-9 * size)
        count = len(np.unique(b))
        assert (p.honest_error is None) == (count < 2)
        if count > 1:
            weight = np.ones_like(x) if w is None else w
            away = weight * (x - np.average(x, weights=w))
            totals = np.array([away[b == batch].sum() for batch in np.unique(b)])
            plain = np.sqrt(count / (count - 1) * (totals**2).sum()) / weight.sum()
            assert p.standard_error is not None
            assert p.honest_error == pytest.approx(max(plain, p.standard_error), abs=1e-9 * size)


def test_batches_in_any_order_give_the_same_error() -> None:
    random = np.random.default_rng(5)
    values, batches = random.normal(size=300), np.repeat(np.arange(30), 10)
    mixed = random.permutation(300)
    assert point(values[mixed], batches[mixed]).honest_error == pytest.approx(
        point(values, batches).honest_error
    )


def test_order_statistics_enclose_the_percentile_as_often_as_they_say() -> None:
    random = np.random.default_rng(6)
    for n, p in ((20, 0.5), (60, 0.9), (400, 0.25), (5000, 0.75)):
        low, high = order_statistics(n, p)
        assert low is not None
        assert high is not None
        ordered = np.sort(random.random((4000, n)), axis=1)
        below = ordered[:, max(0, int(np.floor(low * (n + 1))) - 1)]
        above = ordered[:, min(n, int(np.ceil(high * (n + 1)))) - 1]
        held = float(((below <= p) & (above >= p)).mean())
        assert 0.94 <= held <= 0.985, (n, p, held)


def test_too_few_values_leave_an_end_of_a_percentile_open() -> None:
    low, high = order_statistics(10, 0.9)
    assert low is not None
    assert high is None
    assert order_statistics(1, 0.5) == (None, None)


def test_intervals_of_percentiles_widen_with_autocorrelation() -> None:
    random, n = np.random.default_rng(7), 20_000
    noise = random.normal(size=n)
    slow = np.zeros(n)
    for k in range(1, n):
        slow[k] = 0.95 * slow[k - 1] + noise[k]
    batches = np.arange(n) // 200
    width = [float(np.diff(point(x / x.std(), batches).percentile_intervals[50])[0]) for x in (noise, slow)]  # type: ignore[arg-type]
    assert width[1] > 3 * width[0]


def random_rows(seed: int, count: int = 600) -> dict[str, list[dict[str, Any]]]:
    random = np.random.default_rng(seed)
    rows = []
    faults, steal = 0, 0
    for k in range(count):
        faults += int(random.integers(0, 500))
        steal = 0 if random.random() < 0.02 else steal + int(random.integers(0, 50))
        rows.append(
            {
                **at(10 * k + float(random.random())),
                "run": 1 if k < count // 2 else 2,
                "sample": k,
                "users_in_queue": int(random.integers(0, 9)),
                "major_faults": None if random.random() < 0.05 else faults,
                "steal_direct_pages": steal,
                "tasks_runnable": None if random.random() < 0.1 else int(random.integers(1, 40)),
            }
        )
    return {"system": rows}


@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_a_reduction_agrees_with_one_plain_query(order: str) -> None:
    rows = random_rows(3)
    if order == "mixed":
        rows["system"] = [rows["system"][k] for k in np.random.default_rng(4).permutation(600)]
    recording = MadeRecording(rows)
    names = ("major_faults", "steal_direct_pages", "tasks_runnable")
    curves = reduce(recording, "in_queue", 10.0, variables=names)
    plain = (
        recording.connect()
        .execute("""
        SELECT (load + 1) // 2, count(f), avg(f), stddev_samp(f), quantile_cont(f, 0.9),
            count(s), avg(s), stddev_samp(s), quantile_cont(s, 0.9),
            count(t), avg(t), stddev_samp(t), quantile_cont(t, 0.9) FROM (
            SELECT users_in_queue AS load, tasks_runnable AS t,
                CASE WHEN major_faults >= lag(major_faults) OVER w
                    THEN major_faults - lag(major_faults) OVER w END
                    / ((monotonic_ns - lag(monotonic_ns) OVER w) / 1e9) AS f,
                CASE WHEN steal_direct_pages >= lag(steal_direct_pages) OVER w
                    THEN steal_direct_pages - lag(steal_direct_pages) OVER w END
                    / ((monotonic_ns - lag(monotonic_ns) OVER w) / 1e9) AS s,
                lag(monotonic_ns) OVER w AS before
            FROM system WINDOW w AS (PARTITION BY run ORDER BY monotonic_ns))
        WHERE before IS NOT NULL AND load >= 1 GROUP BY 1 ORDER BY 1
    """)
        .fetchall()
    )
    assert len(plain) == len(curves.classes) == 4
    for k, row in enumerate(plain):
        for name, (n, mean, sd, p90) in zip(names, (row[1:5], row[5:9], row[9:13]), strict=True):
            p = curves.curves[name].points[k]
            assert p.n == n
            assert p.mean == pytest.approx(mean)
            assert p.sd == pytest.approx(sd)
            assert p.percentiles[90] == pytest.approx(p90)


def test_a_reduction_of_some_variables_is_the_whole_one_in_part() -> None:
    rows = random_rows(8)
    rows["user"] = [
        {**{k: r[k] for k in ("time_ns", "monotonic_ns", "run")}, "user": name, "cpu_us": 1000 * j * rate}
        for j, r in enumerate(rows["system"])
        for name, rate in (("ann", 5), ("bob", 0))
    ]
    recording = MadeRecording(rows)
    whole, part = reduce(recording), reduce(recording, variables=["major_fault_rate", "user_run"])
    assert part.load_axis == whole.load_axis == "active_users"
    assert part.classes == whole.classes
    assert part.curves == {name: whole.curves[name] for name in ("major_fault_rate", "user_run")}
    assert part.missing == {}
    assert whole.observations["user_run"].tolist() == pytest.approx(part.observations["user_run"].tolist())
