"""The answer in one sentence, and what weakens it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from satline.comparison._blocks import LEAST_DAYS, LEAST_EFFECTIVE
from satline.comparison._matched import span
from satline.comparison._periods import Observed
from satline.comparison._results import Change, Estimate, Hours, Matched, Outcome, Period

FAR_OUTSIDE = 0.5
SHIFT = 0.1
DRIFT = 0.5
OTHER_HOURS = 0.75
WEEKEND = 5


def judge(
    words: str,
    unit: str,
    load: str,
    matched: Matched | None,
    periods: tuple[Period, Period],
    drift: Estimate | None = None,
    condition: str = "",
) -> tuple[Outcome, str]:
    """The outcome, and the sentence that says it.

    Parameters
    ----------
    words
        The measure in plain words.
    load
        What the load is counted in, as in ``active users``.
    drift
        The first half of before against its second half, where no change was.
    condition
        What must hold for the difference to be the change's; empty: nothing that is known of.
    """
    if matched is None:
        ranges = " and ".join(_span(p.load_low, p.load_high, load) for p in periods)
        return "cannot-tell", f"cannot tell: no load in common ({ranges})"
    at = f"{words} at {_span(matched.low, matched.high, load)}"
    found = matched.relative if matched.relative is not None else matched.difference
    if found.low is None or found.high is None:
        few = min(p.effective_blocks for p in periods)
        why = (
            f"worth {few:.1f} independent blocks on one side, where {LEAST_EFFECTIVE + 0.5:.0f} are needed"
            if few < LEAST_EFFECTIVE
            else "too few independent blocks at loads that both have"
        )
        return "cannot-tell", f"cannot tell: too few data ({why})"
    if found.sure:
        outcome: Outcome = "fell" if found.value < 0 else "rose"
        ends = sorted((abs(found.low), abs(found.high)))
        size = abs(found.value)
        if matched.relative is not None:
            shown = f"{size:.{_places(size)}%} [{_percent(ends[0])}, {_percent(ends[1])}]".replace(
                "%", " %", 1
            )
        else:
            shown = f"by {size:.3g} [{ends[0]:.3g}, {ends[1]:.3g}] {unit}".rstrip()
        if drift is not None and drift.sure and matched.relative is not None and _as_large(drift, found):
            drifted = f"but differs by {signed(drift.value)} within before too"
            return "cannot-tell", f"cannot tell: {at} {outcome} {shown}, {drifted}"
        return outcome, f"{at} {outcome} {shown}" + (f", if {condition}" if condition else "")
    if matched.detectable is None:
        return "no-difference", f"no difference in {at} that these data could show"
    least = (
        f"{matched.detectable * 100:.2g} %"
        if matched.relative is not None
        else f"{matched.detectable:.3g} {unit}".rstrip()
    )
    return (
        "no-difference",
        f"no difference in {at} that these data could show; one under {least} would have been missed",
    )


def _as_large(drift: Estimate, found: Estimate) -> bool:
    return bool(abs(np.log1p(drift.value)) >= DRIFT * abs(np.log1p(found.value)))


def signed(part: float) -> str:
    """A part as a percentage with its sign: ``−17 %``."""
    return f"{part * 100:+.0f} %".replace("-", "−")


def _percent(part: float) -> str:
    return f"{part * 100:.{_places(part)}f}"


def _places(part: float) -> int:
    return 0 if part >= 0.0995 else 1


def _span(low: float, high: float, load: str) -> str:
    if not np.isfinite(low):
        return "no load"
    return f"{span(low, high)} {load}"


def weaknesses(
    seen: tuple[Observed, Observed],
    periods: tuple[Period, Period],
    matched: Matched | None,
    hours: Hours | None,
    whole_days: bool,
    changes: Sequence[Change],
    load: str,
) -> list[str]:
    """What a reader must know before the answer is believed."""
    before, after = periods
    notes = []
    if before.begins_s > after.begins_s and before.ends_s > after.ends_s:
        notes.append("what is called before lies after the other in time")
    if not whole_days:
        few = min(before.days, after.days)
        notes.append(
            f"{few} day{'s' if few > 1 else ''} on one side: what differs from day to day is not in the"
            f" intervals (record {LEAST_DAYS} days or more on each side)"
        )
    if matched is not None and max(matched.outside) > FAR_OUTSIDE:
        worst = int(np.argmax(matched.outside))
        side = "after" if worst else "before"
        notes.append(
            f"{matched.outside[worst] * 100:.0f} % of the observations {side} are at loads that the other"
            " side lacks, and are not compared"
        )
    apart = after.load_mean / before.load_mean - 1 if before.load_mean > 0 else 0.0
    if matched is not None and abs(apart) > SHIFT and before.raw > 0:
        equal = (
            "" if matched.relative is None else f", against {signed(matched.relative.value)} at equal load"
        )
        notes.append(
            f"the load differs ({before.load_mean:.3g} → {after.load_mean:.3g} {load} on average):"
            f" raw means ({signed(after.raw / before.raw - 1)}{equal}) mislead"
        )
    notes += _other_times(seen)
    if not any(c.when == "between" for c in changes):
        notes.append("the recordings tell of no change between the two")
    if hours is not None and matched is not None and matched.relative is not None:
        found = matched.relative
        against = hours.rose if found.value < 0 else hours.fell
        if found.sure and against > len(hours.hours) / 2:
            notes.append("most hours of the day say the opposite: loads at the same hour differ")
    return notes


def condition_of(seen: tuple[Observed, Observed]) -> str:
    """What must hold where the two sides have hardly an hour of the day in common; empty otherwise."""
    hours = [set(o.of_day.tolist()) for o in seen]
    if min(_alone(seen, hours)) < OTHER_HOURS:
        return ""
    return f"it is not the hours of the day ({_hours(hours[0])} against {_hours(hours[1])})"


def _alone(seen: tuple[Observed, Observed], hours: Sequence[set[int]]) -> list[float]:
    """Part of each side's observations that lie in hours of the day which the other lacks."""
    return [sum(h not in hours[1 - k] for h in o.of_day.tolist()) / len(o.of_day) for k, o in enumerate(seen)]


def _other_times(seen: tuple[Observed, Observed]) -> list[str]:
    """Hours and days of the week that only one side has: their differences are taken for the change's."""
    notes = []
    hours = [set(o.of_day.tolist()) for o in seen]
    alone = _alone(seen, hours)
    if max(alone) > 0.25:
        notes.append(
            f"other hours of the day ({_hours(hours[0])} against {_hours(hours[1])}): their own differences"
            " are taken for the change's"
        )
    ends = [
        np.isin((o.middle_s // 86400 + 3).astype(np.int64) % 7, (WEEKEND, WEEKEND + 1)).mean() for o in seen
    ]
    if abs(ends[0] - ends[1]) > 0.25:
        notes.append("one side has far more weekend than the other (--days mon-fri leaves it out)")
    return notes


def _hours(hours: set[int]) -> str:
    """``9–11, 14`` of a set of hours."""
    parts: list[list[int]] = []
    for hour in sorted(hours):
        if parts and hour == parts[-1][1] + 1:
            parts[-1][1] = hour
        else:
            parts.append([hour, hour])
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in parts)
