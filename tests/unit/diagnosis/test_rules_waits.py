"""Rules on paging, storage, I/O, admission and locks: where each holds, and where it only nearly does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from made_recording import MadeRecording, at
from made_signs import add_tier, judged, set_counter, set_level
from made_study import Made

from satline.diagnosis import Diagnosis, Finding, diagnose
from satline.reduction import reduce

pytestmark = pytest.mark.slow

PAGE = Made(cpu=0.02, station=0.2, kind="page", memory_fraction=0.99)
IO = Made(cpu=0.02, station=0.2, kind="io")
SERVER = Made(cpu=0.02, station=0.2, kind="server", processors=2)
CPU = Made(cpu=0.2)
HOSTILE = "\x1b[31m<b>lock\u202e"


def finding(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(f for f in (*diagnosis.findings, *diagnosis.others) if f.rule == rule)


def no_server(recording: MadeRecording) -> MadeRecording:
    """Users wait for something that no table shows."""
    recording.rows.pop("task", None)
    return recording


def overestimated(eligible: Callable[[int], float], made: Made = SERVER) -> MadeRecording:
    recording = no_server(made.make())
    set_level(recording, made, "system", "eligible_users", eligible)
    return recording


def test_users_held_back_before_idle_processors_and_light_paging_mean_too_few_are_admitted() -> None:
    answer = diagnose(overestimated(lambda n: max(0, n - 5)))
    found = finding(answer, "working_sets_overestimated")
    assert found.state == "holds", found.summary
    assert answer.findings[0].rule == "working_sets_overestimated"
    assert found.component == "admission"


@pytest.mark.parametrize(
    "recording",
    [
        lambda: overestimated(lambda _: 0),
        lambda: overestimated(lambda n: max(0, n - 5), PAGE),
        lambda: overestimated(lambda n: max(0, n - 5), CPU),
        lambda: overestimated(lambda n: max(0, n - 5), Made(cpu=0.1, quota=0.5)),
    ],
    ids=["nobody is held back", "paging is heavy", "the processors are full", "a quota holds"],
)
def test_admission_is_not_blamed_otherwise(recording: Callable[[], MadeRecording]) -> None:
    assert judged(recording(), "working_sets_overestimated").state == "does-not-hold"


def test_users_held_back_before_full_processors_say_that_storage_is_not_the_bottleneck() -> None:
    answer = diagnose(overestimated(lambda n: max(0, n - 5), CPU))
    found = finding(answer, "storage_not_bottleneck")
    assert found.state == "holds", found.summary
    assert answer.findings[0].rule == "cpu_bound"


def thrash(level: Callable[[int], float], problem: Callable[[int], float]) -> MadeRecording:
    recording = PAGE.make()
    set_level(recording, PAGE, "system", "users_in_queue", level)
    set_counter(recording, PAGE, "processor", "user_us", lambda n: problem(n) * 1e6)
    for column in ("swap_in_pages", "swap_out_pages", "major_faults"):
        set_counter(recording, PAGE, "system", column, lambda n: 20.0 * n * n)
    set_counter(recording, PAGE, "system", "block_in_bytes", lambda n: 20.0 * n * n * 4096)
    set_counter(recording, PAGE, "cgroup", "major_faults", lambda n: 20.0 * n * n)
    set_counter(recording, PAGE, "cgroup", "cpu_us", lambda n: problem(n) * 1e6)
    return recording


def test_less_work_with_more_users_at_once_and_more_paging_is_thrashing() -> None:
    answer = diagnose(thrash(lambda n: n, lambda n: 0.4 * min(1, n / 6) * (1 if n < 8 else 4 / n)))
    found = finding(answer, "thrashing")
    assert found.state == "holds", found.summary
    assert [f.rule for f in answer.findings[:2]] == ["paging_bound", "thrashing"]
    assert "user time falls" in found.summary
    assert "also thrashing" in answer.headline


def test_where_admission_is_recorded_too_high_a_level_comes_before_its_paging() -> None:
    recording = thrash(lambda n: n, lambda n: 0.4 * min(1, n / 6) * (1 if n < 8 else 4 / n))
    set_level(recording, PAGE, "system", "eligible_users", lambda _: 0)
    answer = diagnose(recording)
    assert [f.rule for f in answer.findings[:2]] == ["thrashing", "paging_bound"]


@pytest.mark.parametrize(
    ("level", "problem"),
    [
        (lambda _: 3, lambda n: 0.4 * min(1, n / 6) * (1 if n < 8 else 4 / n)),
        (lambda n: n, lambda n: 0.4 * min(1, n / 6)),
    ],
    ids=["few at once", "work does not fall"],
)
def test_paging_alone_is_no_thrashing(level: Callable[[int], float], problem: Callable[[int], float]) -> None:
    assert judged(thrash(level, problem), "thrashing").state == "does-not-hold"


def small_storage(level: float, eligible: Callable[[int], float]) -> MadeRecording:
    recording = PAGE.make()
    set_level(recording, PAGE, "system", "users_in_queue", lambda _: level)
    set_level(recording, PAGE, "system", "eligible_users", eligible)
    return recording


def test_heavy_paging_of_the_few_admitted_means_that_storage_is_too_small() -> None:
    found = judged(small_storage(2, lambda n: max(0, n - 3)), "main_storage_bound")
    assert found.state == "holds", found.summary
    assert found.component == "storage"


def test_heavy_paging_of_many_admitted_does_not_mean_that_storage_is_too_small() -> None:
    for recording in (small_storage(30, lambda n: max(0, n - 3)), small_storage(2, lambda _: 0)):
        assert judged(recording, "main_storage_bound").state == "does-not-hold"


def tiers(
    fast: Callable[[int], float], slow: Callable[[int], float], name: str = "/dev/zram0"
) -> MadeRecording:
    recording = PAGE.make()
    add_tier(recording, PAGE, name, 100, 1e9, fast)
    add_tier(recording, PAGE, "/dev/sda2", -2, 8e9, slow)
    return recording


def test_a_full_fast_tier_with_a_slow_one_filling_is_drum_overflow() -> None:
    answer = diagnose(tiers(lambda n: min(1e9, n * 1e8), lambda n: max(0, n - 10) * 1e8, HOSTILE))
    found = finding(answer, "drum_overflow")
    assert found.state == "holds", found.summary
    assert "from 10 users on" in found.summary
    assert HOSTILE in found.summary
    assert answer.findings[0].rule == "drum_overflow"


@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (lambda n: min(6e8, n * 1e8), lambda _: 0),
        (lambda _: 1e9, lambda _: 3e8),
    ],
    ids=["the fast tier has room", "the slow tier does not fill"],
)
def test_a_fast_tier_with_room_or_nothing_behind_it_is_no_overflow(
    fast: Callable[[int], float], slow: Callable[[int], float]
) -> None:
    assert judged(tiers(fast, slow), "drum_overflow").state == "does-not-hold"


def drum(part: Callable[[int], float]) -> MadeRecording:
    """A virtual-machine system that counts the pages of its drum."""
    recording = PAGE.make()
    recording.description["system_under_test"]["kind"] = "simulated"
    for what in ("in", "out"):
        set_counter(recording, PAGE, "system", f"swap_{what}_pages", lambda n: 30.0 * n)
    for what in ("reads", "writes"):
        set_counter(recording, PAGE, "system", f"page_{what}_fast", lambda n: 30.0 * n * part(n))
    return recording


def test_a_drum_whose_share_of_paging_falls_overflows_and_is_told_in_its_own_words() -> None:
    found = finding(diagnose(drum(lambda n: 1.0 if n < 9 else 9 / n)), "drum_overflow")
    assert found.state == "holds", found.summary
    assert found.title == "drum overflow"
    assert "A second drum." in found.remedies
    assert not any("zram" in remedy for remedy in found.remedies)


def test_a_drum_that_keeps_its_share_does_not_overflow() -> None:
    assert judged(drum(lambda _: 0.8), "drum_overflow").state == "does-not-hold"


def mixed(page_share: float) -> MadeRecording:
    recording = PAGE.make()
    for row in recording.rows["system"]:
        row["block_in_bytes"] = round(row["swap_in_pages"] * 4096 / page_share)
    return recording


def test_both_waits_are_named_together_where_neither_is_small() -> None:
    answer = diagnose(mixed(0.5))
    assert answer.findings[0].rule == "page_and_io_wait"
    assert answer.findings[0].component == "paging and io"
    assert "both page and I/O wait" in answer.headline


def test_a_little_of_the_other_wait_is_not_both() -> None:
    answer = diagnose(mixed(0.72))
    assert finding(answer, "page_and_io_wait").state == "does-not-hold"
    assert answer.findings[0].rule == "paging_bound"


def arms(service: Callable[[int], float], level: Callable[[int], float]) -> MadeRecording:
    recording = IO.make()
    set_level(recording, IO, "system", "users_in_queue", level)
    busy, requests = 0, 0.0
    for row in recording.rows["device"]:
        users = [r["users"] for r in recording.rows["event"] if r["monotonic_ns"] <= row["monotonic_ns"]]
        requests += (row["busy_us"] - busy) / service(users[-1] if users else 1)
        busy, row["reads"] = row["busy_us"], round(requests)
    return recording


def test_a_disk_that_gets_slower_with_many_users_at_once_has_arm_contention() -> None:
    answer = diagnose(arms(lambda n: 2000 * (1 + n / 8), lambda n: n))
    found = finding(answer, "arm_contention")
    assert found.state == "holds", found.summary
    assert answer.findings[0].rule == "arm_contention"
    assert finding(answer, "io_bound").state == "holds"


def test_a_long_queue_alone_is_no_arm_contention() -> None:
    for recording in (arms(lambda _: 2000, lambda n: n), arms(lambda n: 2000 * (1 + n / 8), lambda _: 2)):
        assert judged(recording, "arm_contention").state == "does-not-hold"


def locks(
    made: Made, spin: Callable[[int], float], wait: Callable[[int], float], table: bool = True
) -> MadeRecording:
    recording = no_server(made.make())
    set_counter(recording, made, "system", "lock_spin_us", lambda n: spin(n) * 1e6)
    set_counter(recording, made, "system", "lock_wait_us", lambda n: wait(n) * 1e6)
    if table:
        recording.rows["lock"] = [
            {
                **at(row["monotonic_ns"] / 1e9),
                "lock": name,
                "spin_us": row["lock_spin_us"] * part // 10,
                "wait_us": row["lock_wait_us"] * part // 10,
                "hold_us": row["monotonic_ns"] // 1000 * part // 10,
            }
            for row in recording.rows["system"]
            for name, part in ((HOSTILE, 8), ("other", 2))
        ]
    return recording


def test_a_database_lock_before_idle_processors_is_named_with_the_lock_that_dominates() -> None:
    answer = diagnose(locks(SERVER, lambda _: 0, lambda n: max(0, n - 5)))
    assert answer.saturation.outcome == "saturated"
    found = finding(answer, "lock_bound")
    assert found.state == "holds", found.summary
    assert answer.findings[0].rule == "lock_bound"
    assert f"lock {HOSTILE} takes 80% of it and is held 80% of the time" in found.summary
    assert not any(name.startswith("lock_held_each") for name in reduce(SERVER.make()).curves)


def test_a_lock_that_nothing_shows_is_not_named_and_neither_is_anything_else() -> None:
    answer = diagnose(no_server(SERVER.make()))
    assert answer.saturation.outcome == "saturated"
    assert finding(answer, "lock_bound").state == "cannot-judge"
    assert "perf lock" in finding(answer, "lock_bound").summary
    assert not [f for f in answer.findings if f.component != "none"]
    assert "not among what was recorded" in answer.headline


def test_spin_that_grows_to_a_part_of_the_processors_is_lock_bound() -> None:
    found = judged(locks(CPU, lambda n: 0.02 * n, lambda _: 0, table=False), "lock_bound")
    assert found.state == "holds", found.summary
    assert "locks are held" in found.summary


def test_half_a_percent_of_spin_in_line_with_load_is_normal() -> None:
    found = judged(locks(CPU, lambda n: 0.0004 * n, lambda _: 0), "lock_bound")
    assert found.state == "does-not-hold"


def storage_manager(part: float, spin: Callable[[int], float], seed: int = 3) -> MadeRecording:
    recording = CPU.make()
    noise = np.random.default_rng(seed).lognormal(0, 0.5, len(recording.rows["system"]))
    set_counter(recording, CPU, "processor", "system_us", lambda _: 0.2e6)
    set_counter(recording, CPU, "system", "storage_manager_us", lambda n: part * n * 1e4, noise)
    set_counter(recording, CPU, "system", "lock_spin_us", lambda n: spin(n) * 1e6, noise)
    return recording


def test_supervisor_time_and_spin_of_the_storage_manager_name_its_long_path() -> None:
    found = judged(storage_manager(0.4, lambda n: 0.004 * n), "storage_manager_path")
    assert found.state == "holds", found.summary


def test_a_small_or_lonely_part_of_the_storage_manager_does_not() -> None:
    small = judged(storage_manager(0.02, lambda n: 0.004 * n), "storage_manager_path")
    assert small.state == "does-not-hold"
    lonely = storage_manager(0.4, lambda _: 0.01)
    set_counter(lonely, CPU, "system", "lock_spin_us", lambda _: 0.01e6)
    assert judged(lonely, "storage_manager_path").state == "does-not-hold"


def cache(steal_cost: float, limit: float = 1.01e8, used: float = 5e8) -> MadeRecording:
    recording = CPU.make()
    noise = np.random.default_rng(5).lognormal(0, 0.6, len(recording.rows["system"]))
    set_level(recording, CPU, "system", "cache_bytes", lambda _: 1e8)
    set_level(recording, CPU, "system", "cache_limit_bytes", lambda _: limit)
    set_level(recording, CPU, "system", "mem_available_bytes", lambda _: 2e9 - used)
    set_counter(recording, CPU, "system", "cache_steals", lambda n: 200.0 * n, noise)
    for k, row in enumerate(recording.rows["processor"]):
        row["system_us"] += round(recording.rows["system"][k]["cache_steals"] * steal_cost)
    return recording


def test_a_cache_pinned_at_its_bound_with_storage_free_and_costly_steals_is_throttled() -> None:
    found = judged(cache(30.0), "cache_throttled")
    assert found.state == "holds", found.summary
    assert found.component == "cache"


@pytest.mark.parametrize(
    "recording",
    [lambda: cache(0.0), lambda: cache(30.0, limit=4e8), lambda: cache(30.0, used=1.9e9)],
    ids=["steals cost nothing", "it is not at its bound", "storage is full"],
)
def test_a_cache_is_not_throttled_otherwise(recording: Callable[[], MadeRecording]) -> None:
    assert judged(recording(), "cache_throttled").state == "does-not-hold"


def test_io_wait_on_idle_processors_is_no_cpu_bottleneck() -> None:
    recording = no_server(SERVER.make())
    for row in recording.rows["processor"]:
        row["iowait_us"], row["idle_us"] = row["idle_us"], 0
    answer = diagnose(recording)
    assert answer.saturation.outcome == "saturated"
    assert finding(answer, "cpu_bound").state == "does-not-hold"
    # A background job that waits for its disk is nothing that the users wait for.
    assert finding(answer, "io_bound").state == "does-not-hold"
    assert not [f for f in answer.findings if f.component != "none"]


def test_a_partition_at_its_cap_is_saturated_although_half_of_it_seems_idle() -> None:
    recording = Made(cpu=0.1, processors=1, quota=0.5).make()
    recording.description["system_under_test"].pop("cgroup")
    recording.rows.pop("cgroup")
    answer = diagnose(recording)
    assert answer.saturation.outcome == "saturated"
    assert answer.findings[0].rule == "quota_bound"
    assert "cap of 0.5 processors" in answer.findings[0].summary
    assert "seem idle" in answer.findings[0].summary
    assert finding(answer, "cpu_bound").state == "does-not-hold"


def test_supervisor_time_that_goes_with_forks_is_not_blamed_on_paging() -> None:
    made = Made(cpu=0.15, overhead=0.12, memory_fraction=0.99)
    recording = made.make()
    random = np.random.default_rng(7)
    forks, pages = (random.lognormal(0, 0.6, len(recording.rows["system"])) for _ in range(2))
    set_counter(recording, made, "system", "forks", lambda n: 100.0 * n, forks)
    for what in ("in", "out"):
        set_counter(recording, made, "system", f"swap_{what}_pages", lambda n: 40.0 * n, pages)
    assert judged(recording, "paging_overhead").state == "holds"
    for k, row in enumerate(recording.rows["processor"]):
        row["system_us"] += round(recording.rows["system"][k]["forks"] * 100)
    found = judged(recording, "paging_overhead")
    assert found.state == "does-not-hold"
    assert "forks" in found.summary
