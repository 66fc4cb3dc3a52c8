"""A false `satline-machine watch`: lines as the real one's, with names that nobody should trust.

ENDS in the environment: the status with which it ends when it is first told something.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

HOSTILE = "\x1b]0;x\x07[red]\u202edr\x9b31m\nß漢字" + "x" * 90


def machine_line(frames: int = 180, users: int = 30, devices: int = 7, name: str = HOSTILE) -> dict[str, Any]:
    arms = [{"name": f"{name}{number}", "role": "both", "cylinders": 404} for number in range(devices)]
    return {
        "kind": "machine",
        "format": 1,
        "machine": name,
        "workload": name,
        "frames": frames,
        "processors": 1,
        "users": users,
        "class_of": [0] * users,
        "classes": [name],
        "devices": arms,
        "channels": list(range(devices)),
        "end_s": 600.0,
        "unverified": 3,
    }


def frame_line(head: dict[str, Any], time_s: float = 0.0, wanted: int = 12) -> dict[str, Any]:
    """Of a machine whose every counter rises with time."""
    ns, users, count = int(time_s * 1e9), head["users"], int(10 * time_s)
    letters = "QqWwOodDSst.fk<>"
    states = "rcpieRCPIEd"
    found = "".join(states[number % len(states)] for number in range(min(wanted, users)))
    processors = {f"{name}_ns": ns // 5 for name in ("problem", "supervisor", "idle", "page_wait", "io_wait")}
    device = {
        "busy_ns": ns // 2,
        "outstanding_ns": 3 * ns,
        "sios": count,
        "page_reads": count,
        "page_writes": count,
    }
    return {
        "kind": "frame",
        "time_s": time_s,
        "users_wanted": wanted,
        "map": "".join(letters[number % len(letters)] for number in range(head["frames"])),
        "users": found.ljust(users, "-"),
        "resident_pages": [5] * users,
        "projected_pages": [20] * users,
        "mpl_ns": 4 * ns,
        "eligible_ns": 2 * ns,
        "transactions": count // 10,
        "response_ns": 3 * ns,
        "interactive_transactions": count // 20,
        "interactive_response_ns": ns,
        "page_reads": 7 * count,
        "page_writes": 3 * count,
        "page_faults": 8 * count,
        "steals": 2 * count,
        **processors,
        "devices": [device | {"user_ios": count, "arm": 200} for _ in head["devices"]],
        "channels_busy_ns": [ns // 4 for _ in head["channels"]],
    }


def main() -> int:
    users = int(sys.argv[sys.argv.index("--users") + 1].split(",")[0])
    end_s, time_s = 600.0, 0.0
    head = machine_line(users=users + int(sys.argv[sys.argv.index("--room") + 1]))
    print(json.dumps(head), flush=True)
    print(json.dumps(frame_line(head, 0.0, 0)), flush=True)
    for line in sys.stdin:
        if "ENDS" in os.environ:
            print("error: out of \x1b[31mpaper\nhint: buy some", file=sys.stderr)
            return int(os.environ["ENDS"])
        command, value = line.split()
        if command == "users":
            users = int(value)
            continue
        time_s = min(end_s, time_s + float(value))
        print(json.dumps(frame_line(head, time_s, users)), flush=True)
        if time_s == end_s:
            print(json.dumps({"kind": "end"}), flush=True)
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
