"""What the columns of `sar` are in the catalogue: one row's values → amounts over its interval, and levels.

A rate times the length of its interval is an amount, which is added to a counter; a level stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from satline.importers._sar_lines import Facts, to_number

NAN = float("nan")
KIB = 1024.0
SECTOR_BYTES = 512.0
_PAGE_BYTES = {"sun4u": 8192, "sun4v": 8192, "i86pc": 4096}

Values = Mapping[str, float]
Convert = Callable[[Values, Facts], float]


@dataclass(frozen=True)
class Column:
    """A column of the catalogue from fields of one row; `needs`: the fields without which there is none.

    rate
        The value is per second; else it is a level.
    """

    name: str
    needs: tuple[str, ...]
    convert: Convert
    rate: bool = True


def page_bytes(facts: Facts) -> int:
    """Size of a page where the system's kind tells it."""
    return _PAGE_BYTES.get(facts.machine, 8192 if facts.machine.startswith("sun4") else 4096)


def _rate(name: str, field: str, factor: float = 1.0) -> Column:
    return Column(name, (field,), lambda v, _: v[field] * factor)


def _level(name: str, field: str, factor: float = 1.0) -> Column:
    return Column(name, (field,), lambda v, _: v[field] * factor, rate=False)


def _total_memory(v: Values, _: Facts) -> float:
    """What is used has had two meanings; %memused tells which: used of free + used, or without caches."""
    used, free, percent = v["kbmemused"], v["kbmemfree"], v["%memused"]
    caches = v.get("kbbuffers", NAN) + v.get("kbcached", NAN) + v.get("kbslab", 0.0)
    totals = [t for t in (free + used, free + used + caches) if t == t and t > 0]
    best = min(totals, key=lambda t: abs(100 * used / t - percent), default=NAN)
    return best * KIB if best == best and abs(100 * used / best - percent) < 0.02 else NAN


SYSTEM: tuple[Column, ...] = (
    _rate("forks", "proc/s"),
    _rate("forks", "fork/s"),
    _rate("context_switches", "cswch/s"),
    _rate("context_switches", "pswch/s"),
    _rate("system_calls", "scall/s"),
    _rate("swap_in_pages", "pswpin/s"),
    _rate("swap_out_pages", "pswpout/s"),
    Column("swap_in_pages", ("bswin/s",), lambda v, f: v["bswin/s"] * SECTOR_BYTES / page_bytes(f)),
    Column("swap_out_pages", ("bswot/s",), lambda v, f: v["bswot/s"] * SECTOR_BYTES / page_bytes(f)),
    _rate("block_in_bytes", "pgpgin/s", KIB),
    _rate("block_out_bytes", "pgpgout/s", KIB),
    _rate("page_faults", "fault/s"),
    Column("page_faults", ("pflt/s", "vflt/s"), lambda v, _: v["pflt/s"] + v["vflt/s"]),
    _rate("major_faults", "majflt/s"),
    _rate("scan_direct_pages", "pgscand/s"),
    _rate("pressure_cpu_some_us", "%scpu", 1e4),
    _rate("pressure_io_some_us", "%sio", 1e4),
    _rate("pressure_io_full_us", "%fio", 1e4),
    _rate("pressure_memory_some_us", "%smem", 1e4),
    _rate("pressure_memory_full_us", "%fmem", 1e4),
    _level("mem_free_bytes", "kbmemfree", KIB),
    Column("mem_free_bytes", ("freemem",), lambda v, f: v["freemem"] * page_bytes(f), rate=False),
    Column("mem_total_bytes", ("kbmemfree", "kbmemused", "%memused"), _total_memory, rate=False),
    _level("mem_available_bytes", "kbavail", KIB),
    Column(
        "cached_bytes",
        ("kbbuffers", "kbcached"),
        lambda v, _: (v["kbbuffers"] + v["kbcached"]) * KIB,
        rate=False,
    ),
    _level("dirty_bytes", "kbdirty", KIB),
    _level("anonymous_bytes", "kbanonpg", KIB),
    _level("slab_bytes", "kbslab", KIB),
    _level("swap_free_bytes", "kbswpfree", KIB),
    _level("swap_free_bytes", "freeswap", SECTOR_BYTES),
    Column("swap_free_bytes", ("slots",), lambda v, _: v["slots"] * 4096, rate=False),
    Column(
        "swap_total_bytes",
        ("kbswpfree", "kbswpused"),
        lambda v, _: (v["kbswpfree"] + v["kbswpused"]) * KIB,
        rate=False,
    ),
    # Only Linux counts running tasks in, and reads the queue at the instant. The others look at it every
    # second and print its mean length while it was not empty, and how much of the time that was.
    Column(
        "run_queue_mean",
        ("runq-sz", "%runocc"),
        lambda v, _: v["runq-sz"] * v["%runocc"] / 100 if v["%runocc"] else 0.0,
        rate=False,
    ),
    Column("tasks_runnable", ("runq-sz", "plist-sz"), lambda v, _: v["runq-sz"], rate=False),
    _level("tasks_total", "plist-sz"),
    _level("tasks_total", "proc-sz"),
    _level("load_average_1", "ldavg-1"),
    _level("tasks_blocked", "blocked"),
)

INTERRUPTS: tuple[Column, ...] = (_rate("interrupts", "intr/s"),)

DISK: tuple[Column, ...] = (
    _rate("requests", "tps"),
    _rate("requests", "r+w/s"),
    _rate("read_bytes", "rkB/s", KIB),
    _rate("write_bytes", "wkB/s", KIB),
    _rate("read_bytes", "rd_sec/s", SECTOR_BYTES),
    _rate("write_bytes", "wr_sec/s", SECTOR_BYTES),
    Column("request_wait_us", ("tps", "await"), lambda v, _: v["tps"] * v["await"] * 1e3),
    Column(
        "request_wait_us",
        ("r+w/s", "avwait", "avserv"),
        lambda v, _: v["r+w/s"] * (v["avwait"] + v["avserv"]) * 1e3,
    ),
    _rate("busy_us", "%util", 1e4),
    _rate("busy_us", "%busy", 1e4),
    _rate("queue_us", "aqu-sz", 1e6),
    _rate("queue_us", "avgqu-sz", 1e6),
)

NETWORK: tuple[Column, ...] = (
    _rate("reads", "rxpck/s"),
    _rate("writes", "txpck/s"),
    _rate("read_bytes", "rxkB/s", KIB),
    _rate("write_bytes", "txkB/s", KIB),
    _rate("read_bytes", "rxbyt/s"),
    _rate("write_bytes", "txbyt/s"),
)


def _percent(name: str, *fields: str) -> Column:
    """Microseconds per second of one processor from percentages that are added up."""
    return Column(name, fields[:1], lambda v, _: sum(v.get(f, 0.0) for f in fields) * 1e4)


PROCESSOR: tuple[Column, ...] = (
    _percent("user_us", "%usr"),
    _percent("user_us", "%user"),
    _percent("nice_us", "%nice"),
    _percent("system_us", "%sys"),
    _percent("system_us", "%system"),
    _percent("irq_us", "%irq", "%soft"),
    _percent("iowait_us", "%iowait"),
    _percent("iowait_us", "%wio"),
    _percent("steal_us", "%steal"),
    _percent("guest_us", "%guest", "%gnice"),
    _percent("idle_us", "%idle"),
)


def partition(values: Values, facts: Facts) -> dict[str, float]:
    """Processor time per second of an AIX partition that shares processors, µs.

    The percentages are of logical processors, several of which share one core, so that a partition can have
    used up its entitled capacity while half of them are "idle". What it used is physc, in processors; the
    split between user and system is that of the percentages.
    """
    busy = values.get("physc", NAN)
    if busy != busy and facts.entitled is not None:
        busy = values.get("%entc", NAN) / 100 * facts.entitled
    user, system = values.get("%usr", NAN), values.get("%sys", NAN)
    share = user / (user + system) if user + system > 0 else 0.0
    wait = max(0.0, (facts.entitled or 0.0) - busy)
    waits = values.get("%wio", 0.0) + values.get("%idle", 0.0)
    on_io = values.get("%wio", 0.0) / waits if waits > 0 else 0.0
    return {
        "user_us": busy * share * 1e6,
        "system_us": busy * (1 - share) * 1e6,
        "iowait_us": wait * on_io * 1e6,
        "idle_us": wait * (1 - on_io) * 1e6,
    }


def chosen(columns: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    """Those of `columns` that rows with these column names bring."""
    return tuple(c for c in columns if all(n in names for n in c.needs))


def known(names: tuple[str, ...]) -> bool:
    """Are rows with these column names of use?"""
    columns = (*SYSTEM, *INTERRUPTS, *DISK, *NETWORK, *PROCESSOR)
    return any(need in names for column in columns for need in column.needs)


def values_of(names: Sequence[str], tokens: Sequence[str]) -> dict[str, float]:
    """A row's numbers by column name; of `90/262144` the first."""
    return {n: to_number(t.split("/", 1)[0]) for n, t in zip(names, tokens, strict=True)}
