"""A plain recording of a host with one trouble: it is named, with who causes it and what helps; a host
without one is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from made_live_host import MadeHost, MadeUser

from satline.diagnosis import Diagnosis, Finding, diagnose

pytestmark = pytest.mark.slow

LIGHT = {f"u{k}": MadeUser(cpu=0.02, delay=0.01) for k in range(3)}
HOG = {"hog": MadeUser(cpu=1.6, delay=4.0, processes=6)}
FULL = 2.0


def first(answer: Diagnosis) -> Finding:
    """The first finding that names a component."""
    named = [f for f in answer.findings if f.component != "none"]
    assert named, answer.headline
    return named[0]


def inside(group: str, count: int = 4, **waits: float) -> dict[str, MadeUser]:
    """Users in a group."""
    return {f"a{k}": MadeUser(group=group, **waits) for k in range(count)}


def quota(busy: float) -> MadeHost:
    """Four users in a group of half a CPU that want more."""
    users = {**LIGHT, **inside("/shop", cpu=0.12, delay=0.7)}
    if busy >= FULL:
        users |= HOG
    held = {"quota_periods": 10, "quota_throttled_periods": 9.5, "quota_throttled_us": 6e5}
    return MadeHost(
        users,
        busy,
        counters={"cgroup": {"/shop": held}},
        levels={"cgroup": {"/shop": {"quota_limit_millicpu": 500}}},
    )


def lock(busy: float) -> MadeHost:
    """Four users who wait for each other's lock on a file."""
    users = {**LIGHT, **{f"a{k}": MadeUser(cpu=0.01, lock=0.75) for k in range(4)}}
    if busy >= FULL:
        users |= HOG
    waits = {"wait_us": 3e6, "hold_us": 0.95e6}
    other = {"wait_us": 1e4, "hold_us": 1e4}
    return MadeHost(
        users, busy, counters={"lock": {"flock /srv/ledger.db": waits, "posix /var/other": other}}
    )


def queue(busy: float) -> MadeHost:
    """A server with one thread that seven requests wait for."""
    share = 0.45 if busy >= FULL else 0.95
    users = {**LIGHT, "web": MadeUser(cpu=share, delay=0.97 - share)}
    if busy >= FULL:
        users |= HOG
    return MadeHost(
        users,
        busy,
        counters={"task": {"web server 77": {"cpu_us": share * 1e6, "run_delay_us": (0.97 - share) * 1e6}}},
        levels={"task": {"web server 77": {"waiting_requests": 7}}},
    )


def memory(busy: float) -> MadeHost:
    """Four users whose pages do not fit into the limit of their group."""
    users = {**LIGHT, **inside("/lab", cpu=0.1, system=0.8, page=0.7)}
    if busy >= FULL:
        users |= HOG
    lost = {"limit_hits": 900, "major_faults": 2000, "refault_pages": 2500}
    full = {"memory_bytes": 64 << 20, "memory_limit_bytes": 64 << 20}
    return MadeHost(users, busy, counters={"cgroup": {"/lab": lost}}, levels={"cgroup": {"/lab": full}})


def cap(busy: float) -> MadeHost:
    """Four users who read at the cap of their group, while the disk is idle."""
    users = {**LIGHT, **inside("/mill", cpu=0.01, io=0.8)}
    if busy >= FULL:
        users |= HOG
    rates = {"reads": 30, "read_bytes": 4 << 20, "writes": 0, "write_bytes": 0}
    return MadeHost(
        users,
        busy,
        counters={"cgroup": {"/mill": rates}},
        levels={"cgroup": {"/mill": {"read_limit_bytes_per_second": 4 << 20}}},
    )


TROUBLES: dict[str, tuple[Callable[[float], MadeHost], tuple[str, ...], str]] = {
    "quota_bound": (quota, ("group /shop", "0.5 CPUs", "users a0, a1, a2 and 1 more"), "Raise the CPU quota"),
    "lock_bound": (lock, ("lock flock /srv/ledger.db", "a0", "a3"), "Do less while lock"),
    "serialised_server": (queue, ("server of user web (process 77)", "7.0 requests wait"), "several threads"),
    "main_storage_bound": (
        memory,
        ("group /lab", "limit of 64 MiB", "2,500 refaults"),
        "Raise the memory limit",
    ),
    "io_bound": (cap, ("group /mill", "cap of 4 MiB/s on reads", "disk sda is 2% busy"), "Raise the cap"),
}


@pytest.mark.parametrize("rule", TROUBLES)
def test_a_trouble_is_named_with_its_culprit_and_remedy(rule: str) -> None:
    make, words, remedy = TROUBLES[rule]
    answer = diagnose(make(0.6 if rule != "serialised_server" else 1.1).make())
    found = first(answer)
    assert found.rule == rule, answer.headline
    for word in words:
        assert word in found.summary
    assert remedy in found.remedies[0]
    assert found.chance is not None
    assert found.chance >= 0.8, answer.headline


@pytest.mark.slow
@pytest.mark.parametrize("rule", TROUBLES)
def test_it_comes_first_too_where_a_hog_fills_the_processors(rule: str) -> None:
    """Full processors hold back few there: whoever waits, waits for something else."""
    make, words, _ = TROUBLES[rule]
    answer = diagnose(make(FULL).make())
    found = first(answer)
    assert found.rule == rule, answer.headline
    assert words[0] in found.summary


def test_a_server_that_waits_for_the_cpu_half_of_its_time_is_not_certain() -> None:
    """More threads and more processors would both help."""
    found = first(diagnose(queue(FULL).make()))
    assert found.rule == "serialised_server"
    assert "itself waits for a CPU 52% of it" in found.summary
    assert found.chance is not None
    assert 0.5 <= found.chance < 0.8


def test_a_limit_that_is_not_reached_is_not_named() -> None:
    users = {**LIGHT, **inside("/shop", cpu=0.02, delay=0.01)}
    rates = {
        "quota_periods": 10,
        "quota_throttled_periods": 0.1,
        "limit_hits": 5,
        "refault_pages": 3,
        "major_faults": 1,
        "read_bytes": 1 << 18,
    }
    limits = {
        "quota_limit_millicpu": 500,
        "memory_bytes": 60 << 20,
        "memory_limit_bytes": 64 << 20,
        "read_limit_bytes_per_second": 4 << 20,
    }
    host = MadeHost(users, counters={"cgroup": {"/shop": rates}}, levels={"cgroup": {"/shop": limits}})
    answer = diagnose(host.make())
    assert answer.standing is not None
    assert answer.standing.state == "room", answer.headline
    assert not [f for f in answer.findings if f.component != "none"]


def test_a_process_that_stands_by_for_a_lock_is_not_held_back() -> None:
    """A second instance that waits for the first to end, for as long as was recorded."""
    waits = {"wait_us": 1e6, "hold_us": 1e6}
    host = MadeHost(
        {**LIGHT, "spare": MadeUser(lock=1.0)}, counters={"lock": {"flock /run/leader": waits}}, even=True
    )
    answer = diagnose(host.make())
    assert answer.standing is not None
    assert answer.standing.state == "room", answer.headline


def test_a_hog_is_named_as_who_takes_the_cpu() -> None:
    waiting = {f"u{k}": MadeUser(cpu=0.05, delay=0.3) for k in range(4)}
    answer = diagnose(MadeHost({**waiting, **HOG}, FULL).make())
    found = first(answer)
    assert found.rule == "cpu_bound", answer.headline
    assert "user hog took" in found.summary
    assert "about 6 processes" in found.summary
    assert "user hog a lower CPU weight" in found.remedies[0]
    assert found.chance is not None
    assert found.chance >= 0.8


def test_users_who_all_take_the_cpu_alike_make_no_hog() -> None:
    alike = {f"u{k:02}": MadeUser(cpu=0.1, delay=0.4) for k in range(20)}
    found = first(diagnose(MadeHost(alike, FULL).make()))
    assert found.rule == "cpu_bound"
    assert "took" not in found.summary


def test_a_quota_of_one_batch_user_is_named_too() -> None:
    one = quota(0.6)
    host = MadeHost(
        {"job": MadeUser(cpu=0.5, delay=1.0, group="/shop")},
        0.6,
        seconds=1200,
        counters=one.counters,
        levels=one.levels,
    )
    answer = diagnose(host.make())
    assert answer.saturation.outcome == "nongranular"
    assert first(answer).rule == "quota_bound"
    assert "group /shop" in answer.headline


def test_one_batch_user_who_fills_the_processors_is_named() -> None:
    host = MadeHost({"job": MadeUser(cpu=2.0, delay=1.0, processes=4)}, FULL, seconds=1200)
    answer = diagnose(host.make())
    assert answer.saturation.outcome == "nongranular"
    assert "user job took 100% of the CPU time used (about 4 processes)" in first(answer).summary


def test_a_neighbour_of_the_load_is_named() -> None:
    load = {f"u{k}": MadeUser(cpu=0.05, delay=0.5, group="load") for k in range(4)}
    host = MadeHost({**load, **HOG}, FULL, cgroup="/shop", counters={"cgroup": {"load": {"cpu_us": 2e5}}})
    found = first(diagnose(host.make()))
    assert found.rule == "cpu_bound"
    assert "work outside the load's group takes 89% of the CPU time used" in found.summary
    assert "user hog" in found.summary
    assert "load's group a higher CPU weight" in found.remedies[0]


def test_a_thread_at_rest_with_requests_in_front_of_it_serves_nobody_slowly() -> None:
    host = MadeHost(
        {**LIGHT, "web": MadeUser(cpu=0.3)},
        0.6,
        counters={"task": {"web server 77": {"cpu_us": 3e5, "run_delay_us": 1e4}}},
        levels={"task": {"web server 77": {"waiting_requests": 3}}},
    )
    answer = diagnose(host.make())
    assert not [f for f in answer.findings if f.component == "server"], answer.headline


def test_two_causes_that_hold_back_alike_are_both_named_without_certainty() -> None:
    one, other = quota(0.6), lock(0.6)
    users = {**one.users, **{f"b{k}": own for k, own in enumerate(other.users.values())}}
    host = MadeHost(users, 0.6, counters={**one.counters, **other.counters}, levels=one.levels)
    answer = diagnose(host.make())
    named = {f.rule: f for f in answer.findings if f.component != "none"}
    assert {"quota_bound", "lock_bound"} <= set(named), answer.headline
    assert all((f.chance or 0.0) < 0.8 for f in named.values())


def test_sampled_waits_stand_in_for_clocks_that_never_started() -> None:
    """Processes older than delay accounting have clocks at zero: their sampled states tell."""
    found = re.search(r"([\d.]+) users are held back", first(diagnose(cap(0.6).make())).summary)
    assert found is not None
    assert 2.8 <= float(found[1]) <= 3.6


def test_a_probe_that_takes_much_longer_for_a_while_says_what_was_short() -> None:
    """33 ms as usual, then 1.6 s under a cap that nothing else shows."""
    slow = {"thermometer": {"io": {"elapsed_us": lambda t: 1_608_000 if 150 <= t < 220 else 33_000}}}
    answer = diagnose(MadeHost(dict(LIGHT), levels=slow).make())
    assert answer.standing is not None
    assert answer.standing.state == "short at times", answer.headline
    assert [one.component for one in answer.standing.likely] == ["io"]
    assert 0.3 <= answer.standing.likely[0].chance < 0.8
    assert next(use for use in answer.standing.uses if use.resource == "probe io").short == pytest.approx(
        0.29, abs=0.06
    )


@pytest.mark.parametrize(
    "taken", [lambda t: 33_000 if t % 40 else 1_608_000, lambda t: 400 if t < 150 else 1600]
)
def test_a_probe_that_is_slow_once_or_by_little_shows_nothing(taken: Callable[[float], float]) -> None:
    host = MadeHost(dict(LIGHT), levels={"thermometer": {"io": {"elapsed_us": taken}}})
    answer = diagnose(host.make())
    assert answer.standing is not None
    assert answer.standing.state == "room", answer.headline


def test_a_probe_of_io_that_waits_for_the_cpu_accuses_no_disk() -> None:
    def busy(t: float) -> float:
        return FULL if 150 <= t < 220 else 0.4

    slow = {"thermometer": {"io": {"elapsed_us": lambda t: 500_000 if 150 <= t < 220 else 33_000}}}
    answer = diagnose(MadeHost({**LIGHT, **HOG}, busy, levels=slow).make())
    assert answer.standing is not None
    assert [one.component for one in answer.standing.likely] == ["processor"], answer.headline
