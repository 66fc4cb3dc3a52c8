"""One recording → verdict, ranked findings, what could not be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from satline.diagnosis._answer import SAME, headline, next_step
from satline.diagnosis._histories import Histories
from satline.diagnosis._known import known, require_two_readings
from satline.diagnosis._lateness import lateness_of, with_and_without
from satline.diagnosis._left import tempered
from satline.diagnosis._periods import context_of_own, period_context
from satline.diagnosis._probes import alarms
from satline.diagnosis._results import Diagnosis, Finding, Saturation, Standing
from satline.diagnosis._searched import by_posterior, fills_what_was_left, in_work, search_of
from satline.diagnosis._standing import assess
from satline.diagnosis._throughput import work_completed
from satline.diagnosis._unseen import implausible, unseen
from satline.diagnosis._use import Courses
from satline.diagnosis._waits import wait_shares
from satline.diagnosis._warnings import LOG_ON_ADVICE, absent_users, conditions, failed_part, warnings
from satline.diagnosis.rules import RULES, Context
from satline.diagnosis.rules._probes import cited
from satline.diagnosis.rules._worth import together, weighed
from satline.diagnosis.saturation import saturation as judge_saturation
from satline.reduction import Curves, Reduction, Source, one_reading, reduce
from satline.windows import measured

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
    with one_reading(recording):
        return _diagnose(recording, curves, load_axis)


def _diagnose(recording: Source, curves: Curves | None, load_axis: str | None) -> Diagnosis:
    if not isinstance(curves, Reduction):
        require_two_readings(recording)
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
    search = search_of(recording.description)
    if search is not None and verdict.load_axis == "users":
        seen = measured(recording, reduction=reduction)
        searched = by_posterior(verdict, seen.windows, *search, full=fills_what_was_left(reduction))
        if searched is not verdict and seen.line_s is not None and work_completed(reduction) is not None:
            searched = in_work(searched, seen.line_s, reduction.curves["work_rate"].unit)
        verdict = searched
    before, reservation = verdict, ""
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
    if verdict is not before:
        reservation = verdict.reasons[0]
    unlisted = unlisted_processors(recording.description)
    reservation = "; but ".join(text for text in (reservation, unlisted) if text)
    context = context_of(recording, reduction, verdict)
    history = context.history
    assert history is not None
    assessment = assess(reduction, history)
    context = replace(context, uses=assessment.uses)
    standing = assessment.standing
    if standing.state == "unknown":
        standing = replace(standing, known=known(recording))
    periods = None
    # Users who keep their throughput are not held back, whatever was busy now and then.
    kept = verdict.outcome == "not-saturated" and verdict.throughput_variable != "problem_state"
    # Where CPU time is all that tells of throughput, full processors and a limit within them bend it alike.
    unsure = verdict.outcome in ("partly-known", "not-saturated") or (
        verdict.throughput_variable in (None, "problem_state") and assessment.limited
    )
    if unsure and not kept:
        periods = period_context(reduction, assessment, verdict, context.limits, history)
    words = vm_words(recording.description)
    judging = periods or context
    found = [judge(judging) for _, judge in RULES]
    if periods is not None:
        own = {rule.component: context_of_own(periods, rule.component) for rule, _ in RULES}
        found = [
            judge(by) if f.state == "cannot-judge" and (by := own[rule.component]) is not None else f
            for (rule, judge), f in zip(RULES, found, strict=True)
        ]
    if periods is None:
        found = weighed([(rule, f) for (rule, _), f in zip(RULES, found, strict=True)], context)
    # After the weighing: what a probe shows is told, and makes no finding hold, nor a stronger one.
    found = [cited(f, judging, assessment.uses) for f in tempered(found, verdict)]
    judged = [rule.in_vm_words(f) if words else f for (rule, _), f in zip(RULES, found, strict=True)]
    if periods is not None:
        judged = [_with_chance(f, standing) for f in judged]
    # Python's sort is stable: rules of equal strength keep the table's order. Remarks come last.
    holding = tuple(
        sorted(
            (f for f in judged if f.state == "holds"),
            key=lambda f: (f.component == "none", -(f.chance or 0.0) if periods else 0.0, -f.strength),
        )
    )
    others = tuple(f for f in judged if f.state != "holds")
    titles = {rule.name: (rule.vm_title if words else "") or rule.title for rule, _ in RULES}
    both = together(context, titles) if periods is None else None
    standing = replace(
        standing, next_step=next_step(verdict, standing, named=any(f.component != "none" for f in holding))
    )
    return Diagnosis(
        recording=str(getattr(recording, "path", "")),
        headline=headline(verdict, holding, standing, reservation, both),
        saturation=verdict,
        findings=holding,
        others=others,
        unseen=unseen(recording.sources, reduction),
        warnings=(*warnings(recording, context, late, absent), *([unlisted] if unlisted else [])),
        conditions=conditions(recording, reduction),
        waits=wait_shares(reduction, recording, history),
        standing=standing,
        together=both,
        implausible=implausible(recording.sources),
        alarms=alarms(Courses(reduction, history)),
    )


def _with_chance(finding: Finding, standing: Standing) -> Finding:
    """A finding of short periods with the chance of the component that it names, by the time that was short;
    it is no stronger than that."""
    if finding.state != "holds" or finding.component == "none":
        return finding
    chances = [one.chance for one in standing.likely if finding.component in SAME.get(one.component, ())]
    chance = max(chances, default=0.0)
    # What no resource shows as short holds by its signs alone.
    chance = chance if chances else min(0.5, 0.7 * finding.strength)
    return replace(finding, chance=chance, strength=min(finding.strength, max(chance, 0.05)))


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


def unlisted_processors(description: Mapping[str, Any]) -> str:
    """That only some of the host's processors were recorded, where that is known; else empty."""
    host = description.get("host", {})
    listed, many = host.get("processors"), host.get("processors_of_host")
    if not listed or not many or listed >= many:
        return ""
    return f"of the host's {many} CPUs {listed} were recorded: what is said of the CPU is of those alone"


def vm_words(description: Mapping[str, Any]) -> bool:
    """Is the system a virtual-machine system, of which to speak in its own terms?"""
    system = description.get("system_under_test", {})
    return bool(system.get("kind") == "simulated" or system.get("vocabulary") == "vm")


def _withdrawn(verdict: Saturation, why: str, advice: str) -> Saturation:
    """No answer in place of this verdict, whatever the curves look like."""
    return Saturation(
        "partly-known",
        verdict.load_axis,
        verdict.range_low,
        verdict.range_high,
        verdict.throughput_variable,
        reasons=(why,),
        advice=(advice,),
    )
