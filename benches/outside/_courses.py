"""How full each resource was, by the collector's own tool: the other side of the comparison of `check.py`.

Nothing here is Satline's: `pmdumplog` prints the raw values of a PCP archive (no interpolation, unlike
`pmval` and `pmlogsummary`), `sadf -d` the rates of a sysstat file, `atop -P` those of an atop log, and text
of `sar` is parsed here.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

C = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
DAY_S = 86_400.0
# CPU time in use and not, by PCP's metrics: of each alternative the first that was logged. Nice is within
# none of the others; guests' time is within user and nice, not within vuser and vnice; intr is irq.hard +
# irq.soft.
PCP_BUSY = (
    (("user",), ("vuser", "guest"), ("vuser",)),
    (("nice",), ("vnice", "guest_nice"), ("vnice",)),
    (("sys",),),
    (("irq.hard", "irq.soft"), ("intr",), ("irq.hard",), ("irq.soft",)),
)
PCP_IDLE = ("idle", "wait.total")
PCP_NAMES = ("kernel.all.cpu", "kernel.percpu.cpu", "kernel.pernode.cpu", "mem.physmem")
PCP_NAMES += ("disk.dev.avactive", "disk.dm.avactive", "disk.wwid.avactive")
PCP_NAMES += ("mem.util.available", "kernel.all.runnable", "kernel.all.load")
# Archives of the nineties have the metrics of IRIX below a name of their own.
IRIX = "irix."
TO_S = {"nanosec": 1e-9, "microsec": 1e-6, "millisec": 1e-3, "sec": 1.0}
STATE = ("%user", "%usr", "%nice", "%system", "%sys", "%steal", "%irq", "%soft", "%guest", "%gnice")


@dataclass
class Courses:
    """By resource ("CPU", "disk NAME", "memory"), its (seconds, part in use) for each interval.

    partial
        Only a part of the CPU time was recorded: what is there is a lower bound.
    amounts
        By resource and what is counted ("requests", "bytes", "free", …), its (seconds, rate or level).
    """

    used: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    partial: bool = False
    amounts: dict[tuple[str, str], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )


def tool(*words: str) -> list[str]:
    """Lines that a collector's tool prints; what it says on its way out is no failure."""
    done = subprocess.run(
        list(words), capture_output=True, text=True, errors="replace", env=C, check=False, timeout=600
    )
    return done.stdout.splitlines()


def read(kind: str, path: Path) -> Courses:
    """The courses of an archive."""
    return {"pcp": pcp, "sysstat": sysstat, "atop": atop, "sar-text": sar_text}[kind](path)


# ------------------------------------------------------------------ PCP

_STAMP = re.compile(r"^(?:\w{3} \w{3}\s+\d+ )?(\d\d):(\d\d):(\d\d\.\d+)(?: \d{4})?\s")
_METRIC = re.compile(r"^\s+[\d.]+ \(([\w.]+)(?: or [^)]*)?\):(?: value (\S+))?")
_INSTANCE = re.compile(r'^\s+inst \[\d+ or "(.*)"\] value (\S+)')
_DESCRIBED = re.compile(r"^PMID: \S+ \(([\w.]+)")

Values = dict[tuple[str, str], float]


def pcp_units(base: str) -> dict[str, str]:
    """Units by metric that the archive holds."""
    units, name = {}, ""
    for line in tool("pmdumplog", "-d", base):
        if found := _DESCRIBED.match(line):
            name = found.group(1)
        elif "Units:" in line and name:
            units[name] = line.partition("Units:")[2].strip()
    return units


def pcp_records(base: str, metrics: list[str]) -> list[tuple[float, Values | None]]:
    """Raw values by time, in s from the first day's midnight; ``None`` stands for a mark: what follows is not
    joined to what was before."""
    records: list[tuple[float, Values | None]] = []
    day, last, metric = 0.0, -1.0, ""
    # Without -M marks are not printed where metrics are named.
    for line in tool("pmdumplog", "-M", base, *metrics):
        if stamp := _STAMP.match(line):
            hours, minutes, seconds = stamp.groups()
            now = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
            # A clock that goes back by little was set; by nearly a day, it is the next day.
            if now < last - DAY_S / 2:
                day += DAY_S
            last = now
            records.append((day + now, None if "<mark>" in line else {}))
        elif records and records[-1][1] is not None:
            values = records[-1][1]
            if found := _METRIC.match(line):
                metric = found.group(1).removeprefix(IRIX)
                if found.group(2) is not None:
                    _keep(values, metric, "", found.group(2))
            elif found := _INSTANCE.match(line):
                _keep(values, metric, found.group(1), found.group(2))
    return records


def _keep(values: Values, metric: str, instance: str, text: str) -> None:
    try:
        values[metric, instance] = float(text)
    except ValueError:
        return


def pcp(path: Path) -> Courses:
    """From counters between successive records that hold the metric, marks excepted."""
    base = str(path).removesuffix(".meta")
    described = pcp_units(base)
    metrics = [m for m in described if m.removeprefix(IRIX).startswith((*PCP_NAMES, "mem.util."))]
    units = {m.removeprefix(IRIX): unit for m, unit in described.items()}
    courses = Courses()
    if not metrics:
        return courses
    records = pcp_records(base, metrics)
    before: dict[tuple[str, str], tuple[float, float]] = {}
    level: float | None = None
    states: dict[str, dict[float, tuple[float, dict[str, float]]]] = {"all": {}, "percpu": {}, "pernode": {}}
    total = 0.0
    for time, values in records:
        if values is None:
            before.clear()
            level = None
            continue
        total = values.get(("mem.physmem", ""), total)
        used = _pcp_memory(values, total, units)
        if used is not None:
            # A level stands for the time since the one before.
            if level is not None and time > level:
                courses.used["memory"].append((time - level, used))
            level = time
        for (metric, instance), value in values.items():
            unit = TO_S.get(units[metric].partition(" ")[0])
            if unit is None or not metric.startswith(("kernel.", "disk.")):
                continue
            earlier = before.get((metric, instance))
            before[metric, instance] = (time, value)
            if earlier is None or value < earlier[1] or time <= earlier[0]:
                continue
            seconds, gain = time - earlier[0], (value - earlier[1]) * unit
            if metric.startswith("disk."):
                courses.used[f"disk {instance}"].append((seconds, gain / seconds))
            else:
                which, _, state = metric.removeprefix("kernel.").partition(".cpu.")
                _, kept = states[which].setdefault(time, (seconds, {}))
                kept[state] = kept.get(state, 0.0) + gain
    _pcp_processors(states, len({i for m, i in before if m == "kernel.percpu.cpu.user"}), courses)
    return courses


def _pcp_memory(values: Values, total: float, units: dict[str, str]) -> float | None:
    """Part of memory that is not available; ``None`` where a record does not tell."""
    if not total or units.get("mem.physmem") != "Kbyte":
        return None
    available = values.get(("mem.util.available", ""))
    if available is None:
        parts = [values.get((f"mem.util.{n}", "")) for n in ("free", "bufmem", "cached")]
        if None in parts:
            return None
        available = sum(p for p in parts if p is not None)
    return 1 - available / total


def _pcp_busy(kept: dict[str, float]) -> float:
    """CPU time in use, of the states that were logged."""
    found = 0.0
    for choices in PCP_BUSY:
        chosen = next((names for names in choices if all(n in kept for n in names)), ())
        found += sum(kept[n] for n in chosen)
    return found


def _pcp_processors(
    states: dict[str, dict[float, tuple[float, dict[str, float]]]], many: int, courses: Courses
) -> None:
    """All processors together, else the sum of the single ones; of busy states alone, their part of all."""
    part: list[tuple[float, float]] = []
    for which in ("all", "percpu", "pernode"):
        for seconds, kept in states[which].values():
            has_user = "user" in kept or "vuser" in kept
            if "idle" in kept and not ("sys" in kept and has_user) and many:
                # What is not idle was busy, or waited for I/O where that was not logged.
                idle = sum(kept.get(state, 0.0) for state in PCP_IDLE)
                courses.used["CPU"].append((seconds, 1 - idle / seconds / many))
                continue
            if "idle" not in kept or not ("sys" in kept and has_user):
                if which == "percpu" and "user" in kept:
                    courses.partial |= "sys" not in kept
                    part.append((seconds, (kept["user"] + kept.get("sys", 0.0)) / seconds / max(1, many)))
                continue
            busy = _pcp_busy(kept)
            idle = sum(kept.get(state, 0.0) for state in PCP_IDLE)
            # In tiny intervals clock ticks decide; nothing can be told.
            if busy + idle > 0:
                courses.used["CPU"].append((seconds, busy / (busy + idle)))
        if courses.used["CPU"]:
            courses.partial = False
            return
    courses.used["CPU"] = part


# ------------------------------------------------------------------ sysstat, atop


def sysstat(path: Path) -> Courses:
    """From `sadf -d`, whose second column is the length of the interval; a file of an older format is
    converted by `sadf -c`."""
    courses = Courses()
    with tempfile.NamedTemporaryFile() as converted:
        readable = str(path)
        if not any(line.startswith("Host:") for line in tool("sadf", "-H", readable)):
            subprocess.run(
                ["sadf", "-c", readable], stdout=converted, stderr=subprocess.DEVNULL, env=C, check=False
            )
            readable = converted.name
        for flags in (("-u", "ALL"), ("-d",), ("-r",), ("-n", "DEV"), ("-w",)):
            names: list[str] = []
            for line in tool("sadf", "-d", "-U", readable, "--", *flags):
                cells = line.split(";")
                if line.startswith("#"):
                    names = [c.strip("# ").partition("[")[0] for c in cells]
                elif names and len(cells) == len(names):
                    _sar_row(dict(zip(names, cells, strict=True)), float(cells[1]), courses)
    return courses


def atop(path: Path) -> Courses:
    """From `atop -P`; what is before the first separator counts since boot."""
    courses = Courses()
    fresh = False
    with tempfile.TemporaryDirectory() as scratch:
        lines = tool("atop", "-r", str(path), "-P", "CPU,DSK,MEM,NET")
        if not lines:
            plain = str(Path(scratch) / "converted")
            tool("atopconvert", str(path), plain)
            lines = tool("atop", "-r", plain, "-P", "CPU,DSK,MEM,NET")
    for line in lines:
        cells = line.split()
        if line.startswith("RESET"):
            fresh = True
        elif line.startswith("SEP"):
            fresh = False
        elif not fresh and len(cells) > 8:
            seconds = float(cells[5])
            if cells[0] == "CPU":
                ticks, count = float(cells[6]), float(cells[7])
                system, user, nice, _, _, irq, soft, steal = map(float, cells[8:16])
                whole = seconds * ticks * count
                left = max(whole - steal, 1e-9)
                courses.used["CPU"].append((seconds, (system + user + nice + irq + soft) / left))
            elif cells[0] == "NET" and cells[6] != "upper" and len(cells) > 10:
                packets, moved = (float(cells[k]) + float(cells[k + 2]) for k in (7, 8))
                courses.amounts[f"interface {cells[6]}", "packets"].append((seconds, packets / seconds))
                courses.amounts[f"interface {cells[6]}", "bytes"].append((seconds, moved / seconds))
            elif cells[0] == "DSK":
                courses.used[f"disk {cells[6]}"].append((seconds, float(cells[7]) / 1e3 / seconds))
    return courses


# ------------------------------------------------------------------ text of sar

_CLOCK = re.compile(r"^(\d\d):(\d\d):(\d\d)(?: ([AP]M))?\s*(.*)$")


def sar_text(path: Path) -> Courses:
    """Rows between a heading with column names and an empty line; an interval begins where the one before it
    in the same block ends, the first one at the time of the heading."""
    courses = Courses()
    names: list[str] = []
    begin = end = 0.0
    seen: set[tuple[str, float, str]] = set()
    printed: dict[float, float] = {}
    for line in path.read_text(errors="replace").splitlines():
        if "RESTART" in line or "restarts" in line.lower():
            names = []
            continue
        clock = _CLOCK.match(line)
        if clock:
            hours, minutes, seconds, half, rest = clock.groups()
            now = (int(hours) % 12 + 12 * (half == "PM") if half else int(hours)) * 3600.0
            now += int(minutes) * 60 + int(seconds)
            cells = rest.split()
            if cells and any(c.startswith("%") or c.endswith(("/s", "-sz")) for c in cells):
                names, end = cells, now
                begin = now
                continue
            if now != end:
                begin, end = end, now
        elif line[:1].isspace() and line.strip():
            cells = line.split()
        else:
            names = [] if line.startswith("Average") else names
            continue
        if not names or len(cells) != len(names):
            continue
        row = dict(zip(names, cells, strict=True))
        kind = " ".join(sorted(set(names) & {"%idle", "%util", "%busy", "%memused"}))
        which = row.get("DEV") or row.get("device") or row.get("CPU") or ""
        if (kind, end, which) not in seen:
            seen.add((kind, end, which))
            if "device" in row or "DEV" in row:
                printed[end] = (end - begin) % DAY_S
            _sar_row(row, (end - begin) % DAY_S, courses)
    if path.read_text(errors="replace").lstrip().startswith("HP-UX"):
        # HP-UX prints the devices that were active: one that is not there was idle (sar(1M)).
        for name, course in courses.used.items():
            lacking = len(printed) - len(course)
            if name.startswith("disk ") and lacking > 0:
                course += [(sum(printed.values()) / len(printed), 0.0)] * lacking
    return courses


def _number(row: dict[str, str], *names: str) -> float | None:
    for name in names:
        try:
            return float(row[name])
        except (KeyError, ValueError):
            continue
    return None


def _sar_row(row: dict[str, str], seconds: float, courses: Courses) -> None:
    """One row of sar's, whatever printed it."""
    if seconds <= 0:
        return
    _sar_amounts(row, seconds, courses)
    device = row.get("DEV") or row.get("device")
    busy = _number(row, "%util", "%busy")
    if device and busy is not None:
        courses.used[f"disk {device}"].append((seconds, busy / 100))
    idle = _number(row, "%idle")
    if idle is not None and row.get("CPU", "all") in ("all", "-1"):
        steal = _number(row, "%steal") or 0.0
        waits = _number(row, "%iowait", "%wio") or 0.0
        left = max(100 - steal, 1e-9)
        courses.used["CPU"].append((seconds, (left - idle - waits) / left))
    share, used = _number(row, "%memused"), _number(row, "kbmemused")
    if share and used:
        available = _number(row, "kbavail")
        if available is None:
            parts = [_number(row, n) for n in ("kbmemfree", "kbbuffers", "kbcached")]
            available = None if None in parts else sum(p for p in parts if p is not None)
        if available is not None:
            courses.used["memory"].append((seconds, 1 - available / (used * 100 / share)))


def _sar_amounts(row: dict[str, str], seconds: float, courses: Courses) -> None:
    """Rates of one row of sar's: bytes and packets of an interface, requests of a disk."""
    interface, device = row.get("IFACE"), row.get("DEV") or row.get("device")
    if interface:
        ways = [_number(row, f"{way}kB/s") for way in ("rx", "tx")]
        if None not in ways:
            moved = sum(1024 * way for way in ways if way is not None)
            courses.amounts[f"interface {interface}", "bytes"].append((seconds, moved))
        ways = [_number(row, f"{way}pck/s") for way in ("rx", "tx")]
        if None not in ways:
            courses.amounts[f"interface {interface}", "packets"].append(
                (seconds, sum(way for way in ways if way is not None))
            )
    requests = _number(row, "tps", "r+w/s")
    if device and requests is not None:
        courses.amounts[f"disk {device}", "requests"].append((seconds, requests))
    switches = _number(row, "cswch/s", "pswch/s")
    if switches is not None and "CPU" not in row:
        courses.amounts["kernel", "context switches"].append((seconds, switches))
