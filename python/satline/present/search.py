"""A search for a person who watches: the curve as known so far, what is sought, what comes next and why."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.experiment import Outlook
    from satline.experiment.adaptive import Trail
    from satline.experiment.search import Known, Window

WIDTH = 80
ROWS, COLUMNS = 7, 60
SEEN, BAND, LINE = "o", "·", "─"


def estimate_words(target: str, value: float, low: float, high: float | None, unit: str) -> str:
    """One target's estimate; `high` infinite or ``None``: no upper limit.

    >>> estimate_words("knee", 12.13, 9.1, 15.5, "users")
    'knee 12.1 [9.1, 15.5] users'
    """
    end = f"{high:.3g}" if high is not None and math.isfinite(high) else "no limit"
    return f"{target} {value:.3g} [{low:.3g}, {end}] {unit}"


def decision_lines(outlook: Outlook) -> list[str]:
    """What one decision says, as plain lines."""
    decision = outlook.decision
    lines = []
    if decision.estimates:
        known = "; ".join(_known(one) for one in decision.estimates)
        lines.append(f"known so far: {known}{_chance(decision.chance_within, outlook.plan.most_users)}")
    if decision.users is None:
        lines.append(f"ended: {decision.why}")
    else:
        lines.append(f"next: {decision.why}{_until(decision.expected_seconds, outlook)}")
    return lines


def live_lines(outlook: Outlook) -> list[str]:
    """The display: the curve, and what `decision_lines` says, in 80 columns."""
    lines = plot(outlook) if outlook.measured.windows else []
    for line in decision_lines(outlook):
        lines += textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return lines


def plot(outlook: Outlook) -> list[str]:
    """Throughput against users: each load seen, the band of the curve, the interval of the knee."""
    import numpy as np

    windows = outlook.measured.windows
    seen = _by_load(windows)
    right = max(seen)
    users = np.linspace(0, right, COLUMNS, endpoint=False) + 0.5 * right / COLUMNS
    # A band beyond what was seen would flatten all the rest.
    top = 1.15 * max(seen.values()) or 1.0
    canvas = [[" "] * COLUMNS for _ in range(ROWS)]

    def row(value: float) -> int:
        return ROWS - 1 - min(ROWS - 1, max(0, int(value / top * ROWS)))

    if outlook.posterior is not None:
        for column, (value, low, high) in enumerate(zip(*outlook.posterior.curve(users), strict=True)):
            for y in range(row(high), row(low) + 1):
                canvas[y][column] = BAND
            canvas[row(value)][column] = LINE
    for n, mean in seen.items():
        canvas[row(mean)][min(COLUMNS - 1, int(n / right * COLUMNS))] = SEEN
    unit = "work/s" if outlook.measured.counts_work else "per s"
    labels = {0: f"{top:.3g}", ROWS - 1: "0"}
    lines = [f"{unit:>8}  {SEEN} seen, {LINE} likely, {BAND} 95 %"]
    lines += [f"{labels.get(y, ''):>8} │{''.join(cells).rstrip()}" for y, cells in enumerate(canvas)]
    lines.append(f"{'':>8} └{_axis(outlook, right)}")
    return [*lines, f"{'':>9}0{'users':^{COLUMNS - 2}}{right:g}"]


def _axis(outlook: Outlook, right: float) -> str:
    """The axis with the knee's interval on it."""
    cells = ["─"] * COLUMNS
    knee = outlook.posterior.knee if outlook.posterior is not None else None
    if knee is not None and knee.low < right:
        ends = [min(COLUMNS - 1, int(min(x, right) / right * COLUMNS)) for x in (knee.low, knee.high)]
        for k in range(ends[0], ends[1] + 1):
            cells[k] = "═"
        if knee.value < right:
            cells[min(COLUMNS - 1, int(knee.value / right * COLUMNS))] = "╪"
    return "".join(cells)


def _by_load(windows: Sequence[Window]) -> dict[int, float]:
    """Mean throughput at each load, its windows together."""
    found = {}
    for users in sorted({window.users for window in windows}):
        own = [window for window in windows if window.users == users]
        found[users] = sum(w.mean * w.seconds for w in own) / sum(w.seconds for w in own)
    return found


def _known(one: Known) -> str:
    return estimate_words(one.target, one.value, one.low, one.high, one.unit) + (
        " (enough)" if one.done else ""
    )


def _chance(chance: float | None, most: int) -> str:
    if chance is None or chance > 0.995:
        return ""
    return f"; that throughput bends within {most} users: {chance:.0%}"


def _until(seconds: float | None, outlook: Outlook) -> str:
    """How long it will take, if that is within the time there is."""
    if seconds is None:
        return ""
    left = outlook.seconds - outlook.decision.elapsed_s
    wanted = f"±{outlook.plan.within:.0%}"
    if seconds > left:
        return f"; {wanted} would take about {_time(seconds)}, {_time(left)} are left"
    return f"; {wanted} in about {_time(seconds)}"


def _time(seconds: float) -> str:
    """A length of time in words.

    >>> _time(42), _time(200)
    ('42 s', '3.3 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} min" if seconds < 5940 else f"{seconds / 3600:.0f} hours"


def path_lines(search: Mapping[str, Any], decisions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A whole path as it was recorded, in 80 columns; nothing in it is trusted to be there."""
    limits = f"{search.get('least_users', 1)} to {search.get('most_users', '?')} users"
    within, targets = 100 * (_float(search.get("within")) or 0.0), search.get("targets")
    sought = ", ".join(map(str, targets)) if isinstance(targets, list) else "?"
    lines = [
        f"A search among {limits}, for {_number(search.get('seconds'))} s, until each interval is within"
        f" ±{within:.0f} %. Sought: {sought}."
    ]
    for number, one in enumerate(decisions, start=1):
        lines.append("")
        users = one.get("users")
        what = "ends" if users is None else f"{users} users for {_number(one.get('window_s'))} s"
        lines.append(f"{number}. after {_number(one.get('elapsed_s'))} s: {what}")
        lines.append(f"   {one.get('why', '')}")
        for known in _sections(one.get("estimates")):
            value, low, high = (_float(known.get(key)) for key in ("value", "low", "high"))
            if value is not None and low is not None:
                words = estimate_words(
                    str(known.get("target", "")), value, low, high, str(known.get("unit", ""))
                )
                lines.append(f"   known: {words}{' (enough)' if known.get('done') is True else ''}")
        others = [
            f"{c.get('users')} for {_number(c.get('window_s'))} s "
            f"{100 * (_float(c.get('narrowing')) or 0.0):.0f} %"
            for c in _sections(one.get("candidates"))
        ]
        if others:
            lines.append(f"   considered, with the narrowing expected: {'; '.join(others)}")
    made = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        made += textwrap.wrap(line, WIDTH, subsequent_indent=indent + "  ", break_on_hyphens=False) or [""]
    return made


def ending_lines(trail: Trail) -> list[str]:
    """Why the steps ended, and what is known of targets that are not the knee: that is the diagnosis'."""
    last = trail.last or {}
    lines = [f"steps:     {last['why']}"] if last.get("why") and last.get("users") is None else []
    for known, words in zip(_sections(last.get("estimates")), trail.search.get("targets", []), strict=False):
        value, low = _float(known.get("value")), _float(known.get("low"))
        if known.get("target") != "knee" and low is not None:
            told = (
                "none within reach"
                if value is None
                else estimate_words("", value, low, _float(known.get("high")), str(known.get("unit", "")))
            )
            lines.append(f"target:    {words}: {told.strip()}")
    return lines


def _sections(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any) -> str:
    found = _float(value)
    return "?" if found is None else f"{found:.0f}"
