"""The CPU that others left for the load, and the verdict for it and for a whole one.

Capacity is wall time less what a hypervisor stole and what others ran; `left_fraction` of the catalogue is
what remains of it, c. A closed system whose CPU is its bottleneck has the throughput X = min(s N, c m):
multiplied by 1/c, load and throughput of any observation lie on the one line of a whole CPU. So where
c varies, the broken line is fitted through (N/c, X/c), cells of like c being levels of their own, and read
back at the c that there was. Where the CPU does not limit, c does not matter: it lies on the line s N
whatever is made of c. It keeps the c of the others where its own is less, for that is no limit: who computes
without end takes nearly all of an idle CPU, and yields it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._cells import ALIKE, Cell, cells_of
from satline.diagnosis._hinge import Floats, Integers
from satline.diagnosis._results import Estimate, Finding, LeftCpu, Saturation
from satline.diagnosis._series import Series
from satline.reduction import Reduction

# Others that take less than this part are a host's usual noise: nothing is said of it, and below the second
# nothing is made of it.
TAKEN, LEAST = 0.05, 0.02
# The CPU that was left limits where so much of it is used, users wait for it and lose throughput by it.
USED, LOST, WAITED, FILLED = 0.85, 0.85, 0.4, 0.9
UNEVEN = 1.05
# Others that let a light load use so much of what they leave take all that nobody else wants.
EATEN = 0.9
# A load presses where each user has lost so much. What is left at lighter loads is extrapolated, by this part
# at most; what is measured of c is good to the last.
PRESSED, EXTRAPOLATED, MEASURED = 0.7, 0.15, 0.01
# Below this part of the lightest load at which c is known it was not seen, and may be less by the second.
UNSEEN, LESS = 0.9, 0.7
# Loads up to this part of that of saturation tell how long one user's cycle is: those that the slope of the
# broken line rests on, since others need not take there what they take at the lightest.
LIGHT = 0.9
# Strengths that a finding may have at most: where more than these parts were taken, or vary as much.
STRONG, MODERATE = 0.79, 0.59
MUCH, MOST = 0.3, 0.6


@dataclass(frozen=True)
class Shares:
    """A series with the CPU that was left.

    series
        To be judged: as it was, or on the scale of a whole CPU.
    scaled
        Is it on that scale?
    steps
        Load and c of each step at which c is known, loads ascending.
    span
        The loads.
    low, high, top
        Of c over what it limits at the upper third of the loads; top: its mean there.
    light
        What one user's cycle would be on a whole CPU, in parts of what it was at light load: at least, most
        likely, at most; ``None``: not known.
    dropped
        Observations left out because only what others took held them back.
    yields
        Others take all that the load does not want: c is known from the heavy loads only.
    full
        The load fills nearly the whole CPU at the heaviest load, or what was left of it, and lighter ones
        were robbed.
    """

    series: Series
    scaled: bool
    steps: tuple[tuple[float, float], ...]
    span: tuple[float, float]
    low: float
    high: float
    top: float
    light: tuple[float, float, float] | None
    dropped: int = 0
    full: bool = False
    yields: bool = False


def taken_part(reduction: Reduction) -> float:
    """The greatest mean part of the capacity that was not left in any class; 0: unknown, or none."""
    curve = reduction.curves.get("left_fraction")
    if curve is None:
        return 0.0
    return max((1 - point.mean for point in curve.points if point.mean is not None), default=0.0)


def shared(series: Series, reduction: Reduction) -> Shares | None:
    """The series under what others left; ``None`` where they took little, or what they took limited
    nothing."""
    if taken_part(reduction) <= LEAST:
        return None
    left = np.asarray(reduction.observations["left_fraction"], dtype=np.float64)
    if not series.closed:
        return _at_rest(series, reduction, left)
    cells = cells_of(series, reduction, left)
    if not cells:
        return None
    base = max((cell.rate - cell.error) / cell.users for cell in cells)
    limits = [
        cell.used >= USED and cell.waited >= WAITED and cell.rate < LOST * base * cell.users for cell in cells
    ]
    limited = [cell for cell, is_so in zip(cells, limits, strict=True) if is_so]
    loads = sorted({cell.users for cell in cells})
    upper = loads[len(loads) * 2 // 3 :]
    full = any(cell.own >= FILLED and cell.waited >= WAITED for cell in cells if cell.users == loads[-1])
    if not any(cell.users in upper for cell in limited):
        # Something else holds the heaviest loads back, or nothing: what others held back is left out.
        if not limited and not full:
            return None
        number = series.number.copy()
        for cell in limited:
            number[cell.rows] = -1
        gone = sum(len(cell.rows) for cell in limited)
        made, span = replace(series, number=number), (loads[0], loads[-1])
        return Shares(made, False, (), span, 1.0, 1.0, 1.0, None, gone, full)
    usual = _mean(limited)
    # Do others leave idle what a light load does not want? If not, what it would have got is not seen there.
    half = loads[len(loads) // 2]
    yields = _eaten([c for c, is_so in zip(cells, limits, strict=True) if not is_so and c.users <= half])
    known = [is_so or not yields for is_so in limits]
    used = [cell.left if k else max(cell.left, usual) for cell, k in zip(cells, known, strict=True)]
    # Of those who yield only what they leave to a load that presses for it tells what is left to be had.
    deep = [cell for cell in limited if cell.rate < PRESSED * base * cell.users] or limited
    telling = deep if yields else cells
    steps = tuple(
        (n, _mean([cell for cell in telling if cell.users == n]))
        for n in loads
        if any(cell.users == n for cell in telling)
    )
    heavy = [cell for cell in limited if cell.users in upper]
    parts, top = [cell.left for cell in heavy], _mean(heavy)
    low, high = min(parts), max(parts)
    light, span = _light(cells, used, base), (loads[0], loads[-1])
    if min(used) < 1e-3 or (1 - usual <= LEAST and max(used) / min(used) < UNEVEN):
        # Where it limits, all was left; lighter loads may have been robbed all the same.
        return Shares(series, False, (), span, 1.0, 1.0, 1.0, None, full=True) if full else None
    full = full or all(
        cell.used >= FILLED and cell.waited >= WAITED for cell in cells if cell.users == loads[-1]
    )
    if max(used) / min(used) < UNEVEN:
        return Shares(series, False, ((loads[-1], usual),), span, low, high, top, light, full=full)
    made = _scaled(series, left, cells, used, limits)
    return Shares(made, True, steps, span, low, high, top, light, full=full, yields=yields)


def _eaten(light: list[Cell]) -> bool:
    """Do others take what a light load does not want? Only where they take something can it be told."""
    taken = np.array([(1 - cell.left) * cell.seconds for cell in light])
    if not taken.sum() > 0:
        return False
    order = np.argsort([cell.used for cell in light])
    middle = int(np.searchsorted(np.cumsum(taken[order]), taken.sum() / 2))
    return bool(light[order[min(middle, len(order) - 1)]].used >= EATEN)


def _scaled(series: Series, left: Floats, cells: list[Cell], used: list[float], limits: list[bool]) -> Series:
    """The series on the scale of a whole CPU, each cell a level.

    Where the CPU limits, throughput differs between the blocks of a cell as c does. That is no error: it is
    taken out, so that the cell's mean stays and only what c does not explain of its scatter.
    """
    load, rate = series.load.copy(), np.full(len(series.load), np.nan)
    inside = None if series.in_transaction is None else series.in_transaction.copy()
    number = np.full(len(series.number), -1, dtype=np.int64)
    order = np.argsort([cell.users / c for cell, c in zip(cells, used, strict=True)], kind="stable")
    for rank, k in enumerate(order):
        rows = cells[k].rows
        more = _more(series, left, rows) if limits[k] else np.zeros(len(rows))

        def alike(values: Floats, rows: Integers = rows, more: Floats = more, c: float = used[k]) -> Floats:
            good = np.isfinite(values)
            mean = np.average(values[good], weights=series.seconds[rows][good]) if good.any() else np.nan
            return np.asarray((values - mean * more) / c)

        number[rows] = rank
        load[rows] = series.load[rows] / used[k]
        rate[rows] = alike(series.throughput[rows])
        if inside is not None and series.in_transaction is not None:
            inside[rows] = load[rows] - alike(series.load[rows] - series.in_transaction[rows])
    return replace(series, load=load, throughput=rate, in_transaction=inside, number=number)


def _more(series: Series, left: Floats, rows: Integers) -> Floats:
    """By what part more was left in the block of each of these observations than in all of them."""
    _, at = np.unique(series.batches[rows], return_inverse=True)
    seconds = series.seconds[rows]
    each = np.bincount(at, seconds * left[rows]) / np.bincount(at, seconds)
    return np.asarray(each[at] / max(float(np.average(each[at], weights=seconds)), 1e-9) - 1)


def told(verdict: Saturation, shares: Shares) -> Saturation:
    """The verdict read back at what was left, with the load for a whole CPU."""
    words = []
    if shares.dropped:
        words.append(
            f"{shares.dropped} observations left out: others took more or less of the CPU there than at the "
            "other loads that it limits"
        )
    if shares.full and verdict.outcome == "not-saturated":
        # Users keep their throughput of the lightest loads, but those were robbed.
        return replace(
            verdict,
            outcome="partly-known",
            reasons=(
                f"the load fills the CPU, or what was left of it, at {shares.span[1]:g} users, and others "
                "took part of it at lighter loads: what users lose to each other cannot be told from what "
                "they lost to others",
            ),
            advice=(
                f"Record more loads beyond {shares.span[1]:g} users, or while others take less of the CPU.",
            ),
        )
    if not shares.steps:
        return replace(verdict, reasons=(*verdict.reasons, *words)) if words else verdict
    if not shares.scaled:
        part, at, is_seen = shares.steps[-1][1], verdict.at, True
        whole = _times(verdict.at, 1 / part)
    else:
        part, at, is_seen = _read_back(shares, verdict.at)
        whole = verdict.at
    seen = f"others left {shares.low:.0%}" + (
        f" to {shares.high:.0%}" if shares.high - shares.low >= 0.005 else ""
    )
    words.append(f"{seen} of the CPU where the CPU held users back")
    whole = _whole(None if whole is None else _doubted(whole, MEASURED, MEASURED), shares.light)
    left = LeftCpu(part, min(part, shares.low), max(part, shares.high), whole, is_seen)
    if not shares.scaled:
        return replace(
            verdict,
            reasons=(*verdict.reasons, *words),
            left=left if verdict.at is not None else None,
        )
    scaled = tuple(f"on the scale of a whole CPU {reason}" for reason in verdict.reasons)
    return replace(
        verdict,
        range_low=shares.span[0],
        range_high=shares.span[1],
        at=at,
        throughput_at=_times(verdict.throughput_at, part),
        peak=_times(verdict.peak, part),
        bend=_times(verdict.bend, part),
        carries=None if verdict.carries is None else verdict.carries * part,
        usl=None,
        reasons=(*scaled, *words),
        left=left if verdict.at is not None else None,
    )


def place_words(verdict: Saturation, units: str) -> str:
    """The load of saturation as a headline says it; of a whole CPU where what was left there was not seen."""
    at, left = verdict.at, verdict.left
    if at is None:
        return ""
    if left is not None and left.whole is not None and not left.seen:
        whole = left.whole
        return (
            f"{whole.value:.1f} {units} [{whole.low:.1f}, {whole.high:.1f}] on a whole CPU; on what others "
            f"left of it at {at.low:.2g} to {at.high:.2g}, for how much that was is known of heavier loads "
            f"only ({left.part:.0%})"
        )
    return f"{at.value:.1f} {units} [{at.low:.1f}, {at.high:.1f}]{_left_words(verdict)}"


def _left_words(verdict: Saturation) -> str:
    """What a headline adds to the load of saturation: of what CPU it is, and what a whole one would carry;
    empty where others took little."""
    left = verdict.left
    if left is None or (1 - left.part <= TAKEN and not left.uneven):
        return ""
    text = f" on the {left.part:.0%} of the CPU that was left"
    if left.uneven:
        text = f" on the {left.part:.0%} ({left.low:.0%} to {left.high:.0%}) of the CPU that was left"
    if left.whole is not None:
        whole = left.whole
        text += f"; about {whole.value:.2g} [{whole.low:.2g}, {whole.high:.2g}] on a whole one"
    if 1 - left.part > MOST and left.uneven:
        text += "; others took so much, and so unevenly, that this is about them as much as about the load"
    return text


def tempered(findings: list[Finding], verdict: Saturation) -> list[Finding]:
    """Findings no stronger than what others left allows; their order stays."""
    left = verdict.left
    if left is None:
        return findings
    taken, range_of = 1 - left.part, (left.high - left.low) / max(left.part, 1e-9)
    most = MODERATE if taken > MOST else STRONG if taken > MUCH or left.uneven else 1.0
    most = MODERATE if range_of > 1 else most
    strongest = max((f.strength for f in findings if f.component != "none"), default=0.0)
    if strongest <= most:
        return findings
    return [replace(f, strength=f.strength * most / strongest) for f in findings]


def _mean(cells: list[Cell]) -> float:
    seconds = sum(cell.seconds for cell in cells)
    return sum(cell.left * cell.seconds for cell in cells) / max(seconds, 1e-9)


def _light(cells: list[Cell], used: list[float], base: float) -> tuple[float, float, float] | None:
    """One user's cycle on a whole CPU by that at light load, least, likely and greatest."""
    place = np.array([cell.users / c for cell, c in zip(cells, used, strict=True)])
    full = max(cell.rate / c for cell, c in zip(cells, used, strict=True)) / base
    light = [c for c, x in zip(cells, place, strict=True) if x <= max(LIGHT * full, place.min())]
    known = [(cell, cell.robbed) for cell in light if cell.robbed is not None]
    if not known:
        return None
    weight = np.array([cell.users * cell.seconds for cell, _ in known])
    least, likely, most = np.average([robbed for _, robbed in known], axis=0, weights=weight)
    return 1 - float(most), 1 - float(likely), 1 - float(least)


def _whole(at: Estimate | None, light: tuple[float, float, float] | None) -> Estimate | None:
    """The load of saturation on a whole CPU, where one user's response is shorter too.

    N* = m / s, s = 1 / (Z + R0). What others took may have stretched R0, or not, if they yield to one who
    comes seldom; its wait for a processor tells.
    """
    if at is None or light is None:
        return at
    least, likely, most = (max(part, 0.05) for part in light)
    made = replace(at, value=at.value * likely, low=at.low * likely, high=at.high * likely)
    return _doubted(made, likely / least - 1, most / likely - 1)


def _doubted(estimate: Estimate, less: float, more: float) -> Estimate:
    """The estimate with an interval for a factor too that may be less or more by these parts: two errors that
    have nothing to do with each other."""
    if not estimate.low > 0:
        return replace(estimate, high=estimate.high * (1 + more))
    low = np.hypot(np.log(estimate.value / estimate.low), np.log1p(less))
    high = np.hypot(np.log(estimate.high / estimate.value), np.log1p(more))
    return replace(
        estimate, low=float(estimate.value * np.exp(-low)), high=float(estimate.value * np.exp(high))
    )


def _read_back(shares: Shares, whole: Estimate | None) -> tuple[float, Estimate | None, bool]:
    """c at the load of saturation, that load, and whether c was seen there: from the load on a whole CPU.

    Where c varies with load, the ends of the interval meet what was left at other loads. Where only heavier
    loads tell what was left, because others take whatever a lighter one does not want, it may have been all.
    """
    if whole is None:
        return _part_at(shares, None)[0], None, True
    parts = [_part_at(shares, value) for value in (whole.low, whole.value, whole.high)]
    (low, _), (part, doubt), (high, _) = parts
    doubt = float(np.hypot(doubt, MEASURED))
    ends = [whole.low * low, whole.value * part, whole.high * high]
    made = replace(whole, value=whole.value * part, low=min(ends), high=max(ends))
    made = _doubted(made, doubt, doubt)
    ends = [made.low, made.high]
    is_seen = not shares.yields or whole.value * part >= UNSEEN * shares.steps[0][0]
    if not is_seen:
        ends = [min(ends[0], whole.low * LESS * part), max(ends[1], whole.high)]
    return part, replace(whole, value=whole.value * part, low=ends[0], high=ends[1]), is_seen


def _part_at(shares: Shares, whole: float | None) -> tuple[float, float]:
    """c where N/c passes the load of saturation on a whole CPU for the last time, since all heavier loads
    saturate what was left; and by what part it may be wrong: half of its change from step to step there, and
    what is extrapolated."""
    n, c = (np.array(values) for values in zip(*shares.steps, strict=True))
    spread = (shares.high - shares.low) / 2 / max(shares.top, 1e-9)
    if whole is None:
        return shares.top, spread
    fine = np.linspace(shares.span[0], shares.span[1], 1000)
    course = np.interp(fine, n, c)
    if (
        len(n) > 1 and n[0] > shares.span[0]
    ):  # below the first load at which c is known it goes on as it began
        slope = float(np.polyfit(n[:4], c[:4], 1)[0])
        reach = EXTRAPOLATED * c[0]
        begun = c[0] + np.clip(slope * (fine - n[0]), -reach, reach)
        course = np.where(fine < n[0], np.minimum(begun, 1.0), course)
    below = np.flatnonzero(fine < whole * course)
    if not len(below) or below[-1] + 1 == len(fine):
        return shares.top, spread
    at = int(below[-1])
    part = float(course[at])
    k = int(np.searchsorted(n, fine[at]))
    change = abs(c[min(k, len(n) - 1)] - c[max(k - 1, 0)]) / 2 if k else abs(part - c[0])
    if shares.yields:  # what those left who yield is told by the heavy loads, and at other times
        range_of = float(c.max() - c.min())
        change = max(change, range_of / 2)
        if fine[at] < n[0] and range_of > (UNEVEN - 1) * part:
            change += EXTRAPOLATED * part
    return part, float(change) / part


def _at_rest(series: Series, reduction: Reduction, left: Floats) -> Shares | None:
    """A recording at rest: only observations of like conditions, where what was left was used up."""
    used = np.asarray(reduction.observations["busy_of_left"], dtype=np.float64)
    usable: NDArray[np.bool_] = np.asarray(series.usable & np.isfinite(left) & np.isfinite(used))
    full = usable & (used >= USED)
    if full.sum() < 2:
        return None
    usual = float(np.median(left[full]))
    unlike = full & ((left > ALIKE * usual) | (left < usual / ALIKE))
    low, high = (float(q) for q in np.quantile(left[full & ~unlike], (0.05, 0.95)))
    number = np.where(unlike, -1, series.number)
    steps: tuple[tuple[float, float], ...] = ()
    if 1 - usual > TAKEN:
        steps = ((float(series.load.min()), usual), (float(series.load.max()), usual))
    return Shares(
        replace(series, number=number), False, steps, (0.0, 0.0), low, high, usual, None, int(unlike.sum())
    )


def _times(estimate: Estimate | None, factor: float) -> Estimate | None:
    """The estimate by a factor."""
    if estimate is None:
        return None
    return replace(
        estimate, value=estimate.value * factor, low=estimate.low * factor, high=estimate.high * factor
    )
