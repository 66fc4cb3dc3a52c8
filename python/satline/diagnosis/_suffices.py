"""For which questions a recording suffices, and what would make it suffice for the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis._answer import chance_words, likeliest
from satline.diagnosis._diagnose import context_of, diagnose
from satline.diagnosis._held import held_back
from satline.diagnosis._histories import Histories
from satline.diagnosis._results import Diagnosis, Estimate, Saturation, Unseen
from satline.diagnosis._words import span_words
from satline.diagnosis.rules import RULES
from satline.diagnosis.rules._rule import NOT_SATURATED, would_need
from satline.errors import InputError
from satline.reduction import LOAD_AXES, Reduction, Source, axis_named, on_axis, reduce, variables

ENOUGH = 50  # observations that a load class should have [Bard]
RESOURCES = 6
SEE = "See what the rules want."


@dataclass(frozen=True)
class AxisRange:
    """The values of a load axis, and the classes they make.

    observations
        Observations that have a load.
    enough
        Classes of at least 50 observations [Bard].
    """

    axis: str
    unit: str
    low: float
    median: float
    high: float
    observations: int
    classes: int
    enough: int


@dataclass(frozen=True)
class Question:
    """A question, whether the recording can answer it, and why or why not.

    advice
        What would make it suffice; empty where it does.
    """

    question: str
    answerable: bool
    why: str
    advice: str = ""


@dataclass(frozen=True)
class Judgeable:
    """Whether a rule can be judged: as `satline diagnose` does, by loads, by short periods or by levels; or
    once the range is known to be saturated.

    judged
        `satline diagnose` judges it on this recording as it is.
    why
        Why it cannot; empty where it can.
    missing
        Variables that it wants and that are not there; it may be judged on the others.
    would_need
        What would bring them.
    """

    rule: str
    title: str
    judgeable: bool
    judged: bool
    why: str
    missing: tuple[str, ...]
    would_need: tuple[str, ...]


@dataclass(frozen=True)
class Suffices:
    """What a recording can be asked.

    load_axis
        The one that `satline diagnose` would take; ``None`` when nothing can be reduced.
    """

    load_axis: str | None
    axes: tuple[AxisRange, ...]
    questions: tuple[Question, ...]
    rules: tuple[Judgeable, ...]


def suffices(recording: Source) -> Suffices:
    """Ask every question of a recording, and say which it can answer."""
    try:
        reduction = reduce(recording)
    except InputError as error:
        none = Question("Where does it saturate?", False, error.message, error.hint)
        return Suffices(None, (), (none,), ())
    diagnosis = diagnose(recording, reduction)
    rules = _rules(recording, reduction, diagnosis)
    return Suffices(
        reduction.load_axis,
        _axes(recording, reduction),
        _questions(recording, reduction, diagnosis, rules),
        rules,
    )


def _axes(recording: Source, usual: Reduction) -> tuple[AxisRange, ...]:
    """Every load axis that has values, that of `satline diagnose` first."""
    axes = (usual.load_axis, *(a for a in LOAD_AXES if a != usual.load_axis))
    # Axes that are no variables of every reduction are read together.
    others = [axis_named(a, variables()).variable for a in axes if on_axis(usual, a) is None]
    more = reduce(recording, usual.load_axis, variables=others) if others else usual
    found = []
    for name in axes:
        told = on_axis(usual, name) or on_axis(more, name)
        if told is None:
            continue
        axis, loads, classes, number = told
        load = loads[np.isfinite(loads) & (number >= 0)]
        if len(load):
            low, median, high = (float(x) for x in np.percentile(load, [0, 50, 100]))
            enough = sum(c.observations >= ENOUGH for c in classes)
            found.append(AxisRange(name, axis.unit, low, median, high, len(load), len(classes), enough))
    return tuple(found)


def _questions(
    recording: Source, reduction: Reduction, diagnosis: Diagnosis, rules: tuple[Judgeable, ...]
) -> tuple[Question, ...]:
    verdict = diagnosis.saturation
    have = {name.partition(":")[0] for name in reduction.curves}
    told = verdict.outcome != "partly-known"
    known = {
        "saturated": "it does",
        "not-saturated": "not in the range seen",
        "nongranular": "the number of users has no meaning here",
    }
    return (
        _fullness(diagnosis),
        Question(
            "Where does it saturate?",
            told,
            known[verdict.outcome] if told else "; ".join(verdict.reasons) or "too few data",
            "" if told else " ".join(verdict.advice),
        ),
        _cause(diagnosis, rules),
        _throughput(reduction, have),
        Question(
            "How long do users wait for a response?",
            "response" in have,
            "transactions are recorded" if "response" in have else "no transactions are recorded",
            "" if "response" in have else "Emulate users (satline study), or import a log of requests.",
        ),
        _waits(recording, reduction, have),
    )


def _fullness(diagnosis: Diagnosis) -> Question:
    """How full each resource was: known from two readings on."""
    text = "How full was everything?"
    standing = diagnosis.standing
    known = [use.resource for use in standing.uses] if standing is not None else []
    if not known or standing is None:
        advice = standing.next_step if standing is not None else ""
        return Question(text, False, "no use of a CPU, a disk or of memory was recorded", advice)
    shown = ", ".join(known[:RESOURCES]) + (
        f" and {len(known) - RESOURCES} more" if len(known) > RESOURCES else ""
    )
    return Question(text, True, f"{shown}; over {span_words(standing.seconds)}")


def _cause(diagnosis: Diagnosis, rules: tuple[Judgeable, ...]) -> Question:
    """What `satline diagnose` says, by a knee, by short periods, or by what had room."""
    text, standing = "What holds it back?", diagnosis.standing
    can = sum(rule.judged for rule in rules)
    count = f"{can} of {len(rules)} rules can be judged"
    named = next((f for f in diagnosis.findings if f.component != "none"), None)
    if named is not None:
        sure = "" if named.chance is None else f", {chance_words(named.chance)}"
        return Question(text, True, f"{named.title}{sure}; {count}")
    if standing is not None and standing.state in ("short", "short at times") and standing.likely:
        return Question(text, True, f"by what was full: {likeliest(standing.likely)}; {count}")
    told = diagnosis.saturation.outcome != "partly-known"
    if told or (standing is not None and standing.state == "room"):
        return Question(text, can > 0, f"nothing that was recorded was short; {count}", "" if can else SEE)
    return Question(text, False, count, SEE)


def _waits(recording: Source, reduction: Reduction, have: set[str]) -> Question:
    """By users' transaction time, else by the waits that were recorded of each user."""
    text = "What do users wait for?"
    shares = sorted(name.removeprefix("share_") for name in have if name.startswith("share_"))
    if shares:
        return Question(text, True, f"parts of their time: {', '.join(shares)}")
    held = held_back(reduction, Histories(recording, reduction))
    words = {"delay": "the CPU", "io": "devices", "page": "pages", "lock": "locks on files"}
    known = [word for kind, word in words.items() if held is not None and kind in held.known]
    if known:
        return Question(text, True, f"each user's own waits are recorded: for {', '.join(known)}")
    return Question(
        text,
        False,
        "no waits of users are recorded",
        "Record users' delays (satline record --delay-accounting as root), or emulate users (satline study).",
    )


def _throughput(reduction: Reduction, have: set[str]) -> Question:
    text = "What is the throughput?"
    if "transaction_rate" in have:
        return Question(text, True, "completed transactions are counted")
    if "problem_state" in have:
        return Question(text, True, "by CPU time in user mode alone; no transactions are recorded")
    return Question(
        text, False, _why(reduction, "problem_state"), "Record CPU times, or import a log of requests."
    )


def _why(reduction: Reduction, variable: str) -> str:
    return reduction.missing.get(variable, "not recorded")


def _rules(recording: Source, reduction: Reduction, diagnosis: Diagnosis) -> tuple[Judgeable, ...]:
    """What `satline diagnose` judges; the other rules as if the topmost class were saturated. Where there are
    no classes, as it judges them."""
    # Where nothing is saturated no rule looks any further: that is no judgement of what it would have needed.
    judged = {
        f.rule
        for f in (*diagnosis.findings, *diagnosis.others)
        if f.state != "cannot-judge" and not f.summary.startswith(NOT_SATURATED)
    }
    said = {f.rule: f for f in (*diagnosis.findings, *diagnosis.others)}
    context = None
    if reduction.classes:
        context = context_of(recording, reduction, _as_saturated(diagnosis.saturation, reduction))
    have = {name.partition(":")[0] for name in reduction.curves}
    found = []
    for rule, judge in RULES:
        now = rule.name in judged
        finding = judge(context) if context is not None else said[rule.name]
        blind = finding.state == "cannot-judge" and not now
        # What a finding misses may also be no variable: a range of loads.
        wanted = dict.fromkeys((*(finding.missing if blind else ()), *rule.needs))
        missing = tuple(n for n in wanted if n in reduction.missing and n not in have and not now)
        needs = dict.fromkeys(_would_need(n, rule.name, reduction, diagnosis.unseen) for n in missing)
        why = finding.summary.partition(" (needs ")[0] if blind else ""
        found.append(Judgeable(rule.name, rule.title, not blind, now, why, missing, tuple(needs)))
    return tuple(found)


def _as_saturated(verdict: Saturation, reduction: Reduction) -> Saturation:
    if verdict.outcome == "saturated":
        return verdict
    top = reduction.classes[-1].midpoint
    return replace(verdict, outcome="saturated", at=Estimate(top, top, top, reduction.load_unit))


def _would_need(name: str, rule: str, reduction: Reduction, unseen: tuple[Unseen, ...]) -> str:
    """What the source says that it would need, where it says it of a signal of this variable."""
    reason = reduction.missing.get(name, "")
    for signal in unseen:
        column = signal.signal.rpartition(".")[2]
        if signal.would_need and rule in signal.rules and column and column in reason:
            return signal.would_need
    return would_need(name, reason)
