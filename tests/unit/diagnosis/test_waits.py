"""Where the users' time went, by load class."""

from __future__ import annotations

import pytest
from made_signs import set_level
from made_study import Made
from test_plain import host

from satline.diagnosis import WaitShares, diagnose, wait_shares
from satline.reduction import reduce

pytestmark = pytest.mark.slow


def shares(of: WaitShares) -> dict[str, float | None]:
    return {part.part: part.share for part in of.parts}


@pytest.mark.parametrize(("kind", "part"), [("page", "page_wait"), ("io", "io_wait"), ("server", "other")])
def test_time_goes_where_the_study_makes_users_wait(kind: str, part: str) -> None:
    recording = Made(cpu=0.02, station=0.2, kind=kind, processors=2).make()
    found = wait_shares(reduce(recording), recording)
    top = shares(found[-1])
    assert top[part] == pytest.approx(0.98, abs=0.03)
    assert (found[-1].load_low, found[-1].of) == (18, "transaction time")
    assert sum(share or 0 for share in top.values()) == pytest.approx(1, abs=0.02)
    assert top["eligible"] is None
    assert top["throttled"] is None
    known = [p for p in found[-1].parts if p.share is not None]
    assert all(p.error is not None and p.error >= 0 for p in known)


def test_users_held_back_by_admission_have_a_share_of_their_own() -> None:
    made = Made(cpu=0.02, station=0.2, kind="server", processors=2)
    recording = made.make()
    recording.rows.pop("task")
    set_level(recording, made, "system", "eligible_users", lambda n: max(0, n - 5))
    found = diagnose(recording).waits
    top, light = shares(found[-1]), shares(found[0])
    assert top["eligible"] is not None
    assert top["eligible"] > 0.6
    assert light["eligible"] == 0
    assert sum(share or 0 for share in top.values()) <= 1.0001


def test_a_quota_shows_as_throttled_time() -> None:
    recording = Made(cpu=0.1, processors=1, quota=0.5).make()
    assert (shares(wait_shares(reduce(recording), recording)[-1])["throttled"] or 0) > 0.2


def test_the_method_is_told_with_each_part() -> None:
    for accounted, method in ((True, "accumulators"), (False, "sampled states")):
        recording = Made(cpu=0.02, station=0.2, kind="io", delay_accounting=accounted).make()
        if not accounted:
            for row in recording.rows["user"]:
                row["tasks_io_wait"] = 1 if row["user"] == "user-000" else 0
                row["tasks_page_wait"] = 0
        found = wait_shares(reduce(recording), recording)[-1]
        methods = {part.part: part.method for part in found.parts}
        assert methods["io_wait"] == method
        assert methods["run"] == "accumulators"
        assert shares(found)["io_wait"] is not None


def test_the_users_that_wait_most_are_named_without_those_that_are_none() -> None:
    recording = host(0.25)
    for row in recording.rows["user"]:
        if row["user"] == "u7":
            row["user"], row["run_delay_us"] = "\x1b[31mslow", row["run_delay_us"] * 5
        if row["user"] == "u9":
            row["user"], row["run_delay_us"] = "_kernel", row["run_delay_us"] * 50
    found = wait_shares(reduce(recording), recording)
    assert found[-1].of == "time run or waiting"
    users = [user.user for user in found[-1].users]
    assert users[0] == "\x1b[31mslow"
    assert len(users) == 5
    assert "_kernel" not in users
    assert found[-1].users[0].block_wait is None
    assert (found[-1].users[0].cpu_wait or 0) > (found[-1].users[1].cpu_wait or 0)


def test_without_users_there_are_no_shares() -> None:
    recording = host(0.25, hours=4)
    for row in recording.rows["system"]:
        row["users_in_queue"] = 1 + row["sample"] % 5
    recording.rows.pop("user")
    assert wait_shares(reduce(recording, "in_queue"), recording) == ()
