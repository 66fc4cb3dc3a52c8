"""Probes that ran beside the work (thermometers): how long each took, and where that was much longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from satline.diagnosis._results import Alarm
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


def readings(courses: Courses, *, every: bool = False) -> list[Readings]:
    """Every probe whose need is known and that ran often enough; with `every` also those that need several
    things, or what is not known."""
    found = []
    for probe, own in courses.history.levels("thermometer", "thermometer", ("elapsed_us",)).items():
        one = Readings(probe, _WAITS_FOR.get(probe, ""), own["elapsed_us"])
        if (every or one.component) and one.ran.sum() >= LEAST_PROBES:
            found.append(one)
    return found


def full_processors(courses: Courses) -> Mask:
    """Where probes of other things prove nothing: they wait for a processor."""
    total = courses.course("total_cpu_fraction")
    return np.zeros(courses.count, dtype=bool) if total is None else np.nan_to_num(total) >= CPU_SHORT


def slow(one: Readings) -> tuple[Mask, float]:
    """Where a probe took much longer than is usual for it, several times in succession; what is usual, in
    microseconds. By running medians: a single slow run shows nothing."""
    ran = np.flatnonzero(one.ran)
    padded = np.pad(one.taken[ran], IN_SUCCESSION // 2, mode="edge")
    middle = np.median(sliding_window_view(padded, IN_SUCCESSION), axis=1)
    usual = float(np.quantile(middle, 0.25))
    where = np.zeros(len(one.taken), dtype=bool)
    where[ran] = (middle >= SLOW_PROBE * usual) & (middle >= usual + LEAST_SLOWER_US)
    return where, usual


def probes(courses: Courses) -> list[Use]:
    """Probes that ran now and then: where one took much longer than is usual for it, several times in
    succession, what it needs was short, whatever else says so. One of I/O proves nothing while the CPU is
    full.
    """
    full = full_processors(courses)
    found = []
    for one in readings(courses):
        where, usual = slow(one)
        if one.component != "processor":
            where &= ~full
        if not where.any():
            continue
        took = float(np.nanmean(one.taken[where]))
        found.append(
            Use(
                f"probe {one.probe}",
                one.component,
                None,
                where,
                None,
                scales=False,
                of=f"took {took / 1000:.3g} ms where it usually takes {usual / 1000:.3g} ms",
                probe=True,
            )
        )
    return found


def alarms(courses: Courses) -> tuple[Alarm, ...]:
    """The stretches in which probes were slow, in the order of time; those with one usual run or two between
    them are one."""
    full = full_processors(courses)
    observed, seconds = courses.reduction.observations, courses.reduction.seconds
    ended = observed.get("time_ns")
    clock = ended is not None and len(ended) == courses.count and bool(np.isfinite(ended).all())
    if clock:
        ends = np.asarray(ended, dtype=np.float64) / 1e9
    else:
        ends = (np.asarray(observed["t1"], dtype=np.float64) - float(observed["t0"][0])) / 1e9
    found = []
    for one in readings(courses, every=True):
        ran = np.flatnonzero(one.ran)
        where, usual = slow(one)
        places = np.flatnonzero(where[ran])
        if not len(places):
            continue
        for stretch in np.split(places, np.flatnonzero(np.diff(places) >= IN_SUCCESSION // 2 + 2) + 1):
            here = ran[stretch]
            taken = one.taken[here]
            found.append(
                Alarm(
                    one.probe,
                    float(ends[here[0]] - seconds[here[0]]),
                    float(ends[here[-1]]),
                    clock,
                    float(np.median(taken)),
                    float(taken.max()),
                    usual,
                    float(full[here].mean()),
                )
            )
    return tuple(sorted(found, key=lambda alarm: (alarm.begins_s, alarm.probe)))
