"""One full processor, the master, beside others with room; and waits that only transactions show."""

from __future__ import annotations

import pytest
from made_recording import MadeRecording
from made_signs import judged
from made_study import Made

pytestmark = pytest.mark.slow

SERVER = Made(cpu=0.01, station=0.1, kind="server", processors=3)


def with_master(share: float = 0.1, *, problem: bool = False, always: bool = False) -> MadeRecording:
    """The station is a function that runs on processor 0 alone; the others are busy to `share`."""
    recording = SERVER.make()
    busy = [r["cpu_us"] for r in recording.rows.pop("task")]
    for k, row in enumerate(recording.rows["processor"]):
        sample, number = divmod(k, 3)
        whole = row["monotonic_ns"] // 1000
        own = whole * 97 // 100 if always else busy[sample]
        used = own if number == 0 else round(whole * share)
        row |= {"user_us": used if problem else 0, "system_us": 0 if problem else used}
        row |= {"nice_us": 0, "idle_us": whole - used, "iowait_us": 0}
    return recording


def test_a_master_processor_that_fills_up_while_users_wait_is_a_serialised_server() -> None:
    found = judged(with_master(), "serialised_server")
    assert found.state == "holds", found.summary
    assert found.summary.startswith("processor 0 is 9")
    assert "0% in users' own code" in found.summary


@pytest.mark.parametrize(
    "recording",
    [lambda: with_master(0.9), lambda: with_master(always=True)],
    ids=["the others are full too", "it is full at light load too"],
)
def test_one_busy_processor_proves_nothing_otherwise(recording) -> None:
    assert judged(recording(), "serialised_server").state != "holds"
