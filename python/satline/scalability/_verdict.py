"""Does throughput stop rising in the range seen, and where: graded by what the laws say for sure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from satline.diagnosis import Estimate
from satline.scalability._results import BrokenLine, Law, Outcome, Usl, Value

FLATTER = 0.5
LEAST_RISE = 1.25
CREEP = 0.15
CLEARLY_BETTER = 2.0


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and why."""

    outcome: Outcome
    headline: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    at: Estimate | None = None


@dataclass(frozen=True)
class Facts:
    """What a verdict is made of.

    marginal
        Slope of the universal scalability law at the greatest load, as a part of that of a user alone.
    rise
        Greatest mean throughput by that at the lightest load.
    gain
        AICc of the broken line less that of the universal scalability law; above 0: the law is better.
    """

    unit: str
    low: float
    high: float
    top_is_last: bool
    rise: float
    falls_off: bool
    better: Law
    usl: Usl
    marginal: Value
    line: BrokenLine | None
    gain: float | None


def few(loads: int, unit: str, low: float, high: float, headline: str) -> Verdict:
    """Of fewer than four loads, or without anything that tells the error."""
    return Verdict(
        "partly-known",
        headline,
        (f"{loads} load{'s' if loads > 1 else ''} cannot show where a curve bends",),
        (
            f"Measure at least 6 loads, better 8, from {max(1.0, low / 4):.3g} to {2 * high:.3g} {unit}, and"
            " some of them twice.",
        ),
    )


def judge(facts: Facts) -> Verdict:
    """The verdict for a table of which the laws have intervals."""
    line, peak, marginal = facts.line, facts.usl.peak, facts.marginal
    more = f"Measure more loads beyond {facts.high:.3g} {facts.unit}, up to about {2 * facts.high:.3g}."
    if facts.rise < LEAST_RISE:
        return _flat(facts)
    by_law = facts.better != "broken-line"
    alike = facts.gain is not None and abs(facts.gain) <= CLEARLY_BETTER
    if alike and facts.usl.peak_in_range and line is not None and _bends(line, facts):
        return _either(facts, line)
    if by_law and facts.usl.peak_in_range:
        return _peak(facts, peak)
    smooth = by_law and facts.gain is not None and facts.gain > CLEARLY_BETTER
    if line is not None and not smooth and _bends(line, facts):
        return _knee(facts, line)
    if (marginal.low or 0.0) > FLATTER and (line is None or by_law or (line.ratio.low or 0.0) > FLATTER):
        return Verdict(
            "not-saturated",
            f"Not saturated up to {facts.high:.3g} {facts.unit}: one more there still brings"
            f" {marginal.value:.0%} [{_percent(marginal)}] of what the first brings.",
            (),
            (more,),
        )
    return _open(facts, more)


def _bends(line: BrokenLine, facts: Facts) -> bool:
    """Does the broken line surely bend inside the range, and hardly rise beyond?"""
    if line.at.high is None or not math.isfinite(line.at.high) or line.ratio.high is None:
        return False
    beyond = line.ratio.value * (facts.high - line.at.value) / line.at.value
    most = line.ratio.high * (facts.high - line.at.value) / line.at.value
    return line.ratio.high < FLATTER and beyond <= CREEP and most <= 2 * CREEP


def _knee(facts: Facts, line: BrokenLine) -> Verdict:
    falls = (line.ratio.high or 0.0) < 0
    # a breakpoint at the lowest load has no lower limit
    at = Estimate(line.at.value, line.at.low or 0.0, line.at.high or math.inf, facts.unit)
    beyond = "falls beyond" if falls else "hardly rises beyond"
    return Verdict(
        "saturated",
        f"Saturates at {at.value:.3g} {facts.unit} [{at.low:.3g}, {at.high:.3g}]: throughput {beyond}.",
        (
            f"beyond the breakpoint one more brings {line.ratio.value:.0%} [{_percent(line.ratio)}] of what"
            " one brings below",
        ),
        (),
        at,
    )


def _peak(facts: Facts, peak: Value) -> Verdict:
    assert peak.low is not None
    assert peak.high is not None
    at = Estimate(peak.value, peak.low, peak.high, facts.unit)
    return Verdict(
        "saturated",
        f"Throughput is greatest at {peak.value:.3g} {facts.unit} [{peak.low:.3g}, {peak.high:.3g}] and falls"
        " beyond.",
        ("the peak of the universal scalability law lies with its interval inside the loads seen",),
        (),
        at,
    )


def _either(facts: Facts, line: BrokenLine) -> Verdict:
    """Bend and peak both lie inside, and the laws fit about as well: the interval holds both."""
    one = _peak(facts, facts.usl.peak) if facts.better == "usl" else _knee(facts, line)
    peak, bend = facts.usl.peak, line.at
    assert one.at is not None
    low, high = min(peak.low or 0.0, bend.low or 0.0), max(peak.high or 0.0, bend.high or 0.0)
    at = Estimate(one.at.value, low, high, facts.unit)
    return Verdict(
        "saturated",
        f"Throughput stops rising at {at.value:.3g} {facts.unit} [{low:.3g}, {high:.3g}].",
        (
            f"a broken line bends at {bend.value:.3g}, the universal scalability law has its peak at"
            f" {peak.value:.3g}, and they fit about as well: the interval holds both",
        ),
        (),
        at,
    )


def _flat(facts: Facts) -> Verdict:
    lighter = f"Measure lighter loads than {facts.low:.3g} {facts.unit}."
    what = "falls" if facts.falls_off else "hardly rises"
    return Verdict(
        "partly-known",
        f"Throughput {what} from the lightest load, {facts.low:.3g} {facts.unit}, on: it is saturated there"
        " already, or this load does not drive it.",
        (f"the greatest throughput is {facts.rise:.2f} times that at the lightest load",),
        (lighter,),
    )


def _open(facts: Facts, more: str) -> Verdict:
    """No place can be named: what is known of it."""
    marginal, line = facts.marginal, facts.line
    share = f"one more brings {marginal.value:.0%} [{_percent(marginal)}] of what the first brings"
    reasons = []
    if (marginal.low or 0.0) > 0:
        headline = (
            f"No peak within the range seen: at {facts.high:.3g} {facts.unit} throughput still rises; {share}"
        )
    elif facts.top_is_last:
        headline = (
            f"No peak within the range seen: throughput is greatest at the heaviest load, {facts.high:.3g}"
            f" {facts.unit}; whether it rises further is not sure: {share}"
        )
    else:
        headline = (
            f"Throughput flattens within the range seen; where it stops rising cannot be told. At"
            f" {facts.high:.3g} {facts.unit} {share}"
        )
    reasons.append(peak_words(facts.usl, facts.unit))
    if line is not None and facts.better == "broken-line":
        span = _ends(line.at)
        reasons.append(f"a broken line bends at {line.at.value:.3g} {facts.unit} {span}")
    elif facts.gain is not None and facts.gain > CLEARLY_BETTER:
        reasons.append("it bends gradually: a broken line fits worse than the law, so no knee is claimed")
    return Verdict("partly-known", headline + ".", tuple(reasons), (more,))


def peak_words(usl: Usl, unit: str) -> str:
    """Where the law has its peak, and whether that is inside the loads seen."""
    peak = usl.peak
    if not math.isfinite(peak.value):
        least = ""
        if peak.low is not None and math.isfinite(peak.low):
            least = f"; if there is one, at {peak.low:.3g} {unit} or more"
        limit = f" and tends to {usl.limit:.4g}" if usl.limit is not None else ""
        return f"the universal scalability law has no peak{limit}{least}"
    if usl.peak_in_range:
        return f"the universal scalability law has its peak at {peak.value:.3g} {unit} {_ends(peak)}"
    return (
        f"the universal scalability law puts the peak at {peak.value:.3g} {unit} {_ends(peak)}, which reaches"
        " beyond the loads seen: extrapolated"
    )


def _ends(value: Value) -> str:
    if value.low is None or value.high is None:
        return "(no interval)"
    if math.isinf(value.high):
        return f"[{value.low:.3g} or more, no upper limit]"
    return f"[{value.low:.3g}, {value.high:.3g}]"


def _percent(value: Value) -> str:
    return f"{value.low or 0.0:.0%}, {value.high or 0.0:.0%}"
