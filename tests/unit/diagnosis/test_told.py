"""Waits that the kernel told: who waits is named, with who holds; without them nothing is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_live_host import MadeHost, MadeUser

from satline.diagnosis import Diagnosis, Finding, diagnose
from satline.diagnosis._held import held_back
from satline.diagnosis._histories import Histories
from satline.diagnosis._resources import uses
from satline.reduction import reduce

pytestmark = pytest.mark.slow

SERVICE = "/system.slice/orders.service"


def rule(answer: Diagnosis, name: str) -> Finding:
    return next(f for f in (*answer.findings, *answer.others) if f.rule == name)


def pairs(
    cause: str, waits: dict[tuple[str, str], float], name: str = "books"
) -> dict[str, dict[str, float]]:
    """Rows of table holder: by waiter and holder, seconds a second."""
    return {
        f"{user} {cause} {holder} {name} {SERVICE}": {"wait_us": 1e6 * part, "waits": 10 * part}
        for (user, holder), part in waits.items()
    }


def locked(cause: str, holder: str | None, part: float = 0.6) -> MadeHost:
    """Five users who wait for a lock so much of the time, held by one, or by each in turn."""
    names = [f"a{k}" for k in range(5)]
    told = {"futex": part, "mutex": part} if cause == "mutex" else {cause: part}
    users = {name: MadeUser(cpu=0.02, told=told) for name in names}
    waits = {}
    for user in names:
        for other in names:
            if other != user:
                waits[user, other] = (
                    part / 4 if holder is None else part * (0.9 if other == holder else 0.1 / 3)
                )
    if holder is not None:
        users[holder] = MadeUser(cpu=0.1, told={})
        waits = {key: value for key, value in waits.items() if key[0] != holder}
    return MadeHost(users, 0.4, counters={"holder": pairs(cause, waits)}, watched=True)


@pytest.mark.parametrize(("cause", "what"), [("mutex", "between threads"), ("file_lock", "on files")])
def test_one_who_holds_what_others_wait_for_is_named(cause: str, what: str) -> None:
    answer = diagnose(locked(cause, "a3").make())
    bound, out = rule(answer, "lock_bound"), rule(answer, "one_user_locks_out")
    assert (bound.state, out.state) == ("holds", "holds")
    for finding in (bound, out):
        assert f"locks {what}" in finding.summary or finding is out
        assert "held by user a3 (command books, orders.service) for 90% of that" in finding.summary
        assert "60% of the time" in finding.summary
    assert any("held by user a3" in fact.variable for fact in bound.evidence)
    assert "a3" in bound.remedies[0]


def test_holders_in_turn_lock_nobody_out() -> None:
    answer = diagnose(locked("file_lock", None).make())
    bound, out = rule(answer, "lock_bound"), rule(answer, "one_user_locks_out")
    assert bound.state == "holds"
    assert "held in turn by users" in bound.summary
    assert out.state == "does-not-hold"


def test_a_pool_that_waits_for_work_waits_for_no_lock() -> None:
    users = {f"a{k}": MadeUser(cpu=0.02, told={"futex": 16.0}) for k in range(5)}
    waits = pairs("futex", {(name, name): 16.0 for name in users})
    answer = diagnose(MadeHost(users, 0.2, counters={"holder": waits}, watched=True).make())
    assert rule(answer, "lock_bound").state != "holds"
    assert rule(answer, "one_user_locks_out").state != "holds"


def test_little_contention_of_a_busy_program_holds_nobody_back() -> None:
    users = {"a0": MadeUser(cpu=1.6, told={"futex": 0.4, "mutex": 0.4}), "a1": MadeUser(cpu=0.01, told={})}
    waits = pairs("mutex", {("a0", "a0"): 0.4})
    answer = diagnose(MadeHost(users, 1.7, counters={"holder": waits}, watched=True).make())
    assert rule(answer, "lock_bound").state != "holds"


def test_the_kernels_own_locks_are_nobodys_to_hold() -> None:
    made = locked("file_lock", "a3")
    made.counters["lock"] = {
        "kernel: mutexes": {"wait_us": 5e6, "defers": 100},
        "flock /srv/ledger.db": {"wait_us": 2.4e6, "hold_us": 0.9e6},
    }
    found = rule(diagnose(made.make()), "lock_bound")
    assert found.state == "holds"
    assert "for lock flock /srv/ledger.db, which is held" in found.summary
    assert "kernel:" not in found.summary


@pytest.mark.parametrize("throttled", [0.2, None])
def test_a_quota_holds_back_by_what_the_kernel_tells_of_it(throttled: float | None) -> None:
    told = None if throttled is None else {"throttled": throttled}
    users = {f"a{k}": MadeUser(cpu=0.12, delay=0.7, group="/shop", told=told) for k in range(4)}
    held = {"quota_periods": 10, "quota_throttled_periods": 9.5, "quota_throttled_us": 6e5}
    made = MadeHost(
        {**users, "hog": MadeUser(cpu=1.4, delay=0.1)},
        2.0,
        counters={"cgroup": {"/shop": held}},
        levels={"cgroup": {"/shop": {"quota_limit_millicpu": 500}}},
    ).make()
    reduction = reduce(made)
    found = {use.name: use for use in uses(reduction, Histories(made, reduction))}
    quota, cpu = found["CPU quota of /shop"].held, found["CPU"].held
    assert quota is not None
    assert cpu is not None
    assert quota.mean() == pytest.approx(4 * (throttled or 0.7), rel=0.1)
    left = 4 * (0.7 - (throttled or 0.7)) * (1 - 0.12 / 1.88)
    assert cpu.mean() == pytest.approx(left + 0.1 * (1 - 1.4 / 1.88), abs=0.15)


def test_pages_are_told_from_files_by_what_the_kernel_says() -> None:
    """By clocks and counts a user who reads files and misses pages of a program is half of each."""
    blocked = {"cpu": 0.05, "blocked": 0.8, "read": 400 * 4096, "faults": 200}
    users = {
        "files": MadeUser(**blocked, told={"io": 0.7, "page": 0.1}),
        "pages": MadeUser(**blocked, told={"io": 0.1, "page": 0.7}),
        "counted": MadeUser(**blocked),
    }
    made = MadeHost(users, 0.4).make()
    reduction = reduce(made)
    held = held_back(reduction, Histories(made, reduction))
    assert held is not None
    seen = {}
    for name, own in held.users.items():
        assert own.paged is not None
        seen[name] = ((own.io - own.paged).mean(), (own.page + own.paged).mean())
    assert seen["files"] == pytest.approx((0.7, 0.1), abs=0.03)
    assert seen["pages"] == pytest.approx((0.1, 0.7), abs=0.03)
    assert seen["counted"] == pytest.approx((0.4, 0.4), abs=0.05)


def server(busy: float, pipe: float) -> MadeHost:
    """Six users who wait so much of the time for answers of a server with one thread."""
    clients = {f"c{k}": MadeUser(cpu=0.01, told={"local": pipe}) for k in range(6)}
    users = {**clients, "web": MadeUser(cpu=busy, told={"local": 1 - busy})}
    waits = pairs("local", {(name, "web"): pipe for name in clients}, "server")
    waits |= pairs("local", {("web", name): (1 - busy) / 6 for name in clients}, "client")
    thread = {"web server 77": {"cpu_us": busy * 1e6, "run_delay_us": 0.0}}
    return MadeHost(users, busy + 0.1, counters={"holder": waits, "task": thread}, watched=True)


def test_a_server_behind_pipes_is_named_with_those_that_wait_for_it() -> None:
    answer = diagnose(server(0.95, 0.7).make())
    found = rule(answer, "serialised_server")
    assert found.state == "holds"
    assert "server of user web" in found.summary
    assert "wait for its answers 70% of the time" in found.summary
    assert rule(answer, "one_user_locks_out").state != "holds"
    held_up = answer.waits[-1].held_up
    assert [(one.cause, one.holders) for one in held_up] == [
        ("local", ("user web (command server, orders.service)",))
    ]
    assert held_up[0].share == pytest.approx(0.7, abs=0.05)


def test_a_server_that_rests_is_no_bottleneck() -> None:
    assert rule(diagnose(server(0.5, 0.7).make()), "serialised_server").state != "holds"


def test_waits_for_locks_are_a_part_of_the_users_time() -> None:
    told = diagnose(locked("file_lock", "a3").make())
    shares = {part.part: part.share for part in told.waits[-1].parts}
    assert shares["lock_wait"] == pytest.approx(4 * 0.6 / (4 * 0.62 + 0.1), abs=0.05)
    assert told.waits[-1].held_up[0].holders[0] == "user a3 (command books, orders.service)"


def test_where_nothing_was_told_there_is_no_word_of_it() -> None:
    made = locked("file_lock", "a3")
    plain = replace(made, users={n: replace(u, told=None) for n, u in made.users.items()}, counters={})
    answer = diagnose(plain.make())
    assert all(not one.held_up for one in answer.waits)
    assert all("lock_wait" not in {part.part for part in one.parts} for one in answer.waits)
    assert rule(answer, "one_user_locks_out").missing
