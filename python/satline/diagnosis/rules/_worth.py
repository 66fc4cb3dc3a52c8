"""Findings weighed by what their remedies would bring, where a model of the recording tells it.

The signs of a finding say that something is short; which of several is the bottleneck, only the gain of its
remedy tells. See `satline.diagnosis._upgrades`. Without a model (a live host, an import) findings stay as
their signs made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis._upgrades import STEP, gains, sure_part
from satline.diagnosis.rules import cpu_bound, paging_overhead
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule

# Rule → the upgrades that its remedies ask for; the first is the one it is named after.
REMEDIES: Mapping[str, tuple[str, ...]] = {
    "cpu_bound": ("processor",),
    "paging_overhead": ("admit fewer", "storage"),
    "thrashing": ("admit fewer", "storage"),
    "main_storage_bound": ("storage",),
    "working_sets_overestimated": ("admit more",),
    "drum_overflow": ("paging",),
    "paging_bound": ("paging", "storage"),
    "io_bound": ("files",),
    "arm_contention": ("files", "admit fewer"),
    "page_and_io_wait": ("paging", "files"),
}
# The rule to name where an upgrade would bring most, and no rule's signs ask for it.
NAMED: Mapping[str, str] = {
    "processor": "cpu_bound",
    "storage": "main_storage_bound",
    "paging": "paging_bound",
    "files": "io_bound",
    "admit more": "working_sets_overestimated",
    "admit fewer": "thrashing",
}
WORDS: Mapping[str, str] = {
    "processor": "half as much again of processor speed",
    "storage": "half as much again of main storage",
    "paging": "half as much again of paging devices",
    "files": "half as much again of devices for files, or files spread over them",
    "admit more": "admission of more users at once",
    "admit fewer": "admission of fewer users at once",
}
LEAST = 0.05
# Gains that differ by less than a tenth, or by so little, are taken for the same: the model is no better.
# TIE_PART was set on the planted condition `main-storage`.
TIE, TIE_PART = 0.9, 0.03
OWN = 0.1


def weighed(judged: Sequence[tuple[Rule, Finding]], context: Context) -> list[Finding]:
    """The findings, each with a strength by its remedies' gain; the best remedy's rule is among those that
    hold, and so are those of remedies that would bring nearly as much."""
    findings = [finding for _, finding in judged]
    if not context.saturated:
        return findings
    told = worth(context)
    if told is None or max(told.values()) < LEAST:
        return findings
    sure = sure_part(context.reduction)
    best = max(told, key=lambda kind: told[kind])
    wanted = [kind for kind in told if _alike(told[kind], told[best] * sure.get(best, 1.0))]
    holding = {f.rule for f in findings if f.state == "holds" and f.component != "none"}
    missing = {NAMED[kind] for kind in wanted if not any(kind in REMEDIES.get(n, ()) for n in holding)}
    return [
        _weighed(_promoted(rule, f) if f.rule in missing else f, told, sure, context)
        if f.rule in REMEDIES
        else f
        for rule, f in judged
    ]


def worth(context: Context) -> Mapping[str, float] | None:
    """Gains of the upgrades; full processors' at least what the utilization law gives them."""
    found = gains(context.reduction)
    if found is None:
        return None
    told = dict(found)
    if context.filled_by_users and not paging_overhead.fills_processors(context):
        # The model takes paging devices for slower under load than they are: they move several pages at once.
        # Where the processors are full at saturation, yet not at the heaviest load, model and law disagree:
        # then processors are told to bring as much as the best, so that nothing is decided.
        total = context.mean("total_cpu_fraction", (len(context.reduction.classes) - 1,))
        full = total is not None and total.value >= cpu_bound.FULL
        told["processor"] = max(told["processor"], STEP - 1 if full else max(told.values()))
    return told


def _alike(gain: float, best: float) -> bool:
    return gain >= min(TIE * best, best - TIE_PART)


def undecided(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, where their remedies would bring so nearly the same that which of them is the
    bottleneck cannot be decided; empty: the first stands alone, or the next ask for the same remedy."""
    named = [f for f in findings if f.state == "holds" and f.component != "none"]
    if not named or named[0].gain is None:
        return ()
    kind, _, least = named[0].gain
    rivals = [f for f in named[1:] if f.gain is not None and f.gain[0] != kind and _alike(f.gain[1], least)]
    return (named[0], *rivals) if rivals else ()


def _promoted(rule: Rule, finding: Finding) -> Finding:
    """A finding that holds because nothing else would bring as much, though its signs are weak."""
    why = f"its signs are weak ({finding.summary})" if finding.summary else "its signs are weak"
    return rule.finding("holds", why, strength=0.0, evidence=list(finding.evidence))


def _weighed(
    finding: Finding, told: Mapping[str, float], sure: Mapping[str, float], context: Context
) -> Finding:
    """A finding with the gain of its best remedy."""
    if finding.state != "holds" or finding.component == "none":
        return finding
    best = max(told.values())
    kind = max(REMEDIES[finding.rule], key=lambda k: told[k])
    gain = told[kind]
    fact = Evidence(
        "problem_state",
        "part more",
        context.where((len(context.reduction.classes) - 1,)),
        gain,
        None,
        f"by a queueing model of this recording: {WORDS[kind]}; the best upgrade {best:+.0%}",
        gain >= best / 2,
    )
    # Of remedies that bring the same, the one with the stronger signs comes first.
    part = 1.0 if _alike(gain, best) else max(0.0, gain) / best
    strength = (1 - OWN) * part + OWN * finding.strength
    least = gain * sure.get(kind, 1.0) if gain > 0 else gain
    much = f"about {gain:+.0%}" if least == gain else f"between {least:+.0%} and {gain:+.0%}"
    text = f"{finding.summary}; {WORDS[kind]} would bring {much} of work"
    return replace(
        finding, strength=strength, summary=text, evidence=(*finding.evidence, fact), gain=(kind, gain, least)
    )
