"""Probes that ran beside the work (thermometers): how long each took, and where that was much longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from satline.diagnosis._use import CPU_SHORT, Courses, Floats, Mask, Use

# Slow is a probe whose running median is so many times the usual, and so much above it.
SLOW_PROBE, LEAST_SLOWER_US = 3.0, 5000.0
LEAST_PROBES, IN_SUCCESSION = 12, 5
# What a probe waits for when it takes much longer than usual.
_WAITS_FOR = {"trivial": "processor", "compute": "processor", "io": "io", "paging": "storage"}


@dataclass(frozen=True)
class Readings:
    """The readings of one probe that are enough to go by.

    component
        What it needs, as the component of a `Use`.
    taken
        Mean time of its runs in each observation, microseconds; NaN where none began.
    """

    probe: str
    component: str
    taken: Floats

    @property
    def ran(self) -> Mask:
        """Where it ran."""
        return np.asarray(np.isfinite(self.taken))


def readings(courses: Courses) -> list[Readings]:
    """Every probe whose need is known and that ran often enough."""
    found = []
    for probe, own in courses.history.levels("thermometer", "thermometer", ("elapsed_us",)).items():
        one = Readings(probe, _WAITS_FOR.get(probe, ""), own["elapsed_us"])
        if one.component and one.ran.sum() >= LEAST_PROBES:
            found.append(one)
    return found


def full_processors(courses: Courses) -> Mask:
    """Where probes of other things prove nothing: they wait for a processor."""
    total = courses.course("total_cpu_fraction")
    return np.zeros(courses.count, dtype=bool) if total is None else np.nan_to_num(total) >= CPU_SHORT


def probes(courses: Courses) -> list[Use]:
    """Probes that ran now and then: where one took much longer than is usual for it, several times in
    succession, what it needs was short, whatever else says so. One of I/O proves nothing while the CPU is
    full.
    """
    full = full_processors(courses)
    found = []
    for one in readings(courses):
        ran = np.flatnonzero(one.ran)
        # Running medians: a single slow run shows nothing.
        padded = np.pad(one.taken[ran], IN_SUCCESSION // 2, mode="edge")
        middle = np.median(sliding_window_view(padded, IN_SUCCESSION), axis=1)
        usual = float(np.quantile(middle, 0.25))
        slow = np.zeros(courses.count, dtype=bool)
        slow[ran] = (middle >= SLOW_PROBE * usual) & (middle >= usual + LEAST_SLOWER_US)
        if one.component != "processor":
            slow &= ~full
        if not slow.any():
            continue
        took = float(np.nanmean(one.taken[slow]))
        found.append(
            Use(
                f"probe {one.probe}",
                one.component,
                None,
                slow,
                None,
                scales=False,
                of=f"took {took / 1000:.3g} ms where it usually takes {usual / 1000:.3g} ms",
                probe=True,
            )
        )
    return found
