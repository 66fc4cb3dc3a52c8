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

from satline.diagnosis import RULES, Estimate, Finding, Saturation
from satline.diagnosis._answer import headline, together_words
from satline.diagnosis._observed import NEWER, Observed, _newer
from satline.diagnosis._results import Together
from satline.diagnosis._steals import Steals
from satline.diagnosis._upgrades import KINDS, UNUSED, admitted, gains, joint_gains, schweitzer
from satline.diagnosis.rules import Context
from satline.diagnosis.rules._worth import REMEDIES, Chances, together, undecided, weighed
from satline.present._words import sure_words
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
            work, queues = schweitzer(demands, self.think, users)
            if queues.sum() > self.cap:
                work, queues = schweitzer(demands, 0.0, self.cap)
            inside = float(queues.sum())
            level = 0.5 * (level + inside)
        thinking = min(users - inside, work * self.think)
        found = {
            "problem_state": work,
            "supervisor_state": work * self.supervisor,
            "mpl_exact": inside,
            "user_run": float(queues[0]),
            "user_cpu_wait": 0.0,
            "user_page_wait": float(queues[1]),
            "user_io_wait": float(queues[2:].sum()),
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

    def reduction(self, extra: dict[str, float] | None = None, **changed: float | None) -> Reduction:
        """The curves over all loads, with more that are the same at each; ``None`` takes one away, a number
        is a factor."""
        rows = [self.solved(users) | (extra or {}) for users in LOADS]
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
    work, queues = schweitzer(np.array(demands), think, users)
    assert queues.sum() + work * think == pytest.approx(users, rel=1e-3)
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
    system = System(steals=lambda level: 0.1 * level**2, page_s=0.04, think=5.0)
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
    # Three times as many in queue as run or wait for anything: something unseen holds them.
    assert gains(System().reduction(mpl_exact=3.0)) is None


@given(st.floats(0, 300), st.floats(0.01, 50))
def test_admission_lets_in_one_at_least_and_leaves_a_working_set_of_room(room: float, more: float) -> None:
    assert 1 <= admitted(room) <= max(1.25, room)
    assert admitted(room) <= admitted(room + more) <= admitted(room) + more + 1e-9
    assert admitted(room + 4) == pytest.approx(room + 4 - UNUSED, abs=0.05)


def test_storage_with_room_for_no_second_user_brings_little() -> None:
    system = System(files=(1.0, 1.0, 1.0), others=30.0, page_s=0.03, cap=1.0, think=2.0)
    # Working sets of 85 % and of 60 % of storage each: half as much again lets in no second, or one.
    held = system.solved(LOADS[-1])
    users = held["mpl_exact"] + held["user_eligible"]
    large, small = (gains(system.reduction(storage_demanded_fraction=part * users)) for part in (0.85, 0.6))
    assert large is not None
    assert small is not None
    assert large["storage"] < 0.1 < small["storage"]


@pytest.mark.parametrize(
    ("bytes_per_s", "times"), [(806e3, 1.18), (1.12e6, 1.43), (3e6, NEWER), (2e5, NEWER), (50e6, NEWER)]
)
def test_the_next_type_of_a_disk_is_told_by_its_rate(bytes_per_s: float, times: float) -> None:
    # One page a request, ten a second.
    assert _newer(40960.0, 10.0, 4096 / bytes_per_s) == pytest.approx(times, abs=0.01)
    assert _newer(0.0, 0.0, 0.0) == NEWER


def finding(rule: str, kind: str, chance: float) -> Finding:
    return Finding(rule, rule, "storage", "holds", chance, "", gain=(kind, 0.3, 0.1), chance=chance)


def test_what_is_not_sure_enough_is_not_decided() -> None:
    storage, drum = finding("main_storage_bound", "storage", 0.5), finding("drum_overflow", "paging", 0.4)
    assert undecided([storage, drum]) == (storage, drum)
    assert undecided([finding("main_storage_bound", "storage", 0.9), drum]) == ()
    assert undecided([storage, finding("io_bound", "files", 0.01), drum]) == (storage, drum)
    assert undecided([]) == ()


def test_a_finding_that_asks_for_no_other_remedy_is_no_rival() -> None:
    both, drum = finding("paging_bound", "paging", 0.6), finding("drum_overflow", "paging", 0.5)
    few = finding("thrashing", "admit fewer", 0.3)
    assert undecided([both, drum, few]) == (both, few)


KIND_GAINS = st.dictionaries(st.sampled_from(KINDS), st.floats(-0.5, 2.0), min_size=2)


@given(KIND_GAINS, st.floats(0.001, 0.5))
def test_chances_are_of_sets_of_upgrades(told: dict[str, float], error: float) -> None:
    chances = Chances(told, dict.fromkeys(told, error))
    kinds = tuple(told)
    assert chances.serve(kinds) == 1.0
    assert all(chances.serve((kind,)) <= chances.serve(kinds[:2]) for kind in kinds[:2])
    needed = chances.needed(0.8)
    assert chances.serve(needed) >= 0.8
    assert len(needed) == 1 or chances.serve(needed[:-1]) < 0.8


def test_the_surer_the_gains_the_surer_the_choice() -> None:
    told = {"storage": 0.3, "paging": 0.18}
    sure, unsure = (Chances(told, dict.fromkeys(told, error)) for error in (0.01, 0.2))
    assert sure.serve(("storage",)) == 1.0
    assert 0.6 < unsure.serve(("storage",)) < 0.9
    assert sure.needed(0.8) == ("storage",)
    assert unsure.needed(0.99) == ("storage", "paging")


def test_errors_that_go_together_leave_less_doubt_between_the_two() -> None:
    told, errors = {"files": 0.3, "paging": 0.25, "storage": 0.1}, dict.fromkeys(KINDS, 0.08)
    apart, alike = Chances(told, errors), Chances(told, errors, {("paging", "files"): 0.9})
    assert alike.serve(("files",)) > apart.serve(("files",))
    assert Chances({"files": 0.3}, errors, {("paging", "files"): 0.9}).serve(("files",)) == 1.0


def weigh(reduction: Reduction, *holding: str) -> list[Finding]:
    """What is left of findings that hold by their signs with strength 0.5, the strongest first."""
    context = SimpleNamespace(
        saturated=True,
        reduction=reduction,
        gains=gains(reduction),
        filled_by_users=False,
        where=lambda _: "at the top",
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


def test_the_more_compete_the_more_pages_are_stolen_and_the_less_the_more_storage_there_is() -> None:
    seen = Observed.of(System(steals=lambda level: 3 * level, page_s=0.04, others=60.0).reduction())
    assert seen is not None
    steals, top = Steals(seen), float(seen.competing[-1])
    assert steals.reads(top, 1.0) == pytest.approx(1.0)
    course = [steals.reads(top * times, 1.0) for times in (0.5, 1.0, 1.5, 3.0)]
    assert course == sorted(course)
    assert steals.reads(top, 1.5) < 1.0
    # Where hardly any are stolen many more must compete before it shows.
    calm = Observed.of(System(others=100.0, page_s=0.04).reduction())
    assert calm is not None
    assert 1.0 < Steals(calm).reads(1.5 * float(calm.competing[-1]), 1.0) < 1.2


def test_what_more_users_steal_goes_by_the_storage_they_hold() -> None:
    system = System(others=100.0, page_s=0.04)

    def reads(part: float | None) -> list[float]:
        """After admission of as many, twice and four times as many, who hold this part of storage now."""
        used = {} if part is None else {"memory_used": 1e6, "memory_used_fraction": 0.5}
        reduction = system.reduction(extra=used)
        for load, point in enumerate(reduction.curves["memory_used"].points if used else ()):
            # 1e6 bytes are for users: 2e6 in all, less what is available.
            level, top = (system.solved(users)["mpl_exact"] for users in (LOADS[load], LOADS[-1]))
            point.mean = 1e6 + (part or 0) * level / top * 1e6
            reduction.curves["memory_used_fraction"].points[load].mean = point.mean / 2e6
        seen = Observed.of(reduction)
        assert seen is not None
        assert seen.occupied == (None if part is None else pytest.approx(part, abs=1e-6))
        return [Steals(seen).admitted(times * seen.level) for times in (1.0, 2.0, 4.0)]

    little, much = reads(0.1), reads(0.4)
    assert little[0] == much[0] == 1.0
    assert 1.0 < little[2] < 1.2
    assert much == sorted(much)
    assert much[2] > 2.0
    assert reads(None)[2] > 1.0


def test_the_model_is_held_to_the_waits_that_were_measured() -> None:
    system = System(files=(3.0, 3.0))
    plain, shorter = gains(system.reduction()), gains(system.reduction(user_io_wait=0.9))
    assert plain is not None
    assert shorter is not None
    assert shorter["files"] > plain["files"]


def test_a_drum_that_serves_several_at_once_is_less_in_the_way() -> None:
    system = System(others=100.0, page_s=0.04)
    rows = [system.solved(users) for users in LOADS]
    top = rows[-1]
    # Requests take three times as long together as the drum is busy, a quarter of that on its path.
    took = 3 * top["device_busy:drum"] / top["device_rate:drum"]
    several = system.reduction(
        extra={"device_connect:drum": took / 4, "device_disconnect:drum": 3 * took / 4}
    )
    one, seen = Observed.of(system.reduction()), Observed.of(several)
    assert one is not None
    assert seen is not None
    drum, alone = (next(s for s in o.stations if s.fast) for o in (seen, one))
    assert drum.reads < alone.reads
    assert drum.latency > 0 == alone.latency


def test_a_bottleneck_whose_signs_are_weak_is_named_where_the_model_is_sure() -> None:
    (only,) = weigh(System(files=(3.0, 3.0)).reduction())
    assert only.rule == "io_bound"
    assert only.summary.startswith("by its signs alone, which are weak, it would not hold: signs; half as")
    assert only.signs == 0.0
    # What is called very likely is that the remedy serves; never is it called strong.
    assert sure_words(only).startswith("its remedy serves: nearly certain (")
    assert sure_words(only).endswith("; its signs alone: too weak to hold")
    assert "strong" not in sure_words(only)


def test_signs_and_the_chance_of_the_remedy_are_told_apart() -> None:
    first, second = weigh(System(files=(3.0, 3.0)).reduction(), "paging_bound", "io_bound")
    assert sure_words(first).endswith("; its signs: moderate (0.50)")
    assert sure_words(second).startswith("its remedy serves: unlikely (")
    (plain,) = weigh(System(files=(3.0, 3.0)).reduction(mpl_exact=None), "io_bound")
    assert plain.signs is None
    assert sure_words(plain) == "moderate (0.50)"


def judged_together(system: System) -> Together | None:
    reduction = system.reduction()
    context = SimpleNamespace(saturated=True, basis="load", reduction=reduction, gains=gains(reduction))
    return together(cast(Context, context), {rule.name: rule.title for rule, _ in RULES})


def test_two_upgrades_that_bring_little_one_by_one_are_told_together() -> None:
    # As much work at the processor as at the packs: the faster one waits for the other.
    found = judged_together(System(files=(1.1,)))
    assert found is not None
    assert set(found.kinds) == {"processor", "files"}
    assert set(found.titles) == {"CPU bound", "I/O bound"}
    assert found.gain > sum(found.alone) > 0
    assert 0.4 < found.gain <= 0.6
    assert found.how == ("only together" if found.gain >= 2 * sum(found.alone) else "adds up")
    said = together_words(found)
    assert "alone" in said
    assert f"{found.gain:+.0%} ± {found.error:.0%}" in said


def test_where_one_upgrade_brings_nearly_all_none_is_told_beside_it() -> None:
    assert judged_together(System()) is None
    assert judged_together(System(files=(6.0, 6.0))) is None


def test_both_upgrades_at_once_are_what_each_is_where_the_other_does_nothing() -> None:
    reduction = System().reduction()
    single, both = gains(reduction), joint_gains(reduction)
    assert single is not None
    assert both["processor", "paging"] == pytest.approx(single["processor"], abs=0.02)
    assert not any("admit fewer" in kinds for kinds in both)
    assert joint_gains(System().reduction(mpl_exact=None)) == {}


def test_rivals_are_named_with_their_chances() -> None:
    storage, drum = finding("main_storage_bound", "storage", 0.55), finding("drum_overflow", "paging", 0.4)
    at = Estimate(18.6, 16.2, 21.6, "users")
    verdict = Saturation("saturated", "users", 4, 40, "transaction_rate", at=at)
    said = headline(verdict, (storage, drum))
    assert "cannot be told: main_storage_bound (0.55) or drum_overflow (0.40), each with the chance" in said
    alone = headline(verdict, (finding("main_storage_bound", "storage", 0.9),))
    assert "main_storage_bound, very likely (0.90)" in alone


def test_without_a_model_the_signs_decide() -> None:
    first, second = weigh(System(files=(3.0, 3.0)).reduction(mpl_exact=None), "paging_bound", "io_bound")
    assert first.strength == second.strength == 0.5
    assert first.gain is None


def test_every_upgrade_has_a_remedy() -> None:
    assert {kind for kinds in REMEDIES.values() for kind in kinds} == set(KINDS)
