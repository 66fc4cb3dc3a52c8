"""The load now: the last seconds of a recording, also one that is being written, or of this host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from satline.live._host import sampled
from satline.live._states import PARTS, UserState, UserStates, user_states
from satline.live._window import Seen, Window
from satline.reduction import group

__all__ = [
    "LINE",
    "LONG",
    "PARTS",
    "LoadNow",
    "UserState",
    "UserStates",
    "Value",
    "Window",
    "load_now",
    "sampled",
    "user_states",
]

# Of the line, in its order: variable, word. The paging rate is that of the whole system, not of a processor:
# a rate that one display divides by the processors and another does not leads astray [TB84].
LINE = (
    ("paging_rate", "paging"),
    ("mpl", "MPL"),
    ("eligible", "eligible"),
    ("total_cpu_fraction", "CPU"),
    ("response", "resp"),
    ("active_users", "active"),
)
# Of the fuller form: heading, and its variables.
LONG: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Users", ("logged_on", "active_users", "mpl", "q1", "q2", "eligible", "dormant")),
    (
        "Processors",
        (
            "total_cpu_fraction",
            "problem_state",
            "supervisor_state",
            "stolen",
            "idle_wait",
            "page_wait",
            "io_wait",
            "dispatch_queue",
        ),
    ),
    (
        "Paging and memory",
        (
            "paging_rate",
            "swap_in_rate",
            "swap_out_rate",
            "fast_paging_rate",
            "major_fault_rate",
            "refault_rate",
            "memory_used_fraction",
            "storage_demanded_fraction",
            "swap_used",
        ),
    ),
    (
        "Input and output, locks",
        ("busiest_device", "virtual_io_rate", "block_in_rate", "block_out_rate", "lock_spin"),
    ),
    ("Transactions", ("transaction_rate", "response", "interactive_response", "reaction")),
)


@dataclass(frozen=True)
class Value:
    """A variable now, in the catalogue's unit."""

    value: float
    unit: str


@dataclass(frozen=True)
class LoadNow(Seen):
    """The load in a window that ends at `at`.

    values
        By variable, in the recording's units.
    busiest_device
        ``None``: not asked for, or none is known.
    missing
        By variable: why it is not there.
    """

    values: Mapping[str, Value]
    busiest_device: str | None
    missing: Mapping[str, str]


def load_now(window: Window, *, fuller: bool = False) -> LoadNow:
    """The load in `window`, by the catalogue's formulas; the whole window is one observation.

    Parameters
    ----------
    fuller
        All variables of `LONG`, not only those of `LINE`.
    """
    names = [name for name, _ in LINE]
    if fuller:
        names += [name for _, part in LONG for name in part if name not in names]
    wanted = [*names, *(["device_busy"] if fuller else [])]
    groups = group(window, "time", wanted, every_s=366 * 86400.0, observation_s=window.seconds)
    values: dict[str, Value] = {}
    busy: dict[str, float] = {}
    for name, curve in groups.curves.items():
        mean = curve.points[-1].mean if curve.points else None
        if mean is None:
            continue
        if name.startswith("device_busy:"):
            busy[name.partition(":")[2]] = mean
        else:
            values[name] = Value(mean, curve.unit)
    lacking = {name: groups.missing.get(name, "none in this window") for name in names if name not in values}
    busiest = max(busy, key=lambda name: busy[name]) if busy else None
    return LoadNow(window.at, window.seconds, window.samples, values, busiest, lacking)
