"""What sysstat's activities are in the catalogue: fields of `sadf -r` → columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SECTOR_BYTES = 512


@dataclass(frozen=True)
class Activity:
    """One of sysstat's activities: what to ask `sadf` for, and its fields by column.

    columns
        Column of the table → (fields that are added up, factor to the column's unit); the first field must
        be there, the others are added where they are.
    ticks
        The fields count clock ticks: the factor is divided by their number in a second.
    """

    table: str
    flags: tuple[str, ...]
    columns: Mapping[str, tuple[tuple[str, ...], float]]
    ticks: bool = False
    device_kind: str = ""


def _one(**columns: tuple[str, float]) -> dict[str, tuple[tuple[str, ...], float]]:
    return {column: ((name,), factor) for column, (name, factor) in columns.items()}


ACTIVITIES: Mapping[str, tuple[Activity, ...]] = {
    "A_CPU": (
        Activity(
            "processor",
            ("-u", "ALL", "-P", "ALL"),
            {
                "user_us": (("%usr",), 1e6),
                "nice_us": (("%nice",), 1e6),
                "system_us": (("%sys",), 1e6),
                "irq_us": (("%irq", "%soft"), 1e6),
                "idle_us": (("%idle",), 1e6),
                "iowait_us": (("%iowait",), 1e6),
                "steal_us": (("%steal",), 1e6),
                "guest_us": (("%guest", "%gnice"), 1e6),
            },
            ticks=True,
        ),
    ),
    "A_PCSW": (Activity("system", ("-w",), _one(forks=("proc/s", 1), context_switches=("cswch/s", 1))),),
    "A_IRQ": (Activity("system", ("-I", "SUM"), _one(interrupts=("all", 1))),),
    "A_SWAP": (
        Activity("system", ("-W",), _one(swap_in_pages=("pswpin/s", 1), swap_out_pages=("pswpout/s", 1))),
    ),
    "A_PAGE": (
        Activity(
            "system",
            ("-B",),
            _one(
                block_in_bytes=("pgpgin/s", 1024),
                block_out_bytes=("pgpgout/s", 1024),
                page_faults=("fault/s", 1),
                major_faults=("majflt/s", 1),
                scan_direct_pages=("pgscand/s", 1),
            ),
        ),
    ),
    "A_MEMORY": (
        Activity(
            "system",
            ("-r", "ALL"),
            {
                **_one(
                    mem_free_bytes=("kbmemfree", 1024),
                    mem_available_bytes=("kbavail", 1024),
                    mem_total_bytes=("kbttlmem", 1024),
                    dirty_bytes=("kbdirty", 1024),
                    anonymous_bytes=("kbanonpg", 1024),
                    slab_bytes=("kbslab", 1024),
                ),
                "cached_bytes": (("kbbuffers", "kbcached"), 1024),
            },
        ),
        Activity(
            "system", ("-S",), _one(swap_free_bytes=("kbswpfree", 1024), swap_total_bytes=("kbttlswp", 1024))
        ),
    ),
    "A_QUEUE": (
        Activity(
            "system",
            ("-q",),
            _one(
                tasks_runnable=("runq-sz", 1),
                tasks_total=("plist-sz", 1),
                load_average_1=("ldavg-1", 0.01),
                tasks_blocked=("blocked", 1),
            ),
        ),
    ),
    "A_PSI_CPU": (Activity("system", ("-q", "CPU"), _one(pressure_cpu_some_us=("%scpu", 1))),),
    "A_PSI_IO": (
        Activity(
            "system", ("-q", "IO"), _one(pressure_io_some_us=("%sio", 1), pressure_io_full_us=("%fio", 1))
        ),
    ),
    "A_PSI_MEM": (
        Activity(
            "system",
            ("-q", "MEM"),
            _one(pressure_memory_some_us=("%smem", 1), pressure_memory_full_us=("%fmem", 1)),
        ),
    ),
    "A_DISK": (
        Activity(
            "device",
            ("-d", "-p"),
            {
                "requests": (("tps",), 1),
                "read_bytes": (("rkB/s",), _SECTOR_BYTES),
                "write_bytes": (("wkB/s",), _SECTOR_BYTES),
                "request_wait_us": (("rd_ticks", "wr_ticks", "dc_ticks"), 1000),
                "read_wait_us": (("rd_ticks",), 1000),
                "write_wait_us": (("wr_ticks",), 1000),
                "busy_us": (("tot_ticks",), 1000),
                "queue_us": (("aqu-sz",), 1000),
            },
            device_kind="block",
        ),
    ),
    "A_NET_DEV": (
        Activity(
            "device",
            ("-n", "DEV"),
            _one(
                reads=("rxpck/s", 1),
                writes=("txpck/s", 1),
                read_bytes=("rxkB/s", 1),
                write_bytes=("txkB/s", 1),
            ),
            device_kind="network",
        ),
    ),
}

NO_USERS = "sysstat keeps no figures of single users"
RECORD = "satline record, on the host itself"
LACKING: tuple[tuple[str, str, str], ...] = (
    ("user.cpu_us", NO_USERS, RECORD),
    ("task.cpu_us", NO_USERS.replace("users", "threads"), RECORD),
    ("system.users_in_queue", NO_USERS, RECORD),
    (
        "system.pressure_cpu_some_us",
        "no pressure in the source",
        "sysstat 12.5.6, a kernel with /proc/pressure",
    ),
    ("system.refault_anonymous_pages", "sysstat does not read it", RECORD),
    ("device.busy_us", "no devices in the source", "devices collected: sadc -S DISK (sysstat's own default)"),
    ("system.swap_in_pages", "no swapping in the source", "sadc without -S, or with -S DISK"),
)
