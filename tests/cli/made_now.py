"""A recording of which every figure of the last ten seconds is known, with hostile names."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from satline.recording import RecordingWriter, describe

HOSTILE = "<b>\x1b[31m[red]\u202eeve"
WIDE = "利用者" * 12
SECONDS = 30
# In the last ten seconds, of a second: running, CPU wait, page wait, I/O wait, eligible, dormant.
USERS = {
    "anna": (0.5, 0.25, 0.0, 0.25, 0.0, 0.0),
    HOSTILE: (0.1, 0.0, 0.6, 0.0, 0.1, 0.2),
    WIDE: (0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
}
ACCOUNTS = ("cpu_us", "run_delay_us", "page_wait_us", "io_wait_us", "eligible_us", "dormant_us")
# Requests of each device a second, none of them for pages; and I/Os of each user.
DEVICES = {"disk": 8, HOSTILE: 2}
IOS = {"anna": 9, HOSTILE: 1, WIDE: 0}


def make(path: Path, *, ended: bool = True, begun_ns: int | None = None) -> Path:
    """Thirty seconds, quiet but for the last ten; `ended`: the recording says so."""
    start = begun_ns if begun_ns is not None else time.time_ns() - SECONDS * 10**9
    describe.create(path, "test")
    describe.update(path, {"host": {"page_bytes": 4096, "processors": 2}})
    with RecordingWriter(path, "machine") as writer:
        for k in range(SECONDS + 1):
            busy = max(0, k - (SECONDS - 10))  # seconds of work until now
            at = {"time_ns": start + k * 10**9, "monotonic_ns": k * 10**9}
            for table, rows in _rows(k, busy).items():
                writer.write_rows(table, [{**at, **row} for row in rows])
        late = {"time_ns": start + 25 * 10**9, "monotonic_ns": 25 * 10**9}
        early = {"time_ns": start + 5 * 10**9, "monotonic_ns": 5 * 10**9}
        words = {"user": "anna", "phase": "work", "class": "edit", "outcome": "ok"}
        writer.write_rows("transaction", [{**early, **words, "response_us": 9_000_000}])
        writer.write_rows("transaction", [{**late, **words, "response_us": 500_000}])
    if ended:
        describe.end(path, "complete")
    return path


def _rows(k: int, busy: int) -> dict[str, list[dict[str, Any]]]:
    second = 1_000_000
    return {
        "system": [
            {
                "sample": k,
                "swap_in_pages": 30 * busy,
                "swap_out_pages": 10 * busy,
                "in_queue_us": round(1.7 * second * busy),
                "eligible_us": round(0.1 * second * busy),
                "users_logged_on": 3,
            }
        ],
        "processor": [
            {
                "processor": number,
                "user_us": round(0.25 * second * busy),
                "system_us": round(0.05 * second * busy),
                "idle_us": second * k - round(0.3 * second * busy),
                "iowait_us": 0,
            }
            for number in ("0", "1")
        ],
        "user": [
            {
                "user": user,
                "processes": 1,
                "ios": IOS[user] * busy,
                **{name: round(part * second * busy) for name, part in zip(ACCOUNTS, parts, strict=True)},
            }
            for user, parts in USERS.items()
        ],
        "device": [
            {
                "device": name,
                "device_kind": "block",
                "requests": rate * busy,
                "paging_requests": 0,
                "request_wait_us": 5000 * rate * busy,
                "pend_us": 1000 * rate * busy,
                "busy_us": 4000 * rate * busy,
                "queue_us": 5000 * rate * busy,
                "size_bytes": 2**30,
            }
            for name, rate in DEVICES.items()
        ],
    }
