"""Which PCP metrics stand for which variables of the catalogue.

"a + b" is a sum; of several choices, the first that the archive has values of is taken.
"""

from __future__ import annotations

from typing import Final

Choices = tuple[str, ...]

_ZONES = ("dma", "dma32", "normal", "movable")


def _zones(metric: str) -> str:
    return " + ".join(f"mem.vmstat.{metric}_{z}" for z in _ZONES)


SYSTEM: Final[dict[str, Choices]] = {
    "context_switches": ("kernel.all.pswitch",),
    "interrupts": ("kernel.all.intr",),
    "forks": ("kernel.all.sysfork",),
    "tasks_runnable": ("kernel.all.running", "kernel.all.runnable", "proc.runq.runnable"),
    "tasks_blocked": ("kernel.all.blocked", "proc.runq.blocked"),
    "tasks_total": ("kernel.all.nprocs", "proc.nprocs", "kernel.num_threads"),
    "mem_total_bytes": ("mem.physmem", "mem.util.used + mem.util.free"),
    "mem_free_bytes": ("mem.util.free", "mem.freemem"),
    "mem_available_bytes": ("mem.util.available", "mem.available"),
    "cached_bytes": ("mem.util.cached + mem.util.bufmem",),
    "anonymous_bytes": ("mem.util.anonpages",),
    "dirty_bytes": ("mem.util.dirty",),
    "slab_bytes": ("mem.util.slab",),
    "tcp_connections": ("network.tcp.currestab",),
    "tcp_segments_in": ("network.tcp.insegs",),
    "tcp_segments_out": ("network.tcp.outsegs",),
    "tcp_segments_resent": ("network.tcp.retranssegs",),
    "swap_total_bytes": ("mem.util.swapTotal", "swap.length"),
    "swap_free_bytes": ("mem.util.swapFree", "swap.free"),
    "swap_in_pages": ("mem.vmstat.pswpin", "swap.pagesin"),
    "swap_out_pages": ("mem.vmstat.pswpout", "swap.pagesout"),
    "page_faults": ("mem.vmstat.pgfault", "mem.pages.faults", "mem.page_faults"),
    "major_faults": ("mem.vmstat.pgmajfault",),
    "block_in_bytes": ("mem.vmstat.pgpgin",),
    "block_out_bytes": ("mem.vmstat.pgpgout",),
    "refault_anonymous_pages": ("mem.vmstat.workingset_refault_anon",),
    "refault_file_pages": ("mem.vmstat.workingset_refault_file",),
    "steal_background_pages": ("mem.vmstat.pgsteal_kswapd", _zones("pgsteal_kswapd")),
    "steal_direct_pages": ("mem.vmstat.pgsteal_direct", _zones("pgsteal_direct")),
    "scan_direct_pages": ("mem.vmstat.pgscan_direct", _zones("pgscan_direct")),
    "out_of_memory_kills": ("mem.vmstat.oom_kill",),
    "zswap_in_pages": ("mem.vmstat.zswpin",),
    "zswap_out_pages": ("mem.vmstat.zswpout",),
    "pressure_cpu_some_us": ("kernel.all.pressure.cpu.some.total",),
    "pressure_memory_some_us": ("kernel.all.pressure.memory.some.total",),
    "pressure_memory_full_us": ("kernel.all.pressure.memory.full.total",),
    "pressure_io_some_us": ("kernel.all.pressure.io.some.total",),
    "pressure_io_full_us": ("kernel.all.pressure.io.full.total",),
    "pressure_irq_full_us": ("kernel.all.pressure.irq.full.total",),
}

# What other kernels than Linux count: its archives do not lack it.
OF_OTHER_KERNELS: Final[dict[str, Choices]] = {"system_calls": ("kernel.all.syscall",)}

# Columns of table system by metrics that have an instance for each zone, order or cache, and are added up;
# taken where SYSTEM has nothing.
SUMMED: Final[dict[str, Choices]] = {
    "mem_total_bytes": ("mem.zoneinfo.managed",),
    "mem_free_bytes": ("mem.zoneinfo.free", "mem.buddyinfo.total"),
    "cached_bytes": ("mem.zoneinfo.nr_file_pages",),
    "slab_bytes": ("mem.slabinfo.slabs.total_size",),
}

# What one is in the catalogue's unit, where PCP's units do not say it.
EACH: Final = {
    # A link of 1 Gbit/s has 125.
    "network.interface.speed": 1e6,
    # In percent.
    "nvidia.gpuactive": 0.01,
    "amdgpu.gpu.load": 0.01,
    "mem.vmstat.pgpgin": 1024.0,
    "mem.vmstat.pgpgout": 1024.0,
    **{
        f"disk.{of}.blk{what}": 512.0
        for of in ("all", "dev", "dm", "md", "wwid")
        for what in ("read", "write", "total")
    },
}

# Below one of these: of single processors, of all, of those of each node. Linux counts guests' time in user
# and nice too; vuser and vnice are what is left.
EACH_CPU, ALL_CPU, NODE_CPU = "kernel.percpu.cpu", "kernel.all.cpu", "kernel.pernode.cpu"
PROCESSOR: Final[dict[str, Choices]] = {
    "user_us": ("vuser", "user - guest", "user"),
    "nice_us": ("vnice", "nice - guest_nice", "nice"),
    "system_us": ("sys",),
    "irq_us": ("irq.hard + irq.soft", "intr"),
    "idle_us": ("idle",),
    "iowait_us": ("wait.total",),
    "steal_us": ("steal",),
    "guest_us": ("guest + guest_nice", "guest"),
}

# The second choices are those of IRIX, macOS and of older archives.
_BLOCK: Final[dict[str, Choices]] = {
    "reads": ("read",),
    "read_bytes": ("read_bytes", "blkread"),
    "read_wait_us": ("read_rawactive", "read_time"),
    "writes": ("write",),
    "write_bytes": ("write_bytes", "blkwrite"),
    "write_wait_us": ("write_rawactive", "write_time"),
    "requests": ("total",),
    "moved_bytes": ("total_bytes", "bytes", "blktotal"),
    "busy_us": ("avactive", "active"),
    "queue_us": ("aveq",),
}
# Columns that say less than two others together: they are taken where these are missing.
INSTEAD: Final = {"requests": ("reads", "writes"), "moved_bytes": ("read_bytes", "write_bytes")}

# All disks together, below disk.all, where they were not logged one by one. How long any was busy is the sum
# over all: it is the time of no device, unless there is one.
ALL_DISKS: Final = {column: choices for column, choices in _BLOCK.items() if column != "busy_us"}
ALL_DISKS_BUSY: Final = ("avactive",)

# Disks by their world-wide names, whatever paths lead to them: taken where none was logged by its path.
DISKS_BY_NAME: Final = "disk.wwid"

# Metrics below a prefix, one instance per device, by the kind of device.
DEVICES: Final[dict[str, tuple[str, dict[str, Choices]]]] = {
    **dict.fromkeys(("disk.dev", "disk.dm", "disk.md", DISKS_BY_NAME), ("block", _BLOCK)),
    "network.interface": (
        "network",
        {
            "reads": ("in.packets",),
            "read_bytes": ("in.bytes",),
            "writes": ("out.packets",),
            "write_bytes": ("out.bytes",),
            "requests": ("total.packets",),
            "moved_bytes": ("total.bytes",),
            # The rate of the link, where the driver tells it.
            "speed_bytes_per_s": ("baudrate", "speed"),
            "errors": ("in.errors + in.drops + out.errors + out.drops", "in.errors + out.errors"),
        },
    ),
    "swapdev": (
        "swap",
        {"size_bytes": ("length",), "used_bytes": ("length - free",), "priority": ("priority",)},
    ),
    "zram": (
        "zram",
        {
            "size_bytes": ("capacity",),
            "used_bytes": ("mm_stat.data_size.original",),
            "stored_bytes": ("mm_stat.data_size.compressed",),
        },
    ),
    "nvidia": (
        "gpu",
        {"busy_part": ("gpuactive",), "size_bytes": ("memtotal",), "used_bytes": ("memused",)},
    ),
    "amdgpu": (
        "gpu",
        {"busy_part": ("gpu.load",), "size_bytes": ("memory.total",), "used_bytes": ("memory.used",)},
    ),
}

# Below cgroup: version 2 of control groups first, then version 1.
CGROUPS: Final[dict[str, Choices]] = {
    "cpu_us": ("cpu.stat.usage", "cpuacct.usage"),
    "cpu_user_us": ("cpu.stat.user", "cpuacct.stat.user"),
    "cpu_system_us": ("cpu.stat.system", "cpuacct.stat.system"),
    "quota_periods": ("cpusched.periods",),
    "quota_throttled_periods": ("cpusched.throttled",),
    "quota_throttled_us": ("cpusched.throttled_time",),
    "memory_bytes": ("memory.current", "memory.usage"),
    "swap_bytes": ("memory.stat.swap",),
    "anonymous_bytes": ("memory.stat.anon", "memory.stat.rss"),
    "file_bytes": ("memory.stat.file", "memory.stat.cache"),
    "limit_hits": ("memory.failcnt",),
    "major_faults": ("memory.stat.pgmajfault",),
    "pressure_cpu_some_us": ("pressure.cpu.some.total",),
    "pressure_memory_some_us": ("pressure.memory.some.total",),
    "pressure_memory_full_us": ("pressure.memory.full.total",),
    "pressure_io_some_us": ("pressure.io.some.total",),
    "pressure_io_full_us": ("pressure.io.full.total",),
}

# Logged once, or when they change: the latest value holds.
CONSTANT: Final = frozenset(
    {
        "mem.physmem",
        "swap.length",
        "swapdev.length",
        "swapdev.priority",
        "zram.capacity",
        "network.interface.baudrate",
        "network.interface.speed",
        "nvidia.memtotal",
        "amdgpu.memory.total",
        "mem.zoneinfo.managed",
    }
)
LOAD, UPTIME = "kernel.all.load", "kernel.all.uptime"
# IRIX adds the length of the run queue to this counter every second.
RUN_QUEUE: Final = "kernel.all.runque"
SESSIONS: Final = ("kernel.all.nusers",)
FACTS: Final = (
    "hinv.ncpu", "hinv.ndisk", "hinv.pagesize", "hinv.physmem", "kernel.uname.release",
    "kernel.uname.machine", "kernel.uname.distro", "hinv.cpu.clock", "hinv.map.cpu_num", UPTIME,
)  # fmt: skip
# Facts that have an instance for each processor.
OF_EACH_PROCESSOR: Final = ("hinv.cpu.clock", "hinv.map.cpu_num")

# Of a process, by the name of its column. Those with an attribute's nature hold until they are logged again.
PROCESS_ATTRIBUTES: Final = {
    "user_name": "proc.id.uid_nm",
    "uid": "proc.id.uid",
    "name": "proc.psinfo.cmd",
    "ppid": "proc.psinfo.ppid",
    "start": "proc.psinfo.start_time",
}
PROCESS_VALUES: Final = {
    "utime": "proc.psinfo.utime",
    "stime": "proc.psinfo.stime",
    "minor_faults": "proc.psinfo.minflt",
    "major_faults": "proc.psinfo.maj_flt",
    "read_bytes": "proc.io.read_bytes",
    "write_bytes": "proc.io.write_bytes",
    "resident_bytes": "proc.psinfo.rss",
    "state": "proc.psinfo.sname",
}
# Metrics by which processes can be counted, where the kernel's own number of them was not logged.
PROCESS_LIST: Final = ("proc.psinfo.pid", "proc.psinfo.nice", "proc.psinfo.priority")
# The state of each socket, by protocol and address.
SOCKET_STATE: Final = "network.persocket.state"


def terms(choice: str, prefix: str = "") -> list[tuple[float, str]]:
    """Signs and metrics of a sum or difference."""
    sign, found = 1.0, []
    for word in choice.split():
        if word in "+-":
            sign = 1.0 if word == "+" else -1.0
        else:
            found.append((sign, f"{prefix}.{word}" if prefix else word))
    return found


def plain_metrics() -> list[str]:
    """Every metric whose instances nobody but the administrator names."""
    names = [LOAD, RUN_QUEUE, *SESSIONS, *FACTS]
    of_system = (*SYSTEM.values(), *OF_OTHER_KERNELS.values(), *SUMMED.values())
    names += [m for cs in of_system for c in cs for _, m in terms(c)]
    for prefix in (EACH_CPU, ALL_CPU, NODE_CPU):
        names += [m for cs in PROCESSOR.values() for c in cs for _, m in terms(c, prefix)]
    for prefix, (_, columns) in DEVICES.items():
        names += [m for cs in columns.values() for c in cs for _, m in terms(c, prefix)]
    names += [f"disk.all.{c}" for cs in (*ALL_DISKS.values(), ALL_DISKS_BUSY) for c in cs]
    return list(dict.fromkeys(names))


def hostile_metrics() -> list[str]:
    """Metrics of processes and control groups: users name their instances."""
    groups = [m for cs in CGROUPS.values() for c in cs for _, m in terms(c, "cgroup")]
    processes = (*PROCESS_ATTRIBUTES.values(), *PROCESS_VALUES.values(), *PROCESS_LIST)
    return [*processes, SOCKET_STATE, *groups]
