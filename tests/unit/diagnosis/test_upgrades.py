"""The model that tells what each upgrade would bring, on closed systems made of known demands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.diagnosis import RULES, Finding
from satline.diagnosis._upgrades import KINDS, gains, schweitzer
from satline.diagnosis.rules import Context
from satline.diagnosis.rules._worth import REMEDIES, undecided, weighed
from satline.reduction import Reduction

LOADS = (2, 4, 8, 12, 16, 24, 32, 40)


@dataclass
class System:
    """Users who think and work at a processor, packs and a drum; all times are seconds per unit of work.

    steals, others
        Page reads per unit of work: those that steals from users in queue cause, by their number, and the
        others.
    cap
        Users that admission lets in.
    """

    files: tuple[float, ...] = (0.1, 0.1)
    others: float = 5.0
    steals: Callable[[float], float] = field(default=lambda _: 0.0)
    page_s: float = 0.01
    supervisor: float = 0.1
    think: float = 10.0
    cap: float = 1e9

    def solved(self, users: int) -> dict[str, float]:
        """Curves at one load."""
        level = 1.0
        for _ in range(200):
            reads = self.others + self.steals(level)
            demands = np.array([1 + self.supervisor, reads * self.page_s, *self.files])
            work, inside = schweitzer(demands, self.think, users)
            if inside > self.cap:
                work, inside = schweitzer(demands, 0.0, self.cap)
            level = 0.5 * (level + inside)
        thinking = min(users - inside, work * self.think)
        found = {
            "problem_state": work,
            "supervisor_state": work * self.supervisor,
            "mpl_exact": inside,
            "user_eligible": users - inside - thinking,
            "users_in_transaction": users - thinking,
            "logged_on": float(users),
            "swap_in_rate": work * reads,
            "in_queue_steal_rate": work * self.steals(level),
            "capacity_processors": 1.0,
            "storage_demanded_fraction": 1.0,
            "paging_sio_rate": work * reads,
            "fast_paging_share": 1.0,
            "device_busy:drum": work * reads * self.page_s,
            "device_rate:drum": work * reads,
            "device_priority:drum": 1.0,
            "device_used:drum": 1e6,
        }
        return found | {f"device_busy:pack-{k}": work * demand for k, demand in enumerate(self.files)}

    def reduction(self, **changed: float | None) -> Reduction:
        """The curves over all loads; ``None`` takes one away, a number is a factor."""
        rows = [self.solved(users) for users in LOADS]
        curves = {
            name: SimpleNamespace(
                points=[SimpleNamespace(mean=row[name] * (changed.get(name) or 1.0)) for row in rows]
            )
            for name in rows[0]
            if changed.get(name, 1.0) is not None
        }
        classes = [SimpleNamespace(midpoint=float(users)) for users in LOADS]
        return cast(Reduction, SimpleNamespace(curves=curves, classes=classes))


def best(system: System) -> tuple[str, float]:
    told = gains(system.reduction())
    assert told is not None
    assert set(told) == set(KINDS)
    return max(told.items(), key=lambda item: item[1])


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=6), st.floats(0, 50), st.floats(0.5, 80))
def test_a_closed_network_keeps_its_users_and_its_bounds(
    demands: list[float], think: float, users: float
) -> None:
    work, inside = schweitzer(np.array(demands), think, users)
    assert inside + work * think == pytest.approx(users, rel=1e-3)
    assert work <= 1 / max(demands) * 1.001
    assert work <= max(users / (think + sum(demands)), 1e-12) * 1.001


def test_a_full_processor_is_what_to_buy() -> None:
    kind, gain = best(System())
    assert kind == "processor"
    assert 0.4 < gain <= 0.5


def test_full_packs_are_what_to_buy() -> None:
    assert best(System(files=(3.0, 3.0)))[0] == "files"
    kind, gain = best(System(files=(6.0, 0.5, 0.5)))  # files spread evenly
    assert kind == "files"
    assert gain > 1.0


def test_a_slow_drum_is_what_to_buy_where_nobody_steals() -> None:
    assert best(System(others=100.0, page_s=0.04))[0] == "paging"


def test_steals_that_grow_with_the_level_ask_for_fewer_users() -> None:
    system = System(steals=lambda level: level**2, page_s=0.04, think=5.0)
    told = gains(system.reduction())
    assert told is not None
    assert told["admit fewer"] > max(0.3, told["paging"])
    assert told["storage"] > 0.3
    assert told["admit more"] <= 0.01


def test_few_admitted_with_devices_to_spare_ask_for_more() -> None:
    kind, gain = best(System(files=(1.0, 1.0, 1.0), others=30.0, page_s=0.03, cap=1.2, think=2.0))
    assert kind == "admit more"
    assert gain > 0.2


@pytest.mark.parametrize("name", ["mpl_exact", "in_queue_steal_rate", "logged_on", "user_eligible"])
def test_without_what_the_model_needs_nothing_is_told(name: str) -> None:
    assert gains(System().reduction(**{name: None})) is None


def test_a_model_far_from_what_was_measured_tells_nothing() -> None:
    # Half of the work that so busy devices, and so many in queue, account for: something unseen holds them.
    assert gains(System().reduction(problem_state=0.5, supervisor_state=0.5)) is None


def finding(rule: str, kind: str, gain: float, least: float | None = None) -> Finding:
    return Finding(rule, rule, "storage", "holds", gain, "", gain=(kind, gain, least or gain))


def test_remedies_that_bring_the_same_are_not_decided_between() -> None:
    storage, paging = finding("main_storage_bound", "storage", 0.30), finding("drum_overflow", "paging", 0.29)
    assert undecided([storage, paging]) == (storage, paging)
    assert undecided([storage, finding("drum_overflow", "paging", 0.2)]) == ()
    assert undecided([storage, finding("paging_bound", "storage", 0.30)]) == ()
    doubtful = finding("drum_overflow", "paging", 0.7, 0.3)
    assert undecided([doubtful, storage]) == (doubtful, storage)
    assert undecided([]) == ()


def weigh(reduction: Reduction, *holding: str) -> list[Finding]:
    """What is left of findings that hold by their signs with strength 0.5, the strongest first."""
    context = SimpleNamespace(
        saturated=True, reduction=reduction, filled_by_users=False, where=lambda _: "at the top"
    )
    judged = [
        (rule, rule.finding("holds" if rule.name in holding else "does-not-hold", "signs", strength=0.5))
        for rule, _ in RULES
    ]
    left = [f for f in weighed(judged, cast(Context, context)) if f.state == "holds"]
    return sorted(left, key=lambda f: -f.strength)


def test_of_two_findings_the_one_whose_remedy_brings_most_comes_first() -> None:
    first, second = weigh(System(files=(3.0, 3.0)).reduction(), "paging_bound", "io_bound")
    assert (first.rule, second.rule) == ("io_bound", "paging_bound")
    assert first.gain is not None
    assert first.gain[0] == "files"
    assert any("queueing model" in fact.threshold for fact in first.evidence)


def test_where_users_steal_each_others_pages_a_faster_drum_is_not_surely_the_remedy() -> None:
    system = System(steals=lambda level: 3 * level, page_s=0.04, others=60.0)
    told = gains(system.reduction())
    assert told is not None
    first, *others = weigh(system.reduction(), "paging_bound")
    assert told["paging"] == max(told.values())
    assert first.gain is not None
    assert first.gain[0] == "paging"
    assert first.gain[2] < 0.9 * first.gain[1]
    assert "between" in first.summary
    assert len(undecided([first, *others])) > 1
    # The same reads where nobody steals.
    calm = System(others=100.0, page_s=0.04)
    (only, *_) = weigh(calm.reduction(), "paging_bound")
    assert only.gain is not None
    assert only.gain[1] == only.gain[2]


def test_a_bottleneck_whose_signs_are_weak_is_named_where_the_model_is_sure() -> None:
    (only,) = weigh(System(files=(3.0, 3.0)).reduction())
    assert only.rule == "io_bound"
    assert "signs are weak" in only.summary


def test_without_a_model_the_signs_decide() -> None:
    first, second = weigh(System(files=(3.0, 3.0)).reduction(mpl_exact=None), "paging_bound", "io_bound")
    assert first.strength == second.strength == 0.5
    assert first.gain is None


def test_every_upgrade_has_a_remedy() -> None:
    assert {kind for kinds in REMEDIES.values() for kind in kinds} == set(KINDS)
