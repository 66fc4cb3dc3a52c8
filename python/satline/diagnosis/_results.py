"""What a diagnosis yields: a saturation verdict, ranked findings, and what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["not-saturated", "saturated", "cannot-tell", "nongranular"]
State = Literal["holds", "does-not-hold", "cannot-judge"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, in `unit`."""

    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Saturation:
    """Is it saturated, and at what load [Bard].

    outcome
        not-saturated: in the range seen; saturated: at `at`; cannot-tell: see `reasons` and `advice`;
        nongranular: a few batch users are the load.
    at
        Saturation load in users with its interval; only when saturated.
    throughput_variable
        The variable judged (completed transactions per second where there are any, else problem-state
        processors).
    throughput_at
        Throughput at saturation.
    slope_before, slope_after
        Throughput per user below and above the breakpoint.
    range_low, range_high
        The loads seen.
    """

    outcome: Outcome
    load_axis: str
    range_low: float | None
    range_high: float | None
    throughput_variable: str | None
    at: Estimate | None = None
    throughput_at: Estimate | None = None
    slope_before: Estimate | None = None
    slope_after: Estimate | None = None
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """One observed fact for or against a finding: what was looked at, where, the number, what it was held
    against."""

    variable: str
    unit: str
    load: str
    value: float | None
    error: float | None
    threshold: str
    supports: bool


@dataclass(frozen=True)
class Finding:
    """One rule's judgement.

    strength
        0 … 1; findings are ranked by it. 0 unless the state is holds.
    component
        processor, storage, paging, io, quota, server, none: what the finding names.
    """

    rule: str
    title: str
    component: str
    state: State
    strength: float
    summary: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[str, ...] = ()
    false_readings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unseen:
    """A signal that was not there: what, why, what it would have needed, which rules lost by it."""

    signal: str
    reason: str
    would_need: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """The whole answer for one recording.

    headline
        One sentence: the verdict and, where one is named, the bottleneck.
    findings
        Those that hold, strongest first.
    others
        Rules that do not hold or could not be judged, with why.
    warnings
        What weakens the answer: damaged tail, lost samples, late emulator, drifting conditions.
    """

    recording: str
    headline: str
    saturation: Saturation
    findings: tuple[Finding, ...]
    others: tuple[Finding, ...]
    unseen: tuple[Unseen, ...]
    warnings: tuple[str, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)
