"""The standard set of plots against load [Bard], one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["lines", "stack", "percentiles", "family"]

THROUGHPUT = "@throughput"


@dataclass(frozen=True)
class Chart:
    """One plot.

    kind
        lines: means with ±1 standard error; stack: means on top of each other; percentiles: 25, 50, 75 and 90
        of one variable; family: a line for each member (device, probe) of one variable.
    series
        Variable and its label. `THROUGHPUT` stands for the variable that the verdict judged.
    limit
        Variable drawn as a dashed line that the others are held against, and its label.
    percentile
        Of a family: draw this percentile instead of the mean.
    relative
        Draw each line as a multiple of its first value, so that lines of very different size compare.
    """

    name: str
    title: str
    kind: Kind
    series: tuple[tuple[str, str], ...]
    limit: tuple[str, str] | None = None
    percentile: int | None = None
    relative: bool = False
    note: str = ""


CHARTS = (
    Chart(
        "throughput",
        "Throughput",
        "lines",
        ((THROUGHPUT, "throughput"),),
        note="The line is the fitted hinge; the shaded band is the 95 % interval of the saturation point.",
    ),
    Chart("response", "Response time", "percentiles", (("response", "response time"),)),
    Chart("reaction", "Reaction time", "percentiles", (("reaction", "reaction time"),)),
    Chart(
        "processors",
        "Processors: problem state, supervisor state, total",
        "lines",
        (
            ("problem_state", "problem state"),
            ("supervisor_state", "supervisor state"),
            ("total_cpu", "all processor time"),
            ("load_cpu", "processor time of the load"),
        ),
        limit=("capacity_processors", "capacity"),
    ),
    Chart(
        "wait",
        "Processor wait: idle, page, I/O",
        "stack",
        (("idle_wait", "idle wait"), ("page_wait", "page wait"), ("io_wait", "I/O wait")),
    ),
    Chart(
        "shares",
        "Where users' transaction time goes",
        "stack",
        (
            ("share_run", "running"),
            ("share_cpu_wait", "waiting for a processor"),
            ("share_page_wait", "waiting for pages"),
            ("share_io_wait", "waiting for I/O"),
            ("share_throttled", "held back by the quota"),
            ("share_other", "waiting for another process"),
        ),
    ),
    Chart(
        "states",
        "Users by what they do",
        "stack",
        (
            ("user_run", "users running"),
            ("user_cpu_wait", "users waiting for a processor"),
            ("user_page_wait", "users waiting for pages"),
            ("user_io_wait", "users waiting for I/O"),
            ("user_throttled", "users held back by the quota"),
            ("user_other", "users waiting for another process"),
        ),
    ),
    Chart(
        "paging",
        "Paging",
        "lines",
        (
            ("swap_in_rate", "pages swapped in"),
            ("swap_out_rate", "pages swapped out"),
            ("refault_rate", "stolen pages that came back"),
        ),
    ),
    Chart(
        "faults",
        "Page faults that needed a read",
        "lines",
        (
            ("major_fault_rate", "major faults of the host"),
            ("load_major_fault_rate", "major faults of the load"),
            ("user_major_fault_rate", "major faults of the users"),
        ),
    ),
    Chart(
        "levels",
        "Multiprogramming level and active users",
        "lines",
        (
            ("mpl", "multiprogramming level"),
            ("active_users", "active users"),
            ("users_in_transaction", "users in a transaction"),
        ),
    ),
    Chart(
        "storage",
        "Storage and swap of the load",
        "lines",
        (
            ("load_memory", "storage of the load"),
            ("load_anonymous", "anonymous pages of the load"),
            ("load_swap", "swap of the load"),
        ),
    ),
    Chart(
        "main-storage",
        "Main storage and swap of the host",
        "lines",
        (("memory_used", "main storage used"), ("swap_used", "swap used")),
    ),
    Chart(
        "quota",
        "Quota periods in which the load was held back",
        "lines",
        (("throttled_periods", "quota periods held back"),),
    ),
    Chart("device-rate", "Devices: requests completed", "family", (("device_rate", "request rate"),)),
    Chart("device-busy", "Devices: time busy", "family", (("device_busy", "time busy"),)),
    Chart(
        "device-response",
        "Devices: time of a request",
        "family",
        (("device_response", "time of a request"),),
    ),
    Chart("task", "The busiest thread", "lines", (("busiest_task", "processor time of the busiest thread"),)),
    Chart(
        "pressure",
        "Time in which a task of the load was stalled",
        "lines",
        (
            ("load_pressure_cpu", "load stalled for a processor"),
            ("load_pressure_memory", "load stalled for storage"),
            ("load_pressure_io", "load stalled for I/O"),
        ),
    ),
    Chart(
        "thermometers",
        "Thermometers: 75th percentile of their elapsed time",
        "family",
        (("thermometer", "elapsed time of the probe"),),
        percentile=75,
        relative=True,
    ),
)
