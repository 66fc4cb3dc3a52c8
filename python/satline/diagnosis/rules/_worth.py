"""Findings weighed by what their remedies would bring, where a model of the recording tells it.

The signs of a finding say that something is short; which of several is the bottleneck, only the gain of its
remedy tells. See `satline.diagnosis._upgrades`. Without a model (a live host, an import) findings stay as
their signs made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from satline.diagnosis._results import Evidence, Finding, Together
from satline.diagnosis._upgrades import TOGETHER, errors, joint_error, joint_gains
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
    "storage": "half as much again of memory",
    "paging": "half as much again of paging devices",
    "files": "half as much again of devices for files, or files spread over them",
    "admit more": "admission of more users at once",
    "admit fewer": "admission of fewer users at once",
}
LEAST = 0.05
# A finding is named alone only where one of its remedies serves with at least this chance, set on pairs
# 12100-12299 of benches/confusion: of the 11 that were named with a chance from 0.75 to 0.8 ten were right.
# Others are rivals from a small chance on.
SURE, LIKELY = 0.75, 0.05
# Where no finding is sure, one that asks for either of two upgrades is named if it is, and if each of them
# serves with an even chance at least: devices that hold pages and files gain by both.
EITHER, EVEN = ("page_and_io_wait",), 0.5
# What the signs weigh in the order, and what is taken off for each further remedy that a finding asks for: of
# two as likely ones that comes first which says more.
SIGNS, BREADTH = 0.1, 0.05
# Two upgrades are told together where both bring at least so much of work, and the second adds to the first
# at least so much of what the first brings; only together, where both bring at least so many times what they
# bring one by one.
MUCH, ADDS, ONLY = 0.1, 0.5, 2.0
# An upgrade serves that brings so much of what the best one would: who buys it has not bought the wrong
# one. Of 0.6 to 0.9, set on pairs 4000-4299 of benches/confusion.
SERVES = 0.7
DRAWS = 4000
_SEED = 4000


def weighed(judged: Sequence[tuple[Rule, Finding]], context: Context) -> list[Finding]:
    """The findings, each with a strength by the chance that its remedies serve; each upgrade that may be the
    best is asked for by one of those that hold."""
    findings = [finding for _, finding in judged]
    if not context.saturated:
        return findings
    told = context.gains
    if told is None or max(told.values()) < LEAST:
        return findings
    chances = Chances(told, errors(told, context.reduction), TOGETHER)
    holding = {f.rule for f in findings if f.state == "holds" and f.component != "none"}
    missing = {
        NAMED[kind]
        for kind in chances.needed(SURE)
        if not any(kind in REMEDIES.get(name, ()) for name in holding)
    }
    if not any(_sure(chances, told, name) for name in (holding & REMEDIES.keys()) | missing):
        missing |= {
            name
            for name in EITHER
            if _sure(chances, told, name) and all(chances.serve((k,)) >= EVEN for k in REMEDIES[name])
        }
    found = [
        _weighed(_promoted(rule, f) if f.rule in missing - holding else f, told, chances, context)
        if f.rule in REMEDIES
        else f
        for rule, f in judged
    ]
    return _sure_first(found)


def undecided(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, where it is not sure enough that a remedy of the first serves; empty: the first
    stands alone."""
    named = [f for f in findings if f.state == "holds" and f.component != "none"]
    if not named or named[0].chance is None or named[0].chance >= SURE:
        return ()
    kinds = set(REMEDIES[named[0].rule])
    rivals = [
        f
        for f in named[1:]
        if f.chance is not None and f.chance >= LIKELY and not set(REMEDIES[f.rule]) <= kinds
    ]
    return (named[0], *rivals)


def _sure(chances: Chances, told: Mapping[str, float], rule: str) -> bool:
    """Is it sure enough that a remedy of this rule serves?"""
    return _worth(chances, told, rule) >= SURE


def _worth(chances: Chances, told: Mapping[str, float], rule: str) -> float:
    """Chance that a rule's remedies serve, less what their number takes off; at least that of the best one
    alone."""
    kinds = REMEDIES[rule]
    alone = chances.serve((max(kinds, key=lambda k: told[k]),))
    return max(chances.serve(kinds) - BREADTH * (len(kinds) - 1), alone)


def _sure_first(findings: list[Finding]) -> list[Finding]:
    """The findings, none that is not sure as strong as one that is: signs do not put it before."""
    weighed_ones = [f for f in findings if f.state == "holds" and f.gain is not None]
    sure = [f.strength for f in weighed_ones if f.chance is not None and f.chance >= SURE]
    if not sure:
        return findings
    most = max(sure) - 0.01
    return [
        replace(f, strength=min(f.strength, most))
        if f.state == "holds" and f.gain is not None and f.chance is not None and f.chance < SURE
        else f
        for f in findings
    ]


def _promoted(rule: Rule, finding: Finding) -> Finding:
    """A finding that holds because nothing else would bring as much, though its signs are weak."""
    why = "by its signs alone, which are weak, it would not hold"
    why += f": {finding.summary}" if finding.summary else ""
    return rule.finding("holds", why, strength=0.0, evidence=list(finding.evidence))


def _weighed(finding: Finding, told: Mapping[str, float], chances: Chances, context: Context) -> Finding:
    """A finding with the gain of its best remedy."""
    if finding.state != "holds" or finding.component == "none":
        return finding
    best = max(told.values())
    kinds = REMEDIES[finding.rule]
    kind = max(kinds, key=lambda k: told[k])
    gain, error, worth = told[kind], chances.errors[kind], _worth(chances, told, finding.rule)
    # A finding that is not sure is worth no more than the upgrade that it names.
    chance = chances.serve(kinds) if worth >= SURE else chances.serve((kind,))
    worth = worth if worth >= SURE else chance
    fact = Evidence(
        "problem_state",
        "part more",
        context.where((len(context.reduction.classes) - 1,)),
        gain,
        error,
        f"by a queueing model of this recording: {WORDS[kind]}; the best upgrade {best:+.0%}",
        gain >= best / 2,
    )
    strength = (1 - SIGNS) * worth + SIGNS * finding.strength
    text = f"{finding.summary}; {WORDS[kind]} would bring about {gain:+.0%} ± {error:.0%} of work"
    return replace(
        finding,
        strength=strength,
        summary=text,
        evidence=(*finding.evidence, fact),
        gain=(kind, gain, error),
        chance=chance,
        signs=finding.strength,
    )


def together(context: Context, titles: Mapping[str, str]) -> Together | None:
    """The two upgrades that bring most at once, where the second adds much to the first, or neither helps
    without the other; `titles` of the rules by name."""
    told = context.gains if context.saturated and context.basis == "load" else None
    if told is None:
        return None
    both = joint_gains(context.reduction)
    kinds, gain = max(both.items(), key=lambda item: item[1])
    first, second = sorted(kinds, key=lambda kind: -told[kind])
    alone = max(0.0, told[first]), max(0.0, told[second])
    error = joint_error(kinds, gain)
    if gain < MUCH or gain - alone[0] < max(ADDS * alone[0], LEAST):
        return None
    return Together(
        (first, second),
        (WORDS[first], WORDS[second]),
        (titles[NAMED[first]], titles[NAMED[second]]),
        "only together" if gain >= ONLY * sum(alone) else "adds up",
        gain,
        error,
        alone,
    )


class Chances:
    """Chances over the upgrades' gains, with errors that are normal.

    errors
        Standard errors of the gains.
    together
        Correlation of the errors of two upgrades; of others 0. No upgrade is in two of these pairs.
    """

    def __init__(
        self,
        gains: Mapping[str, float],
        errors: Mapping[str, float],
        together: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.errors = dict(errors)
        self._kinds = list(gains)
        mean = np.array([gains[k] for k in self._kinds])
        spread = np.array([errors[k] for k in self._kinds])
        normal = np.random.default_rng(_SEED).standard_normal((DRAWS, len(mean)))
        for (one, other), part in (together or {}).items():
            if one in gains and other in gains:
                i, j = self._kinds.index(one), self._kinds.index(other)
                normal[:, j] = part * normal[:, i] + np.sqrt(1 - part * part) * normal[:, j]
        drawn = mean + spread * normal
        best = drawn.max(axis=1, keepdims=True)
        # Where nothing helps only the best one serves.
        self._serves = drawn >= np.minimum(best, SERVES * best)

    def serve(self, kinds: Sequence[str]) -> float:
        """Chance that one of these upgrades serves."""
        return float(self._serves[:, [k in kinds for k in self._kinds]].any(axis=1).mean())

    def needed(self, chance: float) -> tuple[str, ...]:
        """The likeliest upgrades, so many that one of them serves with at least this chance."""
        order = sorted(self._kinds, key=lambda k: -self.serve((k,)))
        for count in range(1, len(order)):
            if self.serve(order[:count]) >= chance:
                return tuple(order[:count])
        return tuple(order)
