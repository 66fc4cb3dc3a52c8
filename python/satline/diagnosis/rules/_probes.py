"""What probes (thermometers) say for or against a finding: cited with it, and never what it rests on.

A probe asks for the same thing again and again. Where what a finding names is short, a probe that needs it
takes longer than at light load or in calm periods. Where it does not, that speaks against the finding, and
fails it not: a probe may ask for too little, or of another disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from satline.diagnosis._probes import IN_SUCCESSION, LEAST_SLOWER_US, full_processors, readings
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis._use import NO_DISK, Courses, Floats, Mask, Use
from satline.diagnosis.rules._context import Context

# Rule → what a probe must need, as the component of a `Use`, to say something of it.
ASKED = {
    "cpu_bound": "processor",
    "io_bound": "io",
    "arm_contention": "io",
    "main_storage_bound": "storage",
    "paging_bound": "storage",
    "thrashing": "storage",
}
_NAMES = {
    "trivial": "a probe of a trivial command",
    "compute": "a probe that computes",
    "io": "an I/O probe",
    "paging": "a probe of memory",
}
# A probe got slower by so many times for a finding, and by less than the second against it.
SLOWER, NOT_SLOWER = 1.5, 1.2


def cited(finding: Finding, context: Context, uses: Sequence[Use]) -> Finding:
    """A finding that holds, with what probes show of it; `uses` of every resource, as the standing has them.

    State and strength stay as they are: where a probe is all that shows what was short, the standing counts
    it (see `satline.diagnosis._probes`), and no finding holds by it.
    """
    component = ASKED.get(finding.rule)
    if finding.state != "holds" or component is None or context.history is None:
        return finding
    courses = Courses(context.reduction, context.history)
    here, calm = _parts(context, component)
    # What waits for a processor as well says nothing of a disk or of memory.
    usable = np.ones(courses.count, dtype=bool) if component == "processor" else ~full_processors(courses)
    facts = []
    for one in readings(courses):
        if one.component != component:
            continue
        both = [np.where(one.ran & usable & part, one.taken, np.nan) for part in (here, calm)]
        fact = _fact(one.probe, both[0], both[1], context, against=_would_feel(context, component, uses))
        if fact is not None:
            facts.append(fact)
    return replace(finding, evidence=(*finding.evidence, *facts)) if facts else finding


def _parts(context: Context, component: str) -> tuple[Mask, Mask]:
    """Where it is short, and where it is calm."""
    number = context.reduction.number
    here, calm = (np.isin(number, classes) for classes in (context.top, context.bottom))
    # Of all that was short in short periods, what the finding names; by other signs than the probe's own.
    periods = context.basis == "periods"
    own = [u.counted for u in context.uses if periods and u.component == component and not u.probe]
    named = np.logical_or.reduce(own) & here if own else here
    return (named if named.any() else here), calm


def _fact(probe: str, here: Floats, calm: Floats, context: Context, *, against: bool) -> Evidence | None:
    """One probe's times here and where it was calm; ``None`` where they are too few, or say nothing."""
    now, before = here[np.isfinite(here)], calm[np.isfinite(calm)]
    if min(len(now), len(before)) < IN_SUCCESSION:
        return None
    took, usual = float(np.median(now)), float(np.median(before))
    # The middle halves lie apart: no slow run or two, nor mere scatter.
    apart = float(np.quantile(now, 0.25)) > float(np.quantile(before, 0.75))
    slower = took >= SLOWER * usual and took >= usual + LEAST_SLOWER_US and apart
    # Nor are there bursts in which it was slow.
    alike = all(np.quantile(now, q) < NOT_SLOWER * np.quantile(before, q) for q in (0.5, 0.9))
    if not slower and not (alike and against):
        return None
    where = ("at " if context.basis == "load" else "in ") + context.where(context.bottom)
    words = f"{_NAMES[probe]} takes longer than {where}, {usual / 1000:,.3g} ms"
    if slower:
        words += f"; slowest {_when(context, int(np.nanargmax(here)))}"
    elif probe == "io" and _disks(context) > 1:
        words += "; it tells of the disk that it reads only"
    return Evidence(f"thermometer:{probe}", "s", context.where(context.top), took / 1e6, None, words, slower)


def _would_feel(context: Context, component: str, uses: Sequence[Use]) -> bool:
    """Would a probe surely get slower by what is short? A study runs its probes where the users are, and the
    monitor says whether its probes ran in the load's group. A limit of another group is none of theirs."""
    history = context.history
    if history is not None and "study" in history.recording.description:
        return True
    monitor = {} if history is None else history.recording.sources.get("monitor", {})
    if context.reduction.settings.cgroup is not None and monitor.get("thermometers", {}).get(
        "in_load_cgroup"
    ):
        return True
    grouped = any(use.says and use.component == component and use.counted.any() for use in uses)
    return context.reduction.settings.cgroup is None and not grouped


def _disks(context: Context) -> int:
    return sum(not name.startswith(NO_DISK) for name in context.entities("device_busy"))


def _when(context: Context, at: int) -> str:
    """When an observation began."""
    observed = context.reduction.observations
    try:
        seconds = float(observed["time_ns"][at]) / 1e9 - float(context.reduction.seconds[at])
        return f"at {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (KeyError, ValueError, OverflowError):
        elapsed = float(observed["t0"][at] - observed["t0"][0]) / 1e9
        return f"{elapsed:.0f} s after the start"
