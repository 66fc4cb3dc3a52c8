"""The search on simulated systems: where it goes, when it stops, what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from satline.errors import SatlineError
from satline.experiment.search import Headroom, Knee, Percentile, Search, Settings, Throughput, Window

Observe = Callable[[int, float, float], Window]


def _system(knee: float, seed: int, rate: float = 0.5, think_s: float = 1.7) -> Observe:
    """A broken line with the noise of counts; responses by the interactive response-time law."""
    random = np.random.default_rng(seed)

    def observe(users: int, begin_s: float, seconds: float) -> Window:
        x = rate * min(users, knee)
        response = max(0.3, users / x - think_s)
        blocks = max(2, round(seconds / 4))
        counts = random.poisson(x * seconds / blocks, blocks)
        return Window(
            users,
            begin_s,
            seconds / blocks,
            counts / (seconds / blocks),
            reactions_s=random.exponential(response, int(counts.sum())),
            waiting=1 - 0.3 / response,
        )

    return observe


def _run(search: Search, observe: Observe, overhead_s: float = 7.0) -> float:
    """Drive it to its end; the time it took."""
    elapsed = 0.0
    while (decision := search.decide(elapsed)).users is not None:
        elapsed += overhead_s
        search.add(observe(decision.users, elapsed, decision.window_s))
        elapsed += decision.window_s
    return elapsed


def test_it_starts_light_grows_and_ends_with_an_interval_about_the_knee() -> None:
    search = Search(Settings(most_users=200, seconds=300), seed=1)
    elapsed = _run(search, _system(30.0, 1))
    users = [d.users for d in search.path if d.users is not None]
    assert users[0] <= 200 / 16 + 1
    assert all(b <= 3 * max(users[:k]) for k, b in enumerate(users) if k)
    known = search.path[-1].estimates[0]
    assert known.low <= 30 <= known.high
    assert (known.high - known.low) / (2 * known.value) < 0.3
    assert elapsed <= 300.0
    assert len(search.windows) == len(users)


def test_it_stops_when_the_interval_is_narrow_enough() -> None:
    search = Search(Settings(most_users=200, seconds=3000, within=0.2), seed=1)
    elapsed = _run(search, _system(30.0, 2, rate=2.0))
    assert search.path[-1].estimates[0].done
    assert "within 20%" in search.path[-1].why
    assert elapsed < 1000


def test_it_stops_when_nothing_within_the_limits_saturates() -> None:
    search = Search(Settings(most_users=100, seconds=3000), seed=1)
    _run(search, _system(10_000.0, 3))
    last = search.path[-1]
    assert "no load up to 100 users saturates it" in last.why
    assert last.chance_within is not None
    assert last.chance_within <= 0.05
    assert max(w.users for w in search.windows) == 100


def test_the_same_windows_and_seed_give_the_same_path() -> None:
    first = Search(Settings(most_users=200, seconds=200), seed=4)
    _run(first, _system(25.0, 4))
    again = Search(Settings(most_users=200, seconds=200), seed=4)
    for k, window in enumerate(first.windows):
        assert again.decide(first.path[k].elapsed_s) == first.path[k]
        again.add(window)


def test_the_path_is_json() -> None:
    search = Search(Settings(most_users=200, seconds=120), seed=4)
    _run(search, _system(25.0, 4))
    text = json.dumps([d.as_json() for d in search.path], allow_nan=False)
    assert json.loads(text)[-1]["users"] is None


def test_several_targets_come_from_the_same_windows() -> None:
    """A part 0.98 / (1 + (N/40)^4) of the reactions takes less than 1 s: 0.9 of them up to 21.8 users."""
    targets = (Knee(), Percentile(0.9, 1.0), Throughput(10.0), Headroom(15.0))
    search = Search(Settings(most_users=200, seconds=600, within=0.05, targets=targets), seed=2)
    random, observe = np.random.default_rng(9), _system(30.0, 5)

    def reacts(users: int, begin_s: float, seconds: float) -> Window:
        window = observe(users, begin_s, seconds)
        late = random.random(len(window.reactions_s)) > 0.98 / (1 + (users / 40) ** 4)
        return replace(window, reactions_s=np.where(late, 3.0, 0.3))

    _run(search, reacts)
    knee, percentile, throughput, headroom = search.path[-1].estimates
    assert knee.low <= 30 <= knee.high
    assert percentile.low <= 22 <= percentile.high < 1.6 * percentile.low
    assert throughput.low <= 20 <= throughput.high
    assert headroom.low == pytest.approx(knee.low / 15)


def test_a_throughput_beyond_the_ceiling_is_never_reached() -> None:
    targets = (Throughput(40.0),)
    search = Search(Settings(most_users=100, seconds=3000, targets=targets), seed=2)
    _run(search, _system(30.0, 6))
    assert search.path[-1].estimates[0].high == math.inf
    assert "no load up to 100 users" in search.path[-1].why


def test_nothing_completed_goes_on_to_heavier_loads_and_ends_in_time() -> None:
    search = Search(Settings(most_users=50, seconds=200), seed=1)
    elapsed = _run(search, lambda users, begin_s, seconds: Window(users, begin_s, seconds / 4, np.zeros(4)))
    assert elapsed <= 200
    assert search.posterior is None


def test_no_range_no_time_and_no_target_are_errors() -> None:
    with pytest.raises(SatlineError, match="range"):
        Settings(most_users=5, least_users=10, seconds=10)
    with pytest.raises(SatlineError, match="above 0"):
        Settings(most_users=5, seconds=0)
    with pytest.raises(SatlineError, match="target"):
        Settings(most_users=5, seconds=10, targets=())
    with pytest.raises(SatlineError, match="no target"):
        Percentile(90, 2.0)


@pytest.mark.slow
def test_reactions_that_jump_at_the_knee_are_found_where_they_jump() -> None:
    """As where a queue comes up: nearly all in time below the knee, six in ten beyond, and ever fewer."""
    held, half = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        knee = float(np.exp(random.uniform(np.log(8), np.log(60))))
        settings = Settings(most_users=100, seconds=300, within=1e-6, targets=(Percentile(0.9, 2.0),))
        search = Search(settings, seed=seed)

        def reacts(
            users: int, begin_s: float, seconds: float, knee: float = knee, random: Any = random
        ) -> Window:
            rate = min(users, knee) / 3.0
            part = 0.985 if users < knee else 0.6 * (knee / users) ** 1.5
            count = int(random.poisson(rate * seconds))
            good = random.binomial(count, random.beta(60 * part, 60 * (1 - part)))
            times = np.concatenate([np.full(good, 0.5), np.full(count - good, 5.0)])
            seen = random.poisson(rate * seconds / 8, 8) / (seconds / 8)
            waiting = max(0.0, 1 - knee / users)
            return Window(users, begin_s, seconds / 8, seen, reactions_s=times, waiting=waiting)

        _run(search, reacts)
        (known,) = search.path[-1].estimates
        held.append(known.low <= knee <= known.high)
        half.append((known.high - known.low) / 2 / knee)
    assert sum(held) >= 7
    assert np.median(half) < 0.15
