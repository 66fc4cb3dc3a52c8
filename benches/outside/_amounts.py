"""Rates and levels of a PCP archive by `pmdumplog`: what bounds without a capacity are held against."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from _courses import IRIX, Courses, pcp_records, pcp_units

# By what Satline calls the resource, and what is counted: of each alternative the first that was logged; its
# metrics are added up. "*" stands for the instance.
_OF_DISKS = {
    "requests": (("read", "write"), ("total",)),
    "bytes": (
        ("read_bytes", "write_bytes"),
        ("blkread", "blkwrite"),
        ("total_bytes",),
        ("bytes",),
        ("blktotal",),
    ),
}
_OF_INTERFACES = {
    "bytes": (("in.bytes", "out.bytes"), ("total.bytes",)),
    "packets": (("in.packets", "out.packets"), ("total.packets",)),
}
# What one of two counters is called where the other was not logged.
_ALONE = {
    "requests": {"read": "reads", "write": "writes"},
    "bytes": {"read_bytes": "bytes read", "write_bytes": "bytes written"},
}
_RATES = {
    ("kernel", "context switches"): ("kernel.all.pswitch",),
    ("kernel", "interrupts"): ("kernel.all.intr",),
    ("kernel", "processes created"): ("kernel.all.sysfork",),
    ("kernel", "system calls"): ("kernel.all.syscall",),
    ("TCP", "segments received"): ("network.tcp.insegs",),
    ("TCP", "segments sent"): ("network.tcp.outsegs",),
    ("CPU", "idle"): ("kernel.all.cpu.idle", "kernel.all.cpu.wait.total"),
    ("CPU", "in use"): tuple(f"kernel.all.cpu.{s}" for s in ("user", "nice", "sys", "intr")),
}
_LEVELS = {
    ("CPU", "in use by the load average"): ("kernel.all.load", "1 minute"),
    ("memory", "free"): ("mem.util.free", ""),
    ("memory", "available"): ("mem.util.available", ""),
    ("tasks", "tasks"): ("kernel.all.nprocs", ""),
    ("TCP", "connections"): ("network.tcp.currestab", ""),
}
# Of these what they rise by is a rate that was carried at least.
_GROWTHS = {
    ("kernel", "tasks created by the growth of their number"): ("kernel.all.nprocs", "proc.nprocs"),
}
_BYTES = {"byte": 1.0, "Kbyte": 1024.0, "Mbyte": 1024.0**2, "Gbyte": 1024.0**3}
_SECONDS = {"nanosec": 1e-9, "microsec": 1e-6, "millisec": 1e-3, "sec": 1.0}
_BLOCK = 512.0
_MOST_OF = 0.8

Points = list[tuple[float, float | None]]


def pcp_amounts(path: Path, courses: Courses) -> None:
    """Fill `courses.amounts` from the archive."""
    base = str(path).removesuffix(".meta")
    described = pcp_units(base)
    units = {name.removeprefix(IRIX): unit for name, unit in described.items()}
    wanted = (
        {m for ms in _RATES.values() for m in ms}
        | {m for m, _ in _LEVELS.values()}
        | {m for ms in _GROWTHS.values() for m in ms}
    )
    wanted |= {
        f"disk.{of}.{m}"
        for of in ("dev", "dm", "md", "all")
        for cs in _OF_DISKS.values()
        for c in cs
        for m in c
    }
    wanted |= {f"network.interface.{m}" for cs in _OF_INTERFACES.values() for c in cs for m in c}
    own = [name for name in described if name.removeprefix(IRIX) in wanted]
    if not own:
        return
    courses_of: dict[tuple[str, str], Points] = defaultdict(list)
    for time, values in pcp_records(base, own):
        if values is None:
            for points in courses_of.values():
                points.append((time, None))
            continue
        for (metric, instance), value in values.items():
            courses_of[metric, instance].append((time, value * _unit(metric, units)))
    instances: dict[str, set[str]] = defaultdict(set)
    for metric, instance in courses_of:
        instances[metric].add(instance)

    def placed(
        resource: str, prefix: str, table: dict[str, tuple[tuple[str, ...], ...]], instance: str
    ) -> None:
        for what, choices in table.items():
            for choice in choices:
                parts = [courses_of.get((f"{prefix}.{m}", instance)) for m in choice]
                if all(parts):
                    courses.amounts[resource, what] = _sum([_rates(p) for p in parts if p])
                    break
            for metric, one in _ALONE.get(what, {}).items():
                alone = courses_of.get((f"{prefix}.{metric}", instance))
                if alone:
                    courses.amounts[resource, one] = _sum([_rates(alone)])

    for of in ("dev", "dm", "md"):
        for name in {i for m, found in instances.items() if m.startswith(f"disk.{of}.") for i in found}:
            placed(f"disk {name}", f"disk.{of}", _OF_DISKS, name)
    placed("disks together", "disk.all", _OF_DISKS, "")
    for name in {i for m, found in instances.items() if m.startswith("network.interface.") for i in found}:
        placed(f"interface {name}", "network.interface", _OF_INTERFACES, name)
    for key, metrics in _RATES.items():
        parts = [_rates(courses_of[m, ""]) for m in metrics if (m, "") in courses_of]
        if parts:
            courses.amounts[key] = _sum(parts)
    for key, metrics in _GROWTHS.items():
        level = next((courses_of[m, ""] for m in metrics if (m, "") in courses_of), None)
        if level is not None:
            courses.amounts[key] = _risen(level)
    for key, (metric, instance) in _LEVELS.items():
        points = courses_of.get((metric, instance))
        if points:
            courses.amounts[key] = _levels(points)


def _unit(metric: str, units: dict[str, str]) -> float:
    word = units.get(metric, "").partition(" ")[0]
    if ".blk" in metric:
        return _BLOCK
    return _BYTES.get(word) or _SECONDS.get(word) or 1.0


def _rates(points: Points) -> dict[float, tuple[float, float]]:
    """By the end of each interval without a mark or fall, its length and the rate in it."""
    found = {}
    for (t0, v0), (t1, v1) in pairwise(points):
        if v0 is None or v1 is None or t1 <= t0:
            continue
        if v1 >= v0:
            found[t1] = (t1 - t0, (v1 - v0) / (t1 - t0))
    return found


def _sum(parts: list[dict[float, tuple[float, float]]]) -> list[tuple[float, float]]:
    """Rates of several counters added up, over the intervals of the one that was read most rarely: to each of
    these belongs the mean rate of the others over the same time, where they were read for most of it."""
    base = min(parts, key=len)
    others = [part for part in parts if part is not base]
    spans = [[(end - part[end][0], end, part[end][1]) for end in sorted(part)] for part in others]
    ends = [[span[1] for span in own] for own in spans]
    found = []
    for t in sorted(base):
        seconds, total = base[t]
        for own, own_ends in zip(spans, ends, strict=True):
            covered = moved = 0.0
            for begin, end, rate in own[bisect(own_ends, t - seconds) :]:
                if begin >= t:
                    break
                part = min(end, t) - max(begin, t - seconds)
                covered, moved = covered + part, moved + part * rate
            if covered < _MOST_OF * seconds:
                break
            total += moved / covered
        else:
            found.append((seconds, total))
    return found


def _risen(points: Points) -> list[tuple[float, float]]:
    """By how much a level rose per second in each interval; where it fell, by nothing."""
    return [
        (t1 - t0, max(0.0, v1 - v0) / (t1 - t0))
        for (t0, v0), (t1, v1) in pairwise(points)
        if v0 is not None and v1 is not None and t1 > t0
    ]


def _levels(points: Points) -> list[tuple[float, float]]:
    """A level stands for the time since the one before."""
    found = []
    for (t0, v0), (t1, v1) in pairwise(points):
        if v0 is not None and v1 is not None and t1 > t0:
            found.append((t1 - t0, v1))
    return found
