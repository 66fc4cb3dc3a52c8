"""Bounds where no capacity is known: each holds for made input whose truth is known, and claims no use."""

from __future__ import annotations

from typing import Any

import pytest
from made_recording import MadeRecording, at

from satline.diagnosis import Diagnosis, diagnose
from satline.diagnosis._results import Carried, ResourceUse
from satline.present.documents import plain

pytestmark = pytest.mark.slow

INTERVAL_S = 10.0
COUNT = 40
SSD: dict[str, Any] = {"device_kind": "block"}
LINK: dict[str, Any] = {"device_kind": "network"}


def host(
    rates: list[float] | None = None,
    device: dict[str, Any] | None = None,
    system: Any = lambda _: {},
    *,
    counter: str = "requests",
    more: Any = lambda _: {},
    description: dict[str, Any] | None = None,
    reset: int | None = None,
    processor: Any = None,
    length: Any = lambda _: INTERVAL_S,
) -> Diagnosis:
    """The answer about a host with one device that carries `rates` per second, interval by interval.

    reset: the counter begins at 0 again before this reading; length: of the k-th interval, s.
    """
    rates = rates if rates is not None else [0.0] * COUNT
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "device": [], "processor": []}
    total, now_s = 7_000_000.0, 0.0
    for k in range(len(rates) + 1):
        if k:
            now_s += length(k)
            total += rates[k - 1] * length(k)
        if k == reset:
            total = 100.0
        now = at(now_s)
        rows["system"].append({**now, "sample": k, **system(k)})
        if device is not None:
            rows["device"].append({**now, "device": "a1", **device, counter: round(total), **more(k)})
        if processor is not None:
            rows["processor"].append({**now, "processor": "all", **processor(k)})
    return diagnose(MadeRecording({t: r for t, r in rows.items() if r}, description))


def bounds(answer: Diagnosis) -> dict[tuple[str, str], Carried]:
    assert answer.standing is not None
    return {(row.resource, row.what): row for row in answer.standing.carried}


def use(answer: Diagnosis, resource: str) -> ResourceUse | None:
    assert answer.standing is not None
    return next((u for u in answer.standing.uses if u.resource == resource and u.mean is not None), None)


def known(answer: Diagnosis, resource: str) -> ResourceUse:
    found = use(answer, resource)
    assert found is not None, f"{resource} has no use"
    return found


def mean(found: ResourceUse) -> float:
    assert found.mean is not None
    return found.mean.value


def steps(*pairs: tuple[int, float]) -> list[float]:
    return [rate for count, rate in pairs for _ in range(count)]


# ------------------------------------------------------------------ what was carried


def test_a_rate_is_a_lower_bound_of_the_capacity_and_no_use() -> None:
    answer = host(steps((20, 10), (5, 80), (15, 20)), SSD)
    row = bounds(answer)["disk a1", "requests"]
    assert (row.kind, row.over_s) == ("carried", 10)
    assert (row.extreme, row.usual) == (pytest.approx(80), pytest.approx(80))
    assert row.mean == pytest.approx((20 * 10 + 5 * 80 + 15 * 20) / 40)
    assert row.relative == 1.0
    assert answer.standing is not None
    assert answer.standing.state == "unknown"
    assert answer.standing.headroom is None
    assert use(answer, "disk a1") is None
    assert "disk a1 carried at least 80 requests/s (over 10 s)" in answer.headline
    assert "how much more could be carried is not known" in answer.headline
    assert "disk.dev.avactive" in answer.standing.next_step


def test_most_of_the_time_is_told_as_a_part_of_what_was_carried() -> None:
    answer = host(steps((39, 20), (1, 80)), SSD)
    row = bounds(answer)["disk a1", "requests"]
    assert row.relative == pytest.approx(0.25)
    assert "in 95 % of the time at most 25 % of that" in answer.headline


def test_a_counter_that_is_reset_carries_nothing_in_its_interval() -> None:
    answer = host(steps((40, 20)), SSD, reset=21)
    row = bounds(answer)["disk a1", "requests"]
    assert row.extreme == pytest.approx(20)
    assert (row.observations, row.seen) == (39, pytest.approx(39 / 40))


def test_a_gap_does_not_make_a_rate() -> None:
    answer = host(steps((40, 20)), SSD, length=lambda k: 500.0 if k == 20 else INTERVAL_S)
    assert bounds(answer)["disk a1", "requests"].extreme == pytest.approx(20, rel=0.01)


def test_a_clock_that_was_set_back_makes_no_greatest_rate() -> None:
    """40 requests in what seems 1 s, and was 10 s."""
    rates = steps((20, 4), (1, 40), (19, 4))
    answer = host(rates, SSD, length=lambda k: 1.0 if k == 21 else INTERVAL_S)
    assert bounds(answer)["disk a1", "requests"].extreme <= 8


def test_a_disk_without_any_request_is_said_to_be_so() -> None:
    answer = host(steps((40, 0)), SSD)
    assert bounds(answer)["disk a1", "requests"].extreme == 0
    assert "disk a1: no request at all" in answer.headline
    assert "could be carried" not in answer.headline


def test_two_observations_have_no_usual_part() -> None:
    answer = host([10.0, 30.0], SSD)
    row = bounds(answer)["disk a1", "requests"]
    assert row.extreme == pytest.approx(30)
    assert row.relative is None


def test_an_interface_without_speed_is_bounded_by_its_bytes() -> None:
    answer = host(steps((40, 5000)), LINK, counter="read_bytes")
    row = bounds(answer)["interface a1", "bytes in"]
    assert row.extreme == pytest.approx(5000)
    assert "network.interface.speed" in row.needs
    assert "interface a1 carried at least 5.0 kB/s in (over 10 s)" in answer.headline


@pytest.mark.parametrize("name", ["lo", "lo0"])
def test_what_a_host_sends_to_itself_bounds_no_link(name: str) -> None:
    answer = host(steps((40, 5000)), {**LINK, "device": name}, counter="read_bytes")
    assert bounds(answer) == {}


# ------------------------------------------------------------------ uses and bounds on uses


def test_an_interface_with_its_speed_has_a_use_by_the_busier_direction() -> None:
    speed = {"speed_bytes_per_s": 10_000, "write_bytes": 0}
    answer = host(steps((40, 2500)), LINK, counter="read_bytes", more=lambda _: speed)
    found = known(answer, "interface a1")
    assert mean(found) == pytest.approx(0.25)
    assert found.headroom == pytest.approx(3.6)
    assert ("interface a1", "bytes") not in bounds(answer)


def test_a_speed_that_is_too_low_to_be_true_gives_no_use() -> None:
    speed = {"speed_bytes_per_s": 1000, "write_bytes": 0}
    answer = host(steps((40, 2500)), LINK, counter="read_bytes", more=lambda _: speed)
    assert use(answer, "interface a1") is None
    assert bounds(answer)["interface a1", "bytes"].extreme == pytest.approx(2500)


@pytest.mark.parametrize(("each_ms", "known"), [(10, True), (60, False)])
def test_requests_outstanding_bound_the_use_of_a_disk_from_above(each_ms: int, known: bool) -> None:
    """20 requests/s of 10 ms each: 0.2 outstanding on average, so that the disk is in use for at most 20 %;
    of 60 ms: 1.2, which bounds nothing."""
    answer = host(
        steps((40, 20)), SSD, more=lambda k: {"request_wait_us": round(20 * each_ms * 1000 * INTERVAL_S * k)}
    )
    found = use(answer, "disk a1")
    assert (found is not None) is known
    if found is not None:
        assert found.upper_bound
        assert mean(found) == pytest.approx(0.2)
        assert found.headroom == pytest.approx(4.5)
        assert found.short == 0


def test_a_load_average_below_one_bounds_the_cpu_whatever_the_number_of_processors() -> None:
    answer = host(system=lambda _: {"load_average_1": 0.3})
    cpu = known(answer, "CPU")
    assert cpu.upper_bound
    assert mean(cpu) == pytest.approx(0.3)
    assert cpu.of == "load average, even if there is a single CPU"
    assert answer.standing is not None
    assert answer.standing.next_step.startswith("Record CPU times")


def test_a_load_average_above_one_bounds_processors_at_work_alone() -> None:
    answer = host(system=lambda _: {"load_average_1": 3.0})
    assert use(answer, "CPU") is None
    row = bounds(answer)["CPU", "in use by the load average"]
    assert (row.kind, row.usual) == ("at most", 3.0)
    assert answer.standing is not None
    assert answer.standing.state == "unknown"


def test_a_load_average_is_held_against_the_processors_where_they_are_known() -> None:
    answer = host(
        system=lambda _: {"load_average_1": 3.0}, description={"host": {"page_bytes": 4096, "processors": 8}}
    )
    cpu = known(answer, "CPU")
    assert mean(cpu) == pytest.approx(3 / 8)


def test_idle_time_of_an_unknown_number_of_processors_is_free() -> None:
    """Four processors of which 2.8 are idle: at least so many, whatever their number."""
    answer = host(processor=lambda k: {"idle_us": round(2.8e6 * INTERVAL_S * k)})
    row = bounds(answer)["CPU", "idle"]
    assert (row.kind, row.unit) == ("free", "processors")
    assert row.usual == pytest.approx(2.8)
    assert use(answer, "CPU") is None
    assert "CPU: at least 2.8 processors idle in 95 % of the time" in answer.headline


def test_busy_time_of_an_unknown_number_of_processors_was_carried() -> None:
    answer = host(processor=lambda k: {"user_us": round(1.7e6 * INTERVAL_S * k)})
    assert bounds(answer)["CPU", "in use"].extreme == pytest.approx(1.7)
    assert use(answer, "CPU") is None
    assert "hinv.ncpu" in bounds(answer)["CPU", "in use"].needs


def test_memory_without_its_size_is_bounded_by_what_was_free() -> None:
    answer = host(system=lambda k: {"mem_free_bytes": 10**9 if k != 7 else 10**8})
    row = bounds(answer)["memory", "free"]
    assert (row.kind, row.extreme, row.usual) == ("free", 10**8, 10**9)
    assert "memory: at least 1.0 GB free in 95 % of the time" in answer.headline


def test_memory_with_its_size_has_a_use_though_what_is_available_is_not_told() -> None:
    levels = {"mem_total_bytes": 1000, "mem_free_bytes": 300, "cached_bytes": 200}
    memory = known(host(system=lambda _: levels), "memory")
    assert mean(memory) == pytest.approx(0.5)


def test_more_available_memory_than_there_is_gives_no_use_of_nothing() -> None:
    levels = {
        "mem_total_bytes": 1000,
        "mem_available_bytes": 40_000,
        "mem_free_bytes": 300,
        "cached_bytes": 200,
    }
    memory = known(host(system=lambda _: levels), "memory")
    assert mean(memory) == pytest.approx(0.5)


def test_a_gpu_is_a_resource_by_what_the_card_tells() -> None:
    card = {"device_kind": "gpu", "busy_part": 0.4, "size_bytes": 1000, "used_bytes": 250}
    answer = host(steps((40, 0)), card)
    gpu, memory = known(answer, "GPU a1"), known(answer, "GPU memory of a1")
    assert (mean(gpu), mean(memory)) == (pytest.approx(0.4), pytest.approx(0.25))
    assert gpu.headroom == pytest.approx(0.9 / 0.4)
    assert "GPU a1 ≤ 40 %" in answer.headline


def test_levels_alone_bound_nothing_and_are_said_to_be_known() -> None:
    answer = host(system=lambda k: {"tasks_total": 140 - k})
    assert {key: row.kind for key, row in bounds(answer).items()} == {("tasks", "tasks"): "level"}
    row = bounds(answer)["tasks", "tasks"]
    assert (row.extreme, row.relative) == (139, None)
    assert answer.headline == "How full anything was cannot be told; known: 120 tasks (at most 140)"


CREATED = ("kernel", "tasks created by the growth of their number")


def test_where_there_are_more_tasks_than_before_so_many_were_created_at_least() -> None:
    answer = host(system=lambda k: {"tasks_total": 120 + 20 * (k % 2)})
    row = bounds(answer)[CREATED]
    assert (row.kind, row.extreme, row.relative) == ("at least", 2.0, None)
    assert row.mean == pytest.approx(1.0)
    assert "kernel: at least 2.0 tasks created/s (over 10 s)" in answer.headline


def test_the_kernels_own_count_of_created_processes_is_better_than_the_growth_of_their_number() -> None:
    answer = host(system=lambda k: {"tasks_total": 120 + 20 * (k % 2), "forks": 900 * k})
    assert bounds(answer)["kernel", "processes created"].extreme == pytest.approx(90)
    assert CREATED not in bounds(answer)


def test_a_reading_without_the_number_of_tasks_is_no_fall_and_no_growth() -> None:
    answer = host(system=lambda k: {"tasks_total": None if k % 4 == 3 else 100 + 10 * (k // 2)})
    row = bounds(answer)[CREATED]
    assert row.seen == pytest.approx(0.75)
    assert (row.extreme, row.mean) == (1.0, pytest.approx(1 / 3))


def test_system_calls_that_were_served_are_carried() -> None:
    answer = host(system=lambda k: {"system_calls": 40_000 * k})
    row = bounds(answer)["kernel", "system calls"]
    assert (row.kind, row.extreme) == ("carried", pytest.approx(4000))
    assert "kernel carried at least 4,000 system calls/s (over 10 s)" in answer.headline


def test_connections_that_were_held_at_once_bound_what_it_carries() -> None:
    answer = host(system=lambda k: {"tcp_connections": 50 if k == 30 else 20})
    row = bounds(answer)["TCP", "connections"]
    assert (row.kind, row.extreme, row.relative) == ("carried", 50, pytest.approx(0.4))
    assert "TCP held at least 50 connections (over 10 s), in 95 % of the time at most 40 % of that" in (
        answer.headline
    )


def test_bounds_are_in_the_plain_data() -> None:
    standing = plain(host(steps((40, 20)), SSD))["standing"]
    assert standing["carried"][0]["kind"] == "carried"
    assert standing["carried"][0]["unit"] == "requests/s"
