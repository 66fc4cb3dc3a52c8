"""Documents of `satline study` and `satline experiment`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from satline.experiment.adaptive import Trail
from satline.experiment.designed import Figures, Look
from satline.experiment.variance import Check, Contrast, Lenth, LevelMean, Row, YatesRow
from satline.present.schemas.analyses import Diagnosed, PeakInWords
from satline.present.schemas.shared import Named


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Diagnosed):
    """The document of `satline diagnose`."""

    format: int
    kind: Literal["diagnose"]


@dataclass(frozen=True)
class Studied:
    """A study of a system.

    recording, report
        Its path; ``None``: there is none.
    windows
        Windows that were measured.
    search
        Of a study with adaptive steps: its limits, targets and decisions.
    left_behind
        What could not be undone.
    peak, diagnosis
        ``None`` where it ended before there was anything to judge.
    """

    recording: Path | None
    report: Path | None
    interrupted: bool
    windows: int
    search: dict[str, Any] | None
    left_behind: list[str]
    peak: PeakInWords | None
    diagnosis: Diagnosis | None


@dataclass(frozen=True)
class Explained(Trail):
    """Why each step of a study was run."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a plan.

    run
        From 1, in the order in which they are to be run.
    block
        From 1; ``None`` where there are no blocks.
    levels
        By factor.
    """

    run: int
    block: int | None
    replicate: int
    levels: Mapping[str, str]


@dataclass(frozen=True)
class Alias:
    """An effect, and the effects that it cannot be told from."""

    effect: str
    same: list[str]


@dataclass(frozen=True)
class FractionTold:
    """A fraction of a two-level design.

    part
        Of all combinations.
    defining
        Its defining words.
    """

    part: float
    resolution: int
    defining: list[str]
    aliases: list[Alias]


@dataclass(frozen=True)
class Plan:
    """Runs in their order.

    factors
        Levels by factor.
    seed
        The order comes of it alone.
    fraction
        ``None``: every combination is run.
    confounded
        Interactions that cannot be told from differences between blocks.
    not_run
        Combinations left out because they cannot be run.
    """

    factors: dict[str, list[str]]
    seed: int
    replicates: int
    blocks: int
    fraction: FractionTold | None
    confounded: list[str]
    not_run: list[dict[str, str]]
    runs: list[PlannedRun]


@dataclass(frozen=True, kw_only=True)
class VarianceRow(Row):
    """A row of the table of variance.

    mean_square
        Sum of squares by degree of freedom; ``None``: it has none.
    """

    mean_square: float | None = field()


@dataclass(frozen=True, kw_only=True)
class YatesTold(YatesRow):
    """A row of Yates's table, its factors by their names."""

    factors: tuple[str, ...]  # type: ignore[assignment]


@dataclass(frozen=True)
class Anova:
    """The analysis of a designed experiment; effects and means of logarithms are logarithms, as `log` says.

    class
        Of which class it is; ``None``: of all rows.
    factors
        Levels by factor.
    type
        Type of the sums of squares.
    level, adjust
        Significance level, and how it is corrected for several tests.
    pooled_from
        Interactions of this order and above are the error.
    smallest_difference_seen
        Difference between two levels that the experiment would see.
    aliases
        Effects that cannot be told apart.
    """

    class_name: Annotated[str | None, Field(alias="class")]
    factors: dict[str, list[str]]
    runs: int
    type: str
    level: float
    adjust: str
    log: bool
    pooled_from: int | None
    variance: list[VarianceRow]
    error_parts: list[VarianceRow]
    effects: list[Contrast]
    means: list[LevelMean]
    yates: list[YatesTold]
    lenth: Lenth | None
    checks: list[Check]
    smallest_difference_seen: float | None
    aliases: list[Alias]
    notes: list[str]


@dataclass(frozen=True)
class AnovaBy:
    """An analysis for each class."""

    classes: list[Anova]


@dataclass(frozen=True)
class RunTold(PlannedRun):
    """A run and its figures.

    flags
        Why it may not be like the others.
    recording
        Its name.
    classes
        Figures by class of commands.
    """

    flags: list[str]
    seed: int | None
    recording: str
    classes: dict[str, Figures]


@dataclass(frozen=True)
class Part:
    """The analysis of one measure of one class of commands.

    held_against
        What the error is taken from; ``None``: nothing was analysed.
    why_not
        Why not.
    """

    class_name: Annotated[str, Field(alias="class")]
    measure: str
    held_against: str | None
    why_not: str | None
    runs_left_out: int
    analysis: Anova | None


@dataclass(frozen=True, kw_only=True)
class Sequential(Look):
    """What the replicates beyond the plan decided.

    level
        Chance that any of it errs.
    """

    level: float


@dataclass(frozen=True)
class Designed:
    """A designed study.

    factors
        Levels by factor.
    answers
        In sentences.
    classes
        Of commands; all together first.
    missing
        Runs and combinations without a result.
    flagged
        By run: its flags.
    sensitivity
        What would be different without the flagged runs.
    failed
        By run: why it failed; this and the next four are null of a simulated study.
    late
        Runs that are in the analysis though the emulator was late every time.
    repeated
        Runs that were repeated.
    left_behind
        What could not be undone.
    sequential
        ``None``: the design has no replicates beyond its plan.
    report, results
        The files.
    """

    title: str
    factors: dict[str, list[str]]
    runs_planned: int
    answers: list[str]
    runs: list[RunTold]
    analyses: list[Part]
    classes: list[str]
    missing: list[str]
    flagged: dict[str, list[str]]
    flagged_left_out: bool
    sensitivity: list[str]
    failed: dict[str, str] | None
    late: list[int] | None
    repeated: int | None
    left_behind: list[str] | None
    sequential: Sequential | None
    report: Path
    results: Path


@dataclass(frozen=True)
class Interrupted:
    """How far an interrupted design has come; the same command goes on."""

    interrupted: bool
    runs_done: int
    runs_planned: int


@dataclass(frozen=True)
class StudyFile(Named):
    """A study.

    users
        Of its steps.
    adaptive
        Steps are chosen as it runs.
    most_users
        Of any step, on this host.
    runs
        More than one of a design.
    seconds
        It takes at most about so long.
    """

    title: str
    question: str
    users: list[int]
    adaptive: bool
    most_users: int
    runs: int
    seconds: float
    path: Path


@dataclass(frozen=True)
class Studies:
    """All studies."""

    studies: list[StudyFile]


@dataclass(frozen=True)
class Cleaned:
    """What was left by killed studies.

    undone, running
        Runs that were undone; that still run, and were left alone.
    left_behind
        What could not be undone.
    """

    undone: list[str]
    left_behind: list[str]
    running: list[str]


@dataclass(frozen=True)
class Asked:
    """What is to be seen, and the answer.

    difference, sd
        Between two levels; of runs, or of observations.
    level, power
        Significance level; chance to see the difference that is asked for.
    cells
        Combinations of the design.
    words
        The answer in sentences.
    """

    difference: float
    sd: float
    level: float
    power: float
    cells: int
    replicates: int
    runs: int
    words: str


@dataclass(frozen=True)
class Power(Asked):
    """Replicates.

    error_freedom
        Degrees of freedom of the error.
    power_reached
        Chance to see the difference.
    """

    error_freedom: int
    power_reached: float


@dataclass(frozen=True)
class PowerWindow(Asked):
    """Length of each run.

    observations, effective_observations
        In each run, and how many independent ones they are worth.
    window_s
        How long they take.
    run_sd
        By which runs then differ.
    """

    autocorrelation: float
    observations: int
    effective_observations: float
    window_s: float
    run_sd: float
