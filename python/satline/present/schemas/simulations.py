"""Documents of `satline simulate`, `trace` and `swapper`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.present.schemas.shared import About, Named
from satline.simulation import Estimate
from satline.swapper import Replayed as SwapperRun
from satline.traces import ReplayedPolicy


@dataclass(frozen=True, kw_only=True)
class MeasureTold(Estimate):
    """A measure at a point.

    settled
        It had reached its steady state.
    """

    settled: bool


@dataclass(frozen=True, kw_only=True)
class DifferenceTold(Estimate):
    """A difference from the first value of what varies.

    relative
        By the value there.
    variance_reduction
        By what part common random numbers lessen the variance.
    """

    relative: float | None
    variance_reduction: float | None


@dataclass(frozen=True)
class Unreached:
    """A goal that a point did not reach."""

    point: int
    goal: str


@dataclass(frozen=True)
class PointTold:
    """One combination of settings.

    label
        By setting: its value.
    warmup_s, warmup_valid
        What was left out at the beginning, and whether it can be trusted.
    measures
        By name, in its stored unit.
    """

    label: dict[str, str]
    replications: int
    warmup_s: float
    warmup_valid: bool
    measures: dict[str, MeasureTold]


@dataclass(frozen=True)
class Differences:
    """A point against its base."""

    base: dict[str, str]
    label: dict[str, str]
    measures: dict[str, DifferenceTold]


@dataclass(frozen=True)
class Points:
    """Points of a simulation.

    events
        That were simulated.
    unverified
        Figures of the machine that have no source.
    not_modelled
        What machines with several processors leave out of a multiprocessor.
    unreached
        Goals of --until that were not reached.
    """

    machine: str
    workload: str
    events: int
    unverified: list[str]
    not_modelled: list[str]
    unreached: list[Unreached]
    points: list[PointTold]


@dataclass(frozen=True)
class Simulated(Points):
    """A simulation.

    differences
        ``None``: not asked for.
    """

    differences: list[Differences] | None


@dataclass(frozen=True)
class StepTold:
    """A step of a recorded run; its measures by name."""

    users: int
    from_s: float
    window_from_s: float
    to_s: float
    measures: dict[str, float | None]


@dataclass(frozen=True)
class Recorded:
    """One recorded run."""

    recording: Path
    steps: list[StepTold]


@dataclass(frozen=True)
class ComparisonTold:
    """An arm against the first, at one point."""

    arm: str
    label: dict[str, str]
    measure: str
    unit: str
    base: Estimate
    other: Estimate
    relative_change: Estimate


@dataclass(frozen=True, kw_only=True)
class EffectTold(Estimate):
    """The effect of a factor, or of an interaction."""

    factors: list[str]


@dataclass(frozen=True)
class EffectsTold:
    """Effects of factors on a measure at one point.

    relative
        They are relative changes; otherwise differences.
    """

    label: dict[str, str]
    measure: str
    relative: bool
    all_off: Estimate
    all_on: Estimate
    effects: list[EffectTold]


@dataclass(frozen=True)
class PlantedTold:
    """A condition that was planted, and what the diagnosis says.

    expects
        The finding.
    rank
        Its place among those that hold; ``None``: it does not hold.
    """

    expects: str
    named_first: bool
    rank: int | None
    headline: str
    findings: list[str]


@dataclass(frozen=True)
class Study:
    """A simulated study.

    arms
        By name.
    figures
        Files.
    planted
        ``None``: nothing was.
    """

    study: str
    arms: dict[str, Points]
    comparisons: list[ComparisonTold]
    effects: list[EffectsTold]
    figures: list[Path]
    planted: PlantedTold | None


@dataclass(frozen=True)
class ShippedFile(About):
    """A file that comes with Satline."""

    path: Path


@dataclass(frozen=True)
class Shipped:
    """Files that come with Satline."""

    machines: list[ShippedFile]
    workloads: list[ShippedFile]
    studies: list[ShippedFile]
    calibrations: list[ShippedFile]


@dataclass(frozen=True)
class CalibratedLine(Named):
    """A measured figure; errors are parts of it.

    low, high
        95 % interval of the simulated value.
    sure
        Whether it is within the tolerance is beyond chance.
    error_at_start, error_with_fit_seeds
        Before the fit; with the random numbers of the fit.
    impossible, nearest_error
        No value of the constants reaches it, and the nearest that one comes; ``None``: not looked for.
    """

    measure: str
    measured: float
    simulated: float | None
    low: float | None
    high: float | None
    error: float | None
    tolerance: float
    within: bool
    sure: bool
    error_at_start: float | None
    error_with_fit_seeds: float | None
    impossible: bool | None
    nearest_error: float | None


@dataclass(frozen=True)
class CalibratedConstant(Named):
    """A fitted constant.

    keys
        Settings, and the values that they have with it.
    range
        In which it was sought.
    identified
        The measurements tell it.
    resolution
        How finely; ``None``: it is at an end.
    at_end
        -1, 1: it is at the low, the high end of its range.
    """

    keys: dict[str, Any]
    start: float
    fitted: float
    low: float | None
    high: float | None
    range: tuple[float, float]
    identified: bool
    resolution: float | None
    at_end: int


@dataclass(frozen=True)
class Misfit:
    """The sum of squares that the fit makes small."""

    start: float
    fitted: float


@dataclass(frozen=True)
class Calibrated:
    """A machine fitted to measurements.

    within
        How many figures are within their tolerance.
    rounds, settled
        Of the fit, and whether it came to rest.
    points, runs
        That were simulated.
    """

    calibration: str
    machine: str
    workload: str
    within: int
    lines: list[CalibratedLine]
    constants: list[CalibratedConstant]
    misfit: Misfit
    rounds: int
    settled: bool
    points: int
    runs: int


@dataclass(frozen=True)
class TraceSource:
    """A trace of page references.

    trace
        The file that was read.
    version
        Of the compact format.
    source
        The format that it came from.
    joined
        Consecutive references to one page are one.
    totals
        What was read; ``None``: the trace does not say.
    tail
        Where and why reading ended early.
    """

    trace: str
    version: int | None
    source: str
    page_bytes: int | None
    joined: bool | None
    references: int | None
    totals: dict[str, int | None] | None
    command: str | None
    note: str | None
    tail: Any


@dataclass(frozen=True)
class Trace(TraceSource):
    """A trace that was written: its file and size."""

    output: str
    bytes: int


@dataclass(frozen=True)
class TraceRecorded(Trace):
    """A trace that was recorded.

    status
        How the command ended.
    interrupted
        By Ctrl-C.
    """

    status: int | None
    interrupted: bool


@dataclass(frozen=True)
class TraceFormats:
    """All formats."""

    formats: list[About]


@dataclass(frozen=True)
class Policies:
    """All policies."""

    policies: list[About]


@dataclass(frozen=True)
class Replayed:
    """Misses by policy and size.

    pages
        Different pages: the footprint.
    sizes
        Of memory, pages.
    lru_curve
        Misses of LRU at every size from 0; ``None``: not asked for.
    elapsed_s, references_per_s
        How long it took.
    """

    references: int
    pages: int
    seed: int
    sizes: list[int]
    policies: list[ReplayedPolicy]
    lru_curve: list[int] | None
    elapsed_s: float
    references_per_s: float
    source: TraceSource


@dataclass(frozen=True)
class SwapperReplayed:
    """By policy file: what it would have done."""

    policies: dict[str, SwapperRun]
