"""Days of a made host, with a user and a class of work of hostile names."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from satline.recording import RecordingWriter, describe

MONDAY = 1_793_577_600  # 2026-11-02
HOSTILE = "<script>alert(1)</script>\x1b[31m"
NAMES = ("anna", HOSTILE, *(f"user-{k}" for k in range(6)))
READINGS = 121


def make(path: Path, *, slow: float = 1.0, days: int = 3, seed: int = 1, start: int = MONDAY) -> Path:
    """Days of ten hours at a reading every five minutes; response is `slow` times the usual at any load."""
    chosen, total = random.Random(seed), dict.fromkeys((*NAMES, "user", "system", "idle"), 0.0)
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "user": [], "transaction": []}

    def add(name: str, amount: float) -> int:
        total[name] += amount
        return round(total[name])

    for day in range(days):
        for k in range(READINGS):
            now = (start + 86400 * day + 8 * 3600 + 300 * k) * 10**9
            at = {"time_ns": now, "monotonic_ns": now}
            load = 1 + (k // 6 + chosen.randrange(3)) % len(NAMES)
            busy = 300e6 * 0.11 * load
            rows["system"].append({**at, "sample": READINGS * day + k, "tasks_runnable": load})
            part = {
                "user_us": add("user", 0.8 * busy),
                "system_us": add("system", 0.2 * busy),
                "idle_us": add("idle", 300e6 - busy),
            }
            rows["processor"].append({**at, "processor": "0", **part})
            for number, name in enumerate(NAMES):
                cpu = add(name, busy / load if number < load else 0.0)
                rows["user"].append({**at, "user": name, "cpu_us": cpu, "processes": 1})
            for number in range(load):
                begun = now - (20 + 15 * number) * 10**9
                response = slow * 0.2 / (1 - load / 10) * chosen.lognormvariate(0, 0.3)
                own = {"user": NAMES[number], "class": ("edit", HOSTILE)[number % 2], "outcome": "ok"}
                when = {"time_ns": begun, "monotonic_ns": begun}
                rows["transaction"].append({**when, **own, "response_us": round(response * 1e6)})
    describe.create(path, "test", host={"processors": 1, "name": HOSTILE})
    with RecordingWriter(path, "monitor") as writer:
        for table, some in rows.items():
            writer.write_rows(table, some)
    return path
