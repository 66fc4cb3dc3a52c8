"""Cache lost or disabled.

What: a device has lost its cache: it failed, was disabled, or is full of data that cannot be written.
Why: requests that the cache served now wait for the medium.
Signs: the time of a read jumps within the recording at equal load and stays there; the device's cache
counters vanish, or its hits fall, from then on.
False readings: a lasting jump also comes from a neighbour on the same array, a rebuild, or a move of data;
without cache counters they cannot be told apart.
Remedy: repair it or move the data; query for pinned data.
References: [Bitner].
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from satline.diagnosis._change import Step, factor, largest_step
from satline.diagnosis._histories import Histories
from satline.diagnosis._partial import Floats, residuals
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import wait_at_saturation
from satline.stats import false_discoveries

RULE = Rule(
    name="cache_lost",
    title="cache of a device lost or disabled",
    component="io",
    needs=("device_read_response", "device_hit_ratio"),
    remedies=(
        "Ask the controller for the state of its cache and battery, and for data that it cannot write.",
        "Switch the cache on again or repair it; until then move the busiest data to another device.",
    ),
    false_readings=("A rebuild of the array, or a neighbour on it, makes reads slower for a time as well.",),
    references=("[Bitner]",),
    vm_remedies=(
        "Query the cache and the device for pinned data.",
        "Repair the cache, or move the minidisks to a device that has one.",
    ),
)
JUMP = 1.5


@dataclass(frozen=True)
class _Jump:
    """A device's lasting jump, and what its cache did then: ``None``, it has no cache counters."""

    device: str
    step: Step
    cache: str | None
    lost: bool


def judge(context: Context) -> Finding:
    """Holds when a device's reads surely got 1.5 times slower at equal load and its cache counters vanished
    or fell with them. It needs no saturation, but is a remark unless users wait for I/O."""
    if not context.entities("device_read_response") or context.history is None:
        return RULE.blind(context, "device_read_response")
    jumps = _jumps(context, context.history)
    if jumps is None:
        return RULE.finding(
            "cannot-judge",
            "too short a recording to tell a lasting jump from chance",
            missing=("a longer recording",),
        )
    if not jumps:
        return RULE.finding("does-not-hold", "no device's reads got lastingly slower at equal load")
    evidence = [_evidence(jump) for jump in jumps[:3]]
    lost = [jump for jump in jumps if jump.lost]
    worst = max(lost or jumps, key=lambda jump: jump.step.size)
    times, since = factor(worst.step)[0], _when(context, worst)
    text = f"reads of {worst.device} take {times:.1f} times as long since {since}"
    if not lost:
        if all(jump.cache is not None for jump in jumps):
            return RULE.finding("does-not-hold", f"{text}, but {worst.cache}", evidence=evidence)
        return RULE.finding(
            "cannot-judge",
            f"{text}; whether a cache was lost cannot be seen without its counters",
            evidence=evidence,
            missing=("device_hit_ratio",),
        )
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    limits = context.saturated and wait is not None and wait.large
    strength = wait.value if wait is not None and limits else 0.4
    return RULE.finding(
        "holds", f"{text}; {worst.cache}", strength=strength, evidence=evidence, remark=not limits
    )


def _jumps(context: Context, history: Histories) -> list[_Jump] | None:
    """Devices whose reads got lastingly slower; ``None``: none was read in enough blocks to see it."""
    names = ("reads", "read_wait_us", "cache_hits")
    courses = history.counters(
        "device", "device", names, "device_kind IS DISTINCT FROM 'swap' AND read_wait_us IS NOT NULL"
    )
    reduction = context.reduction
    found: list[tuple[str, Step]] = []
    for device, course in courses.items():
        reads = np.where(course["reads"] >= 3, course["reads"], np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            slow = np.log(course["read_wait_us"] / reads)
            rate = np.log(reads / reduction.seconds)
        slow[~np.isfinite(slow)] = np.nan
        step = largest_step(_at_equal(slow, rate, context), reduction.batches)
        if step is not None:
            found.append((device, step))
    if not found:
        return None
    sure = false_discoveries([step.p for _, step in found]) <= 0.02
    return [
        _Jump(device, step, *_cache(courses[device], step.at))
        for (device, step), ok in zip(found, sure, strict=True)
        if ok and factor(step)[1] > 1.2 and factor(step)[0] >= JUMP
    ]


def _at_equal(slow: Floats, rate: Floats, context: Context) -> Floats:
    """Logarithm of the read time with the load and the device's own rate taken out."""
    reduction = context.reduction
    left, of_rate = (residuals(v, reduction.load, reduction.number) for v in (slow, rate))
    good = np.isfinite(left) & np.isfinite(of_rate)
    spread = float((of_rate[good] ** 2).sum())
    if spread > 0:
        # More requests may make each slower, never faster: a negative slope is the jump itself.
        slope = max(0.0, float((left[good] * of_rate[good]).sum()) / spread)
        left = left - slope * of_rate
    return left


def _cache(course: dict[str, Floats], at: int) -> tuple[str | None, bool]:
    """What the cache counters did at the jump, and whether that says that the cache is lost."""

    def ratio(part: slice) -> float | None:
        hits, reads = course["cache_hits"][part], course["reads"][part]
        good = np.isfinite(hits) & np.isfinite(reads)
        # Counters that are there for a few readings only are not there.
        if good.sum() < 0.2 * max(1, np.isfinite(reads).sum()) or not reads[good].sum() > 0:
            return None
        return float(hits[good].sum() / reads[good].sum())

    before, after = ratio(slice(None, at)), ratio(slice(at, None))
    if before is None:
        return None, False
    if after is None:
        return "its cache counters vanish then", True
    if after < 0.5 * before:
        return f"its cache served {before:.0%} of the requests before, {after:.0%} since", True
    return f"its cache still serves {after:.0%} of the requests", False


def _when(context: Context, jump: _Jump) -> str:
    observed = context.reduction.observations
    try:
        seconds = float(observed["time_ns"][jump.step.at]) / 1e9
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (KeyError, ValueError, OverflowError):
        elapsed = float(observed["t0"][jump.step.at] - observed["t0"][0]) / 1e9
        return f"{elapsed:.0f} s after the start"


def _evidence(jump: _Jump) -> Evidence:
    middle, low, high = factor(jump.step)
    error = (high - low) / (2 * 1.96)
    name = f"device_read_response:{jump.device}"
    return Evidence(name, "times that before", "equal load", middle, error, f"at least {JUMP:g}", True)
