"""Expensive maintenance during the day.

What: rare but expensive work runs while users are busy, and they feel it.
Why: a backup, a checkpoint, an index rebuild or a scan is seldom needed, takes what the users need while it
runs, and often makes a server stop for it.
Signs: a command or thread that is seldom seen, several times, each time together with a spike of the users'
response, while many users are active.
False readings: rare work that users start because things are slow follows the spikes instead of causing them.
One coincidence proves nothing.
Remedy: do it off-shift.
References: [Bitner].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._histories import Histories
from satline.diagnosis._partial import Floats, residuals
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.stats import false_discoveries

RULE = Rule(
    name="daytime_maintenance",
    title="expensive maintenance while users are busy",
    component="none",
    needs=("response", "busiest_task"),
    remedies=(
        "Do it off-shift (a timer, cron), or when the load is lightest.",
        "Else slow it down: nice 19, ionice -c 3, a small io.weight; split a long checkpoint into short "
        "ones.",
    ),
    false_readings=("Work that users start because things are slow follows the spikes.",),
    references=("[Bitner]",),
    vm_remedies=("Do it off-shift.", "Split it, so that the server is not stopped for long."),
)
RARE, SPELLS, TIMES = 0.2, 3, 1.5
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Spike:
    """What response did in the spells of one piece of rare work, at equal load."""

    name: str
    spells: int
    factor: float
    error: float
    p: float
    busy: bool


def judge(context: Context) -> Finding:
    """Holds when rare work was seen in at least three spells, response was surely 1.5 times as long in them
    at equal load, and users were active. It is a remark."""
    history = context.history
    if history is None or not history.responses:
        return RULE.blind(context, "response")
    work = _rare_work(context, history)
    if work is None:
        return RULE.blind(context, "busiest_task")
    spikes = [s for name, seen, response in work if (s := _spike(context, name, seen, response)) is not None]
    if not spikes:
        return RULE.finding("does-not-hold", "no rare command or thread was seen often enough to judge")
    sure = false_discoveries([s.p for s in spikes]) <= 0.02
    costly = [s for s, ok in zip(spikes, sure, strict=True) if ok and s.factor >= TIMES]
    daytime = [s for s in costly if s.busy]
    worst = max(daytime or costly or spikes, key=lambda s: s.factor)
    text = f"response is {worst.factor:.1f} times as long in {worst.spells} spells of {worst.name}"
    evidence = [
        Evidence(
            f"response while {s.name} runs",
            "times that without it",
            "equal load",
            s.factor,
            s.error,
            f"at least {TIMES:g}",
            s in costly,
        )
        for s in (daytime or costly or [worst])[:3]
    ]
    if daytime:
        return RULE.finding("holds", text, strength=0.4, evidence=evidence)
    if costly:
        return RULE.finding("does-not-hold", f"{text}, but few users are active then", evidence=evidence)
    return RULE.finding("does-not-hold", "response does not rise with any rare work", evidence=evidence)


def _rare_work(context: Context, history: Histories) -> list[tuple[str, Mask, Floats]] | None:
    """Busy threads and classes of transactions that were seen seldom: where, and the response of the rest.
    ``None``: neither threads nor classes were recorded."""
    tasks = history.counters("task", "name", ("cpu_us",), "left(\"user\", 1) <> '_' OR \"user\" = '_host'")
    classes = history.class_responses
    if not tasks and len(classes) < 2:
        return None
    # A joined log may name users, classes, or both.
    known = classes or history.responses
    everyone = _response(list(known.values()), len(context.reduction.number))
    found = [(name, np.nan_to_num(course["cpu_us"]) > 0, everyone) for name, course in tasks.items()]
    for name, course in classes.items():
        rest = _response([c for n, c in classes.items() if n != name], len(context.reduction.number))
        found.append((name, np.nan_to_num(course["done"]) > 0, rest))
    return found


def _response(courses: list[dict[str, Floats]], length: int) -> Floats:
    done, seconds = np.zeros(length), np.zeros(length)
    for course in courses:
        done += np.nan_to_num(course["done"])
        seconds += np.nan_to_num(course["seconds"])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(done > 0, seconds / done, np.nan)


def _spike(context: Context, name: str, seen: Mask, response: Floats) -> _Spike | None:
    """Response in the spells against the rest; ``None`` where the work is not rare or too seldom seen.

    The spells are the sample, not the observations in them, which belong together.
    """
    reduction = context.reduction
    inside = reduction.number >= 0
    part = float(seen[inside].mean()) if inside.any() else 0.0
    if not 0 < part <= RARE:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        left = residuals(np.log(response), reduction.load, reduction.number)
    quiet = left[~seen & np.isfinite(left)]
    begins = seen & ~np.concatenate([[False], seen[:-1]])
    spell = np.cumsum(begins)
    good = seen & np.isfinite(left)
    numbers = np.unique(spell[good])
    if len(numbers) < SPELLS or len(quiet) < 10:
        return None
    each = np.array([left[good & (spell == k)].mean() for k in numbers]) - quiet.mean()
    # Spells of one observation have at least the scatter of single observations.
    scatter = max(float(each.std(ddof=1)), float(quiet.std()))
    error = scatter / math.sqrt(len(each))
    if not error > 0:
        return None
    mean = float(each.mean())
    p = 0.5 * math.erfc(mean / error / math.sqrt(2))
    loads = reduction.load[inside]
    busy = float(np.nanmean(reduction.load[good])) >= float(np.nanmedian(loads))
    return _Spike(name, len(numbers), math.exp(mean), math.exp(mean) * error, p, busy)
