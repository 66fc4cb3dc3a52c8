"""Rules on single devices, users and jobs. They hold without saturation too, and are then remarks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recording import MadeRecording
from made_signs import add_device, add_job, add_user, bursts, disk, judged, slow_down
from made_study import Made
from test_plain import host

from satline.diagnosis import Diagnosis, Finding, diagnose

pytestmark = pytest.mark.slow

LIGHT = Made(cpu=0.01, station=0.02, kind="io", window=48.0, levels=(2, 4, 6, 8, 10))
HOSTILE = "\x1b[31m<script>\u202e"


def finding(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(f for f in (*diagnosis.findings, *diagnosis.others) if f.rule == rule)


def only_remarks(diagnosis: Diagnosis) -> bool:
    """Nothing is named as what limits the load."""
    return all(f.component == "none" for f in diagnosis.findings)


def jump(k: int) -> float:
    return 1.0 if k < 900 else 4.0


def test_a_lasting_jump_together_with_vanished_cache_counters_is_a_lost_cache() -> None:
    answer = diagnose(disk(jump, hits=lambda k: 0.8 if k < 900 else None, name=HOSTILE))
    found = finding(answer, "cache_lost")
    assert found.state == "holds", found.summary
    assert f"reads of {HOSTILE} take 4" in found.summary or f"reads of {HOSTILE} take 3.9" in found.summary
    assert "its cache counters vanish then" in found.summary
    assert "2023-11-15 00:4" in found.summary
    assert answer.saturation.outcome != "saturated"
    assert only_remarks(answer)
    assert found.title not in answer.headline


def test_fewer_hits_from_the_jump_on_are_a_lost_cache_too() -> None:
    found = judged(disk(jump, hits=lambda k: 0.8 if k < 900 else 0.05), "cache_lost")
    assert found.state == "holds", found.summary
    assert "80% of the requests before" in found.summary


@pytest.mark.parametrize(
    ("read_ms", "hits", "state"),
    [
        (jump, lambda _: None, "cannot-judge"),
        (jump, lambda _: 0.8, "does-not-hold"),
        (lambda _: 1.0, lambda k: 0.8 if k < 900 else None, "does-not-hold"),
        (lambda k: 4.0 if k % 360 > 300 else 1.0, lambda _: 0.8, "does-not-hold"),
    ],
    ids=["no cache counters", "the cache still serves", "no jump", "slow at heavy load every hour"],
)
def test_a_cache_is_not_called_lost_otherwise(
    read_ms: Callable[[int], float], hits: Callable[[int], float | None], state: str
) -> None:
    assert judged(disk(read_ms, hits=hits), "cache_lost").state == state


def test_a_short_recording_shows_no_jump() -> None:
    assert judged(disk(jump, samples=20), "cache_lost").state == "cannot-judge"


def test_writes_far_slower_than_reads_are_remarked_on() -> None:
    answer = diagnose(disk(lambda _: 1.0, write_ms=6.0))
    found = finding(answer, "write_penalty")
    assert found.state == "holds", found.summary
    assert only_remarks(answer)


def test_writes_that_queue_or_are_little_slower_are_no_penalty() -> None:
    assert judged(disk(lambda _: 1.0, write_ms=1.8), "write_penalty").state == "does-not-hold"
    queued = judged(disk(lambda _: 1.0, write_ms=6.0, queue=8.0), "write_penalty")
    assert queued.state == "cannot-judge"
    assert "queue" in queued.summary


def two_disks(write_ms: float, names: tuple[str, str] = ("sda", "sdb")) -> MadeRecording:
    """One disk that is mostly read, one that is mostly written; either takes equally long for both."""
    recording = disk(lambda _: 1.0, name=names[0])
    written = disk(lambda _: write_ms, write_ms=write_ms, name=names[1], seed=2).rows["device"]
    for row in recording.rows["device"]:
        row["writes"], row["write_wait_us"] = row["reads"] // 20, row["read_wait_us"] // 20
    for row in written:
        row["reads"], row["read_wait_us"] = row["writes"] // 20, row["write_wait_us"] // 20
    recording.rows["device"] = sorted(
        [*recording.rows["device"], *written], key=lambda row: row["monotonic_ns"]
    )
    return recording


def test_writes_to_one_disk_far_slower_than_reads_of_another_alike_are_remarked_on() -> None:
    answer = diagnose(two_disks(6.0))
    found = finding(answer, "write_penalty")
    assert found.state == "holds", found.summary
    assert "a write to sdb takes" in found.summary
    assert "a read of sda: one is mostly written" in found.summary
    assert only_remarks(answer)


@pytest.mark.parametrize(
    ("write_ms", "names"),
    [(1.8, ("sda", "sdb")), (6.0, ("nvme0n1", "sda"))],
    ids=["little slower", "disks of two types"],
)
def test_disks_of_different_use_are_no_penalty_otherwise(write_ms: float, names: tuple[str, str]) -> None:
    assert judged(two_disks(write_ms, names), "write_penalty").state == "does-not-hold"


def locked_out(effect: str, name: str = HOSTILE) -> MadeRecording:
    """A user who is active now and then; the others' transactions wait for another process (`other`), for a
    processor (`cpu`), or not at all."""
    recording = LIGHT.make()
    spells = bursts(LIGHT, every=9.7, length=3.0)
    add_user(recording, name, spells)
    if effect != "nothing":
        slow_down(recording, spells, 0.8)
    if effect == "cpu":
        for row in recording.rows["user"]:
            if row["user"] != name:
                now = row["monotonic_ns"] / 1e9
                row["run_delay_us"] += sum(round(min(max(0.0, now - a), b - a) * 4e5) for a, b in spells)
    return recording


def test_a_user_whose_activity_the_others_response_follows_locks_them_out() -> None:
    answer = diagnose(locked_out("other"))
    found = finding(answer, "one_user_locks_out")
    assert found.state == "holds", (found.summary, found.evidence)
    assert HOSTILE in found.summary
    assert answer.saturation.outcome != "saturated"
    assert only_remarks(answer)


@pytest.mark.parametrize("effect", ["nothing", "cpu"])
def test_a_user_who_is_merely_busy_or_takes_the_processors_locks_nobody_out(effect: str) -> None:
    found = judged(locked_out(effect), "one_user_locks_out")
    assert found.state == "does-not-hold", found.summary


def test_two_users_who_always_work_together_are_not_told_apart() -> None:
    recording = locked_out("other")
    add_user(recording, "twin", bursts(LIGHT, every=9.7, length=3.0))
    assert judged(recording, "one_user_locks_out").state == "does-not-hold"


def maintained(number: int, by: float, first: float = 150.0) -> MadeRecording:
    recording = LIGHT.make()
    recording.rows.setdefault("task", [])
    spells = bursts(LIGHT, every=17.0, length=3.0, first=first)[:number]
    add_job(recording, HOSTILE, spells)
    slow_down(recording, spells, by)
    return recording


def test_rare_work_that_makes_response_spike_while_users_are_busy_is_remarked_on() -> None:
    answer = diagnose(maintained(6, 0.5))
    found = finding(answer, "daytime_maintenance")
    assert found.state == "holds", (found.summary, found.evidence)
    assert HOSTILE in found.summary
    assert only_remarks(answer)


def test_a_log_that_names_users_but_no_classes_shows_it_too() -> None:
    recording = maintained(6, 0.5)
    for row in recording.rows["transaction"]:
        row["class"] = None
    found = judged(recording, "daytime_maintenance")
    assert found.state == "holds", found.summary


@pytest.mark.parametrize(
    ("number", "by", "first"),
    [(6, 0.0, 150.0), (2, 0.5, 150.0), (5, 0.5, 10.0)],
    ids=["no spikes", "seen too seldom", "few users are active"],
)
def test_rare_work_is_not_blamed_otherwise(number: int, by: float, first: float) -> None:
    assert judged(maintained(number, by, first), "daytime_maintenance").state == "does-not-hold"


def networked(errors: float, made: Made, packets: float = 500.0) -> MadeRecording:
    recording = made.make()
    rates = {"reads": lambda _: packets, "writes": lambda _: packets, "errors": lambda _: errors}
    add_device(recording, made, HOSTILE, "network", rates=rates, levels={})
    return recording


def test_a_clean_network_before_a_busy_host_is_not_to_blame() -> None:
    answer = diagnose(networked(0.0, Made(cpu=0.2)))
    found = finding(answer, "network_blamed")
    assert found.state == "holds", found.summary
    assert found.component == "none"
    assert answer.findings[0].rule == "cpu_bound"


@pytest.mark.parametrize(
    "recording",
    [
        lambda: networked(5.0, Made(cpu=0.2)),
        lambda: networked(0.0, Made(cpu=0.2), packets=2.0),
        lambda: networked(0.0, Made(cpu=0.02, station=0.2, kind="io")),
    ],
    ids=["it drops packets", "it is hardly used", "nobody waits for processors"],
)
def test_the_network_is_not_acquitted_otherwise(recording: Callable[[], MadeRecording]) -> None:
    assert judged(recording(), "network_blamed").state == "does-not-hold"


def test_what_limits_a_batch_machine_is_still_told() -> None:
    recording = host(0.0, batch=True, hours=20, capacity=1.0)
    for row in recording.rows["processor"]:
        row["user_us"], row["system_us"] = row["user_us"] * 2, row["system_us"] * 2
    recording.rows["processor"] = [r for r in recording.rows["processor"] if r["processor"] == "0"]
    answer = diagnose(recording)
    assert answer.saturation.outcome == "nongranular"
    assert answer.findings[0].rule == "cpu_bound"
    assert "what limits it: CPU bound" in answer.headline
    assert finding(answer, "paging_bound").state == "cannot-judge"
