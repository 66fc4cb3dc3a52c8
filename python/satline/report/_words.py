"""Names of variables and loads in plain words, for the faces."""

from __future__ import annotations

from satline.diagnosis._results import Outcome, Saturation
from satline.reduction._results import LoadClass
from satline.report import _numbers
from satline.report._chart_table import CHARTS

AXES = {
    "active_users": "active users",
    "users": "users logged on",
    "in_queue": "multiprogramming level, users",
    "mpl": "multiprogramming level, users",
}

# Variables that no chart shows but evidence may name.
_MORE = {
    "problem_fraction": "problem state",
    "supervisor_fraction": "supervisor state",
    "total_cpu_fraction": "processors busy",
    "page_share": "share of paging in reads",
    "memory_used_fraction": "main storage used",
    "largest_user_share": "share of the busiest user",
    "load_cpu_fraction": "processors used by the load",
    "load_memory_fraction": "storage of the load against its limit",
    "load_read_cap_fraction": "reads of the load against their cap",
    "pressure_io": "time with a task waiting for I/O",
    "pressure_memory": "time with a task stalled for storage",
    "pressure_cpu": "time with a task waiting for a processor",
    "failure_rate": "transactions failed",
    "think": "user wait",
    "stolen": "processors taken by the hypervisor",
}

OUTCOMES: dict[Outcome, str] = {
    "not-saturated": "Not saturated in the range seen",
    "saturated": "Saturated",
    "cannot-tell": "Cannot tell",
    "nongranular": "Nongranular: a few batch users are the load",
}


def split(variable: str) -> tuple[str, str]:
    """A variable's name and the device or probe it is of: ``device_busy:sda`` → ``device_busy``, ``sda``."""
    base, _, member = variable.partition(":")
    return base, member


def variable_words(variable: str) -> str:
    """`variable` in plain words; of a name that is in no table, the name without its underscores and unit."""
    base, member = split(variable)
    plain = base.removesuffix("_us").removesuffix("_bytes").replace("_", " ")
    words = _LABELS.get(base) or _MORE.get(base) or plain
    return f"{words} of {member}" if member else words


def axis_words(load_axis: str) -> str:
    """The load axis in plain words."""
    return AXES.get(load_axis, load_axis.replace("_", " "))


def sentence(text: str) -> str:
    """`text` with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def load_words(load_class: LoadClass) -> str:
    """The range of a load class: ``5–6``, or ``4`` where it is one load."""
    low, high = _numbers.number(load_class.low), _numbers.number(load_class.high)
    return low if low == high else f"{low}–{high}"


def outcome_words(outcome: Outcome) -> str:
    """The verdict in plain words."""
    return OUTCOMES.get(outcome, str(outcome))


def saturation_lines(saturation: Saturation) -> list[str]:
    """What is known of the saturation, one fact a line: where, in what range, how throughput went."""
    axis = axis_words(saturation.load_axis)
    lines = []
    if saturation.at is not None:
        at = saturation.at
        shown = _numbers.interval(at.value, at.low, at.high, "")
        lines.append(f"It saturates at {shown} {axis}; the interval is one of {_numbers.joined('95', '%')}.")
    if saturation.range_low is not None and saturation.range_high is not None:
        low, high = _numbers.number(saturation.range_low), _numbers.number(saturation.range_high)
        lines.append(f"Seen from {low} to {high} {axis}.")
    if saturation.throughput_variable:
        lines.append(f"Throughput is judged by: {variable_words(saturation.throughput_variable)}.")
    saturated = saturation.at is not None
    light, heavy = ("below it", "above it") if saturated else ("at light load", "at the top of the range")
    for words, estimate in (
        ("Throughput at saturation", saturation.throughput_at),
        (f"Gained by each further user {light}", saturation.slope_before),
        (f"Gained by each further user {heavy}", saturation.slope_after),
    ):
        if estimate is not None:
            shown = _numbers.interval(estimate.value, estimate.low, estimate.high, estimate.unit)
            lines.append(f"{words}: {shown}.")
    return lines


_LABELS = {name: label for chart in CHARTS for name, label in chart.series if not name.startswith("@")}
