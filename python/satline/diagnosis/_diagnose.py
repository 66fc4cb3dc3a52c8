"""One recording → verdict, ranked findings, what could not be seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satline.diagnosis._absent import LOG_ON_ADVICE, absent_users
from satline.diagnosis._histories import Histories
from satline.diagnosis._lateness import lateness_of, with_and_without
from satline.diagnosis._left import left_words, tempered
from satline.diagnosis._load import load_units
from satline.diagnosis._results import Diagnosis, Finding, Saturation
from satline.diagnosis._unseen import unseen
from satline.diagnosis._waits import wait_shares
from satline.diagnosis._warnings import conditions, failed_part, warnings
from satline.diagnosis.rules import RULES, Context
from satline.diagnosis.rules._worth import undecided, weighed
from satline.diagnosis.saturation import saturation as judge_saturation
from satline.reduction import Curves, Reduction, Source, reduce

MANY_FAILED = 0.2


def diagnose(recording: Source, curves: Curves | None = None, *, load_axis: str | None = None) -> Diagnosis:
    """Diagnose a recording.

    Parameters
    ----------
    curves
        What `satline.reduction.reduce` gave for this recording, to save reducing it again.
    load_axis
        As for `satline.reduction.reduce`; not used when `curves` are given.

    Raises
    ------
    InputError
        The recording holds no two samples, or has no such load axis.
    """
    reduction = (
        curves
        if isinstance(curves, Reduction)
        else reduce(
            recording,
            load_axis or (curves.load_axis if curves else None),
            curves.observation_s if curves else None,
        )
    )
    late = lateness_of(recording)
    in_time, done = late.applied(reduction) if late is not None else (reduction, ())
    verdict = judge_saturation(in_time)
    if done:
        verdict = with_and_without(verdict, judge_saturation(reduction), done)
    failures = failed_part(reduction)
    if failures > MANY_FAILED and verdict.outcome == "not-saturated":
        verdict = _withdrawn(
            verdict,
            f"{failures:.0%} of the transactions failed: what is left of the load says little",
            "See why they failed (time-outs, dead sessions), mend it, and run it again.",
        )
    absent = absent_users(recording)
    if absent is not None and verdict.outcome == "not-saturated":
        verdict = _withdrawn(verdict, absent, LOG_ON_ADVICE)
    context = context_of(recording, reduction, verdict)
    words = vm_words(recording.description)
    found = tempered(weighed([(rule, judge(context)) for rule, judge in RULES], context), verdict)
    judged = [rule.in_vm_words(f) if words else f for (rule, _), f in zip(RULES, found, strict=True)]
    # Python's sort is stable: rules of equal strength keep the table's order. Remarks come last.
    holding = tuple(
        sorted((f for f in judged if f.state == "holds"), key=lambda f: (f.component == "none", -f.strength))
    )
    others = tuple(f for f in judged if f.state != "holds")
    return Diagnosis(
        recording=str(getattr(recording, "path", "")),
        headline=headline(verdict, holding),
        saturation=verdict,
        findings=holding,
        others=others,
        unseen=unseen(recording.sources, reduction),
        warnings=warnings(recording, context, late, absent),
        conditions=conditions(recording, reduction),
        waits=wait_shares(reduction, recording),
    )


def context_of(recording: Source, reduction: Reduction, verdict: Saturation) -> Context:
    """What the rules judge in."""
    system = recording.description.get("system_under_test", {})
    limits, not_set = system.get("limits", {}), system.get("not_set", {})
    return Context(
        reduction,
        verdict,
        {k: float(v) for k, v in limits.items() if isinstance(v, (int, float)) and k not in not_set},
        Histories(recording, reduction),
    )


def vm_words(description: Mapping[str, Any]) -> bool:
    """Is the system a virtual-machine system, of which to speak in its own terms?"""
    system = description.get("system_under_test", {})
    return bool(system.get("kind") == "simulated" or system.get("vocabulary") == "vm")


def headline(verdict: Saturation, holding: tuple[Finding, ...]) -> str:
    """The answer in one sentence."""
    named = [f for f in holding if f.component != "none"]
    if verdict.outcome == "saturated" and verdict.at is not None:
        at = verdict.at
        units = load_units(verdict.load_axis)[1]
        start = f"Saturates at {at.value:.1f} {units} [{at.low:.1f}, {at.high:.1f}]{left_words(verdict)}"
        if not named:
            return f"{start}; what holds it back cannot be told from this recording"
        alike = undecided(named)
        if alike:
            titles = " or ".join(dict.fromkeys(f.title for f in alike))
            return f"{start}; which of these holds it back most cannot be told: {titles}"
        first = f"{start}: {named[0].title} ({named[0].summary})"
        rivals = [f.title for f in named[1:] if f.strength >= 0.75 * named[0].strength]
        return first + (f"; also {' and '.join(rivals)}" if rivals else "")
    if verdict.outcome == "not-saturated":
        units = load_units(verdict.load_axis)[1]
        return f"Not saturated in the range seen, up to {verdict.range_high:.4g} {units}"
    if verdict.outcome == "nongranular":
        start = "One or a few batch users are the load: saturation by the number of users has no meaning here"
        return start + (f"; what limits it: {named[0].title} ({named[0].summary})" if named else "")
    reason = verdict.reasons[0] if verdict.reasons else "too few data"
    return f"Whether it saturates cannot be told: {reason}"


def _withdrawn(verdict: Saturation, why: str, advice: str) -> Saturation:
    """No answer in place of this verdict, whatever the curves look like."""
    return Saturation(
        "cannot-tell",
        verdict.load_axis,
        verdict.range_low,
        verdict.range_high,
        verdict.throughput_variable,
        reasons=(why,),
        advice=(advice,),
    )
