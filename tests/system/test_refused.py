"""`satline-monitor` where much is refused: under a seccomp filter, and in a container of an ordinary user.

What it cannot have is listed with the reason, and what is left is a sound recording that can be diagnosed.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from satline.recording import Recording, check
from satline.systems.binaries import find_binary

from .conftest import Satline

pytestmark = [pytest.mark.system, pytest.mark.own_machine]

# Refuses these with EPERM, as the filters of container engines do, and runs the rest of its words.
FILTER = """
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN, ALLOW, REFUSE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001
calls = [int(n) for n in sys.argv[1].split(",")]
steps = [(LOAD, 0, 0, 0)]
for left, call in zip(range(len(calls), 0, -1), calls):
    steps.append((EQUAL, left, 0, call))
steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 38, 22, 2
assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
assert libc.prctl(SECCOMP, BY_FILTER, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"""
# bpf, perf_event_open, setpriority, sched_setscheduler, sched_setattr, statx, pidfd_open, mlock, fallocate.
CALLS = {"x86_64": (321, 298, 141, 144, 314, 332, 434, 149, 285)}

# What a container engine covers or makes read-only.
COVERED = """
set -e
mount --bind -o ro /proc/sys /proc/sys
for file in diskstats locks; do mount --bind /dev/null /proc/$file; done
if [ -d /proc/pressure ]; then mount -t tmpfs -o ro tmpfs /proc/pressure; fi
mount -t tmpfs -o ro tmpfs /sys/fs/cgroup
exec "$@"
"""
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--net"]


def recorded(satline: Satline, before: list[str]) -> dict[str, Any]:
    """Record for two seconds within this; what its source says of itself."""
    words = [
        str(find_binary("satline-monitor")),
        "--recording",
        str(satline.recording),
        "--interval",
        "100ms",
    ]
    words += ["--duration", "2s", "--waits", "--terminals", "--services"]
    done = subprocess.run([*before, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = check(satline.recording)
    assert found.problems == []
    return tomllib.loads((satline.recording / "sources" / "monitor.toml").read_text())


def is_recorded(satline: Satline, said: dict[str, Any]) -> None:
    """Samples, and a diagnosis that answers."""
    connection = Recording.open(satline.recording).connect()
    try:
        ((samples,),) = connection.execute("SELECT count(*) FROM system").fetchall()
    finally:
        connection.close()
    assert samples == said["sampling"]["samples"]
    assert samples + said["sampling"]["samples_lost"] >= 20
    words = ["diagnose", str(satline.recording), "--json"]
    output, _ = satline.start(*words).communicate(timeout=120)
    assert json.loads(output)["headline"]


def why(said: dict[str, Any]) -> dict[str, str]:
    """By signal, why it is missing."""
    return {one["signal"]: one["reason"] for one in said["missing"]}


@pytest.mark.skipif(platform.machine() not in CALLS, reason="the filter is for x86-64 alone")
def test_under_a_filter_of_system_calls_it_records_by_proc(satline: Satline) -> None:
    calls = ",".join(map(str, CALLS[platform.machine()]))
    said = recorded(satline, [sys.executable, "-c", FILTER, calls])
    assert said["methods"]["tasks"] == "proc"
    assert said["methods"]["scheduling"] == "ordinary"
    for signal in ("user: waits by cause", "transaction: lines at terminals"):
        assert "Operation not permitted" in why(said)[signal]
    is_recorded(satline, said)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_in_a_rootless_container_it_says_what_is_covered(satline: Satline) -> None:
    tried = subprocess.run(
        [*UNSHARE, "sh", "-c", COVERED, "sh", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"no namespaces of an ordinary user here: {tried.stderr.strip()}")
    said = recorded(satline, [*UNSHARE, "sh", "-c", COVERED, "sh"])
    missing = why(said)
    assert missing["device: disks"] == "/proc/diskstats is empty"
    assert "/proc/pressure" in missing["pressure_cpu_some_us"]
    assert "Operation not permitted" in missing["user: waits by cause"]
    assert all(one["would_need"] for one in said["missing"])
    assert os.access(satline.recording / "recording.toml", os.R_OK)
    is_recorded(satline, said)
