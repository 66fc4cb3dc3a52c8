"""Were the conditions of a run those of the others? The host before and after it, and who else was at work.

A run is not thrown away for it: it is flagged, and the analysis says what it would be without.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MEMORY_PART = 0.10
OTHERS_PART = 0.10
STEAL_PART = 0.05
PACE_PART = 0.10
FREQUENCY_PART = 0.10
DISK_PART = 0.10
OTHER_SWAP_BYTES = 16 << 20
CLOCK_S = 0.1
CLOCK_PART = 0.001  # what a clock that is being adjusted may gain: 500 ppm, twice


@dataclass(frozen=True)
class HostState:
    """The host without the load. ``None``: it does not say.

    other_swap_bytes
        Swap in use.
    pace_ms
        Time of a fixed computation, the best of several: other guests, heat and clock rates show in it.
    """

    kernel: str
    boot_id: str
    realtime_s: float
    monotonic_s: float
    memory_bytes: int | None
    memory_available_bytes: int | None
    disk_free_bytes: int
    other_swap_bytes: int | None
    frequency_mhz: float | None
    pace_ms: float

    def plain(self) -> dict[str, Any]:
        """For TOML and JSON."""
        return asdict(self)


def read_state(scratch: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> HostState:
    """The host now; the computation takes about 50 ms."""
    memory = _meminfo(proc)
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    disk = os.statvfs(scratch)
    return HostState(
        kernel=_text(proc / "sys/kernel/osrelease"),
        boot_id=_text(proc / "sys/kernel/random/boot_id"),
        realtime_s=time.time(),
        monotonic_s=time.monotonic(),
        memory_bytes=memory.get("MemTotal"),
        memory_available_bytes=memory.get("MemAvailable"),
        disk_free_bytes=disk.f_bavail * disk.f_frsize,
        other_swap_bytes=None if total is None or free is None else total - free,
        frequency_mhz=_frequency_mhz(sys),
        pace_ms=_pace_ms(),
    )


def within_run(start: HostState, end: HostState) -> list[str]:
    """What changed from the start of a run to its end, in words; empty: nothing that matters."""
    flags = []
    passed = end.monotonic_s - start.monotonic_s
    jump = (end.realtime_s - start.realtime_s) - passed
    if abs(jump) > CLOCK_S + CLOCK_PART * passed:
        flags.append(f"the clock jumped by {jump:+.2f} s during it")
    return flags + _compared(start, end, "from its start to its end")


def against_others(earlier: Sequence[HostState], start: HostState) -> list[str]:
    """What is different from the runs before, whose median counts."""
    if not earlier:
        return []
    return _compared(_middle(earlier), start, "against the runs before")


def _compared(before: HostState, now: HostState, how: str) -> list[str]:
    flags = []
    if now.kernel != before.kernel:
        flags.append(f"another kernel {how}: {before.kernel}, {now.kernel}")
    elif now.boot_id != before.boot_id:
        flags.append(f"the host was started again {how}")
    there, then = now.memory_available_bytes, before.memory_available_bytes
    if now.memory_bytes and there is not None and then is not None:
        change = (there - then) / now.memory_bytes
        if abs(change) > MEMORY_PART:
            flags.append(f"available memory changed by {change:+.0%} of all {how}")
    if abs(now.disk_free_bytes - before.disk_free_bytes) > DISK_PART * max(before.disk_free_bytes, 1):
        change = now.disk_free_bytes / max(before.disk_free_bytes, 1) - 1
        flags.append(f"free disk space changed by {change:+.0%} {how}")
    if now.other_swap_bytes is not None and before.other_swap_bytes is not None:
        swapped = now.other_swap_bytes - before.other_swap_bytes
        if abs(swapped) > OTHER_SWAP_BYTES:
            flags.append(f"swap used by others changed by {swapped / 1e6:+.0f} MB {how}")
    for words, a, b, most in (
        ("the processors' frequency", before.frequency_mhz, now.frequency_mhz, FREQUENCY_PART),
        ("the time of a fixed computation", before.pace_ms, now.pace_ms, PACE_PART),
    ):
        if a and b and abs(b / a - 1) > most:
            flags.append(f"{words} changed by {b / a - 1:+.0%} {how}")
    return flags


def _middle(states: Sequence[HostState]) -> HostState:
    """The last one, its figures the medians of all."""
    values = {}
    for name in (
        "memory_available_bytes",
        "disk_free_bytes",
        "other_swap_bytes",
        "frequency_mhz",
        "pace_ms",
    ):
        known = [one for state in states if (one := getattr(state, name)) is not None]
        values[name] = statistics.median(known) if known else None
    return HostState(**{**asdict(states[-1]), **values})


def work_of_others(recording: Path) -> list[str]:
    """Flags for what others and the hypervisor took of the processors in the measured windows.

    Others: the user `_host` of the recording, all that is neither load nor Satline.
    """
    from satline.recording import Recording

    with Recording.open(recording).connect(tables=["user", "processor", "event"]) as connection:
        bounds = connection.execute(
            "SELECT min(monotonic_ns) FILTER (event = 'window-start'), max(monotonic_ns) FILTER "
            "(event = 'window-end') FROM event"
        ).fetchone()
        if bounds is None or None in bounds:
            return []
        # A little beyond the window on either side: a short one may hold no two samples.
        inside = "monotonic_ns BETWEEN ? - 1000000000 AND ? + 1000000000"
        processors, seconds, steal = connection.execute(
            "SELECT count(*), max(s), sum(steal) FROM (SELECT processor, "
            "(max(monotonic_ns) - min(monotonic_ns)) / 1e9 AS s, "
            f"(max(steal_us) - min(steal_us)) / 1e6 AS steal FROM processor WHERE {inside} GROUP BY 1)",
            bounds,
        ).fetchone() or (0, None, None)
        (others,) = connection.execute(
            f'SELECT (max(cpu_us) - min(cpu_us)) / 1e6 FROM "user" WHERE "user" = \'_host\' AND {inside}',
            bounds,
        ).fetchone() or (None,)
    flags = []
    if processors and seconds:
        all_time = processors * seconds
        if others is not None and others / all_time > OTHERS_PART:
            flags.append(f"others took {others / all_time:.0%} of the processors")
        if steal is not None and steal / all_time > STEAL_PART:
            flags.append(f"the hypervisor took {steal / all_time:.0%} of the processors")
    return flags


def _pace_ms() -> float:
    data, best = b"satline" * 20_000, float("inf")
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(4):
            hashlib.sha256(data).digest()
        best = min(best, time.perf_counter() - begin)
    return 1000 * best


def _meminfo(proc: Path) -> dict[str, int]:
    found = {}
    for line in _text(proc / "meminfo").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            found[name] = int(words[0]) * 1024
    return found


def _frequency_mhz(sys: Path) -> float | None:
    """Mean over the processors."""
    found = []
    for file in sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"):
        text = _text(file)
        if text.isdecimal():
            found.append(int(text) / 1000)
    return statistics.fmean(found) if found else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
