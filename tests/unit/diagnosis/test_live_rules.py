"""Rules on a live host by absolute levels and users' own waits, where there are no loads to compare."""

from __future__ import annotations

import pytest
from made_live_host import MadeHost, MadeUser, Rate

from satline.diagnosis import Diagnosis, Finding, diagnose, suffices

LIGHT = {f"u{k}": MadeUser(cpu=0.02, delay=0.002) for k in range(3)}
PAGE = 4096
# It waits for pages by block I/O: all that it reads are pages that it faulted in.
PAGING = {"cpu": 0.03, "blocked": 0.8, "read": 200 * PAGE, "faults": 200}
READING = {"cpu": 0.03, "blocked": 0.8, "read": 2e6, "faults": 0}
FULL = 2.0
# Judged on nothing but a record of transactions, a range of loads, or signals that no host gives.
SILENT = {
    "one_user_locks_out",
    "storage_manager_path",
    "cache_lost",
    "write_penalty",
    "daytime_maintenance",
}


def by_rule(answer: Diagnosis) -> dict[str, Finding]:
    return {f.rule: f for f in (*answer.findings, *answer.others)}


def group(
    refaults: Rate, faults: Rate, *, fill: float = 1.0, file: float = 0.1
) -> tuple[dict[str, dict[str, dict[str, Rate]]], dict[str, dict[str, dict[str, Rate]]]]:
    """The counters and levels of group /lab with a memory limit of 64 MiB."""
    held = fill * (64 << 20)
    counters = {"limit_hits": 500, "major_faults": faults, "refault_pages": refaults}
    levels = {"memory_bytes": held, "memory_limit_bytes": 64 << 20, "file_bytes": file * held}
    return {"cgroup": {"/lab": counters}}, {"cgroup": {"/lab": levels}}


def members(count: int = 4, **own: Rate) -> dict[str, MadeUser]:
    return {f"a{k}": MadeUser(group="/lab", **own) for k in range(count)}  # type: ignore[arg-type]


def test_paging_all_the_time_needs_no_second_load() -> None:
    counters, levels = group(1000, 800)
    host = MadeHost({**LIGHT, **members(**PAGING)}, 0.4, counters=counters, levels=levels, watched=True)
    found = by_rule(diagnose(host.make()))
    assert found["paging_bound"].state == "holds", found["paging_bound"].summary
    assert "in group /lab" in found["paging_bound"].summary
    assert found["io_bound"].state == "does-not-hold"
    assert found["page_and_io_wait"].state == "does-not-hold"
    assert found["cache_throttled"].state == "does-not-hold"
    assert found["storage_not_bottleneck"].state == "does-not-hold"
    # Whether fewer at once would do more was not seen.
    assert found["thrashing"].state == "cannot-judge"


def test_those_who_page_and_those_who_read_are_told_apart_by_user() -> None:
    counters, levels = group(1000, 600)
    users = {**members(3, **PAGING), **{f"b{k}": MadeUser(group="/lab", **READING) for k in range(3)}}
    host = MadeHost({**LIGHT, **users}, 0.4, counters=counters, levels=levels, watched=True)
    found = by_rule(diagnose(host.make()))["page_and_io_wait"]
    assert found.state == "holds", found.summary
    pages, io = (text.partition(" wait users ")[2] for text in found.summary.split("; for ")[1:3])
    assert {*pages.removesuffix(" in group /lab").split(", ")} == {"a0", "a1", "a2"}
    assert {*io.removesuffix(" in group /lab").split(", ")} == {"b0", "b1", "b2"}


def test_a_cache_at_the_limit_of_its_group_is_told_from_programs_that_page() -> None:
    counters, levels = group(3000, 5, file=0.9)
    host = MadeHost({**LIGHT, **members(**READING)}, 0.4, counters=counters, levels=levels, watched=True)
    found = by_rule(diagnose(host.make()))["cache_throttled"]
    assert found.state == "holds", found.summary
    assert "group /lab (users a0, a1, a2 and 1 more)" in found.summary
    assert "limit of 64 MiB" in found.summary


@pytest.mark.parametrize(("fill", "again"), [(0.6, 3000.0), (1.0, 2.0)])
def test_a_cache_with_room_or_that_misses_nothing_is_not_throttled(fill: float, again: float) -> None:
    counters, levels = group(again, 0, fill=fill, file=0.9)
    host = MadeHost({**LIGHT, **members(**READING)}, 0.4, counters=counters, levels=levels, watched=True)
    assert by_rule(diagnose(host.make()))["cache_throttled"].state == "does-not-hold"


def spells(t: float) -> bool:
    """Every other minute."""
    return t % 120 >= 60


def thrash(falls: bool) -> MadeHost:
    """Two users of a group always, four more in spells: pages come back, and less is done, or more."""
    core = {
        "cpu": lambda t: (0.1 if falls else 0.9) if spells(t) else 0.9,
        "blocked": lambda t: 0.85 if spells(t) else 0.0,
        "read": lambda t: 200 * PAGE if spells(t) else 0.0,
        "faults": lambda t: 200 if spells(t) else 0.0,
    }
    late = {
        "cpu": lambda t: (0.1 if falls else 0.5) if spells(t) else 0.0,
        **{name: rate for name, rate in core.items() if name != "cpu"},
    }
    users = {**LIGHT, **members(2, **core), **{f"b{k}": MadeUser(group="/lab", **late) for k in range(4)}}  # type: ignore[arg-type]
    counters, levels = group(lambda t: 1200 if spells(t) else 0, lambda t: 1200 if spells(t) else 0)
    # What else the host does fills its processors all the time.
    return MadeHost(users, 1.8, seconds=480, counters=counters, levels=levels, watched=True)


def test_thrashing_is_seen_inside_its_group_whatever_else_the_host_does() -> None:
    found = by_rule(diagnose(thrash(True).make()))["thrashing"]
    assert found.state == "holds", found.summary
    assert "in group /lab" in found.summary


def test_more_users_who_get_more_done_do_not_thrash() -> None:
    found = by_rule(diagnose(thrash(False).make()))["thrashing"]
    assert found.state == "does-not-hold", found.summary


def background(delay: float) -> MadeHost:
    """A job that never rests fills the processors beside four users, who wait so long."""
    users = {f"u{k}": MadeUser(cpu=0.05, delay=delay) for k in range(4)}
    job = {"job": MadeUser(cpu=1.8, delay=2.0, processes=6)}
    return MadeHost({**users, **job}, FULL, watched=True)


def arm(service_s: float) -> MadeHost:
    """Seven users of a loop device, six of them in spells, in which a request takes so long; beside them
    others wait for a lock all the time."""

    def in_spells(busy: float, calm: float = 0.0) -> Rate:
        return lambda t: busy if t // 60 % 2 else calm

    def user(calm: float) -> MadeUser:
        rate = in_spells(14, 47 if calm else 0)
        return MadeUser(
            cpu=in_spells(0.02, calm), blocked=in_spells(0.75, calm), read=lambda t: 65536 * rate(t)
        )

    users = {"b0": user(0.06), **{f"b{k}": user(0.0) for k in range(1, 7)}}
    requests = in_spells(0.98 / service_s, 47)
    disk = {
        "busy_us": in_spells(0.98e6, 0.06e6),
        "queue_us": in_spells(5e6, 0.06e6),
        "reads": requests,
        "read_bytes": lambda t: 65536 * requests(t),
        "writes": 0,
        "write_bytes": 0,
    }
    return MadeHost(
        {**users, "waiter": MadeUser(cpu=0.01, lock=0.9)},
        0.4,
        working=in_spells(7, 1),
        counters={"device": {"loop0": disk}, "lock": {"flock /srv/l": {"wait_us": lambda t: 1e6 + 2e3 * t}}},
        watched=True,
    )


def test_the_arm_of_a_disk_on_a_file_is_seen_beside_what_is_short_all_the_time() -> None:
    found = by_rule(diagnose(arm(0.010).make()))
    assert found["arm_contention"].state == "holds", found["arm_contention"].summary
    text = found["arm_contention"].summary
    assert "ms of its own time for a request, 1.3 ms at light load" in text
    assert "loop0 takes 9." in text or "loop0 takes 10 ms" in text
    assert found["io_bound"].state == "holds"
    assert found["lock_bound"].state == "holds"


def test_a_queue_at_a_disk_that_gets_no_slower_is_no_arm() -> None:
    found = by_rule(diagnose(arm(0.0013).make()))
    assert found["arm_contention"].state == "does-not-hold"
    assert found["io_bound"].state == "holds"


def test_background_work_that_yields_is_no_bottleneck() -> None:
    answer = diagnose(background(0.005).make())
    found = by_rule(answer)["cpu_background"]
    assert found.state == "holds", found.summary
    assert "user job" in found.summary
    assert "4 other users hardly wait" in found.summary
    assert not [f for f in answer.findings if f.component != "none"], answer.headline


def test_a_hog_that_others_wait_for_is_no_background() -> None:
    found = by_rule(diagnose(background(0.2).make()))
    assert found["cpu_background"].state == "does-not-hold"
    assert found["cpu_bound"].state == "holds"


def test_a_group_full_of_files_that_nobody_misses_is_not_the_bottleneck() -> None:
    counters, levels = group(1, 0, file=0.9)
    users = members(5, cpu=0.4, delay=0.5)
    host = MadeHost(users, FULL, counters=counters, levels=levels, watched=True)
    found = by_rule(diagnose(host.make()))
    assert found["storage_not_bottleneck"].state == "holds", found["storage_not_bottleneck"].summary
    assert "the memory limit of /lab is 100% full" in found["storage_not_bottleneck"].summary
    assert found["cpu_bound"].state == "holds"


def test_nothing_holds_on_a_healthy_host_and_nearly_all_is_judged() -> None:
    recording = MadeHost(dict(LIGHT), 0.3, watched=True).make()
    answer = diagnose(recording)
    assert not answer.findings, answer.headline
    unjudged = {f.rule for f in answer.others if f.state == "cannot-judge"}
    # No threads, locks or network interfaces are in it.
    assert unjudged <= SILENT | {"serialised_server", "lock_bound", "network_blamed"}, unjudged


def test_what_the_monitor_does_not_find_is_not_there_and_of_another_source_not_known() -> None:
    for watched in (True, False):
        users = {f"u{k}": MadeUser(cpu=0.3, delay=0.5) for k in range(5)}
        found = by_rule(diagnose(MadeHost(users, FULL, watched=watched).make()))
        for rule in ("quota_bound", "working_sets_overestimated", "cache_throttled"):
            expected = "does-not-hold" if watched else "cannot-judge"
            assert found[rule].state == expected, (rule, found[rule].summary)


def test_info_says_what_diagnose_says() -> None:
    counters, levels = group(1000, 800)
    host = MadeHost({**LIGHT, **members(**PAGING)}, 0.4, counters=counters, levels=levels, watched=True)
    recording = host.make()
    answer, told = diagnose(recording), suffices(recording)
    judged = {rule.rule for rule in told.rules if rule.judged}
    assert judged == {f.rule for f in (*answer.findings, *answer.others) if f.state != "cannot-judge"}
    questions = {q.question: q for q in told.questions}
    cause = questions["What holds it back?"]
    assert cause.answerable
    assert next(f for f in answer.findings if f.component != "none").title in cause.why
    assert questions["How full was everything?"].answerable
    assert "pages" in questions["What do users wait for?"].why
