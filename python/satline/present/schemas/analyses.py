"""Documents of `satline diagnose`, `report` and `analyse`, as far as they are more than one result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from satline.diagnosis import Diagnosis, Finding
from satline.diagnosis.capacity import Capacity
from satline.diagnosis.classic import Crossover, VsiMax
from satline.diagnosis.peak import Peak
from satline.prediction import Prediction
from satline.present._sheet import Cell, Row
from satline.present.schemas.shared import Named
from satline.reconcile import Story
from satline.reduction import Curve, LoadClass, Trend
from satline.reduction.planning import Allowance, Demand


@dataclass(frozen=True, kw_only=True)
class Diagnosed(Diagnosis):
    """A diagnosis.

    agreement
        What the other answers say of the recording, and whether they agree; ``None`` for a table.
    """

    agreement: Story | None


@dataclass(frozen=True, kw_only=True)
class PeakInWords(Peak):
    """A peak, also as a sentence."""

    words: str = field()


@dataclass(frozen=True, kw_only=True)
class VsiMaxInWords(VsiMax):
    """VSImax, also as a sentence."""

    words: str = field()


@dataclass(frozen=True, kw_only=True)
class CrossoverInWords(Crossover):
    """AIM's crossover, also as a sentence."""

    words: str = field()


@dataclass(frozen=True, kw_only=True)
class CapacityTold(Capacity):
    """A capacity.

    words
        The answer in sentences.
    peak
        The most interactions per minute; ``None``: fewer than two whole windows.
    vsimax, crossover
        Of other benchmarks, for comparison; ``None``: the recording does not give it.
    agreement
        What the other answers say of the recording; ``None``: it has no readings of the system.
    """

    words: list[str]
    peak: PeakInWords | None
    vsimax: VsiMaxInWords | None
    crossover: CrossoverInWords | None
    agreement: Story | None


@dataclass(frozen=True, kw_only=True)
class Predicted(Prediction):
    """A prediction.

    agreement
        What the other answers say of the recording, and whether they agree.
    """

    agreement: Story


@dataclass(frozen=True, kw_only=True)
class AllowanceTold(Allowance):
    """How much load to admit.

    filters
        Which observations count, in words; empty: all.
    words
        The answer in sentences.
    agreement
        What the other answers say of the recording, and whether they agree.
    """

    filters: str
    words: list[str]
    agreement: Story


@dataclass(frozen=True, kw_only=True)
class DemandTold(Demand):
    """What a load needs.

    filters
        Which observations count, in words; empty: all.
    words
        The answer in sentences.
    """

    filters: str
    words: list[str]


@dataclass(frozen=True, kw_only=True)
class TrendInWords(Trend):
    """A trend, also as words."""

    words: str = field()


@dataclass(frozen=True)
class Reduced:
    """Variables against load.

    filters
        Which observations count, in words; empty: all.
    observation_s
        Length of an observation.
    classes
        Of load; each curve has a point for each of them.
    curves, trends
        By variable.
    missing
        By variable: why it is not there.
    """

    load_axis: str
    load_unit: str
    filters: str
    observation_s: float
    classes: list[LoadClass]
    curves: dict[str, Curve]
    trends: dict[str, TrendInWords]
    missing: dict[str, str]


@dataclass(frozen=True)
class ReportColumn:
    """A variable's numbers.

    values
        One for each group.
    """

    variable: str
    label: str
    statistic: str
    unit: str
    values: list[Cell]


@dataclass(frozen=True)
class MissingColumn:
    """A variable that is not there, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class ReportTable:
    """A report.

    report
        Its name.
    by
        What the groups are: load, time, hour, user, device.
    axis
        The same in plain words.
    selection
        Which observations and which work count, in words; empty: all.
    """

    report: str
    title: str
    by: str
    axis: str
    observation_s: float
    selection: str
    groups: list[Row]
    columns: list[ReportColumn]
    missing: list[MissingColumn]
    notes: list[str]


@dataclass(frozen=True)
class ReportParts:
    """Reports that one definition puts together."""

    reports: list[ReportTable]


@dataclass(frozen=True)
class Series(Named):
    """A series that correlations are looked for in.

    name
        Variable, and user or device behind @.
    """

    scope: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class SeriesList:
    """Every series."""

    series: list[Series]


@dataclass(frozen=True)
class Layer(Named):
    """A user or device, and its part of the whole."""

    share: float


@dataclass(frozen=True)
class LayersTold:
    """Layers of a variable, the largest first."""

    variable: str
    unit: str
    layers: list[Layer]


@dataclass(frozen=True)
class CorrelationHit(Named):
    """A series held against the measure.

    pearson, spearman
        Coefficients at the lag where the series moves with the measure most.
    at_once
        Coefficient without a lag.
    lag_s
        By how much the series comes before the measure.
    pairs, effective
        Observations, and how many independent ones they are worth.
    p, q
        Chance of such a coefficient where there is nothing, for this series and among all of them.
    found
        It is significant.
    members
        Series that it stands for.
    shifts_together
        Both change their level at the same times.
    """

    scope: str
    unit: str
    pearson: float
    spearman: float
    at_once: float
    lag_s: float
    pairs: int
    effective: float
    p: float
    q: float
    found: bool
    members: list[str]
    shifts_together: bool


@dataclass(frozen=True)
class Correlated:
    """What moves with a performance measure.

    pqm
        The measure.
    step_s, lags
        Length of an observation, and the most lags tried.
    given
        What was taken out before.
    rate, control
        The rate of false hits, and of what it is the rate.
    tested
        Series that were held against it.
    constant, sparse, unpaired
        Series left out: they never change, have too few values, or none at the same time.
    related
        Series left out because they are the measure in another form.
    hits
        Every series, the strongest first.
    """

    recording: Path
    pqm: str
    step_s: float
    lags: int
    given: list[str]
    rate: float
    control: str
    tested: int
    constant: int
    sparse: int
    unpaired: int
    related: list[str]
    hits: list[CorrelationHit]


@dataclass(frozen=True)
class RuleShort:
    """A finding there may be.

    rule
        Its name.
    names
        The component that it blames.
    """

    rule: str
    title: str
    names: str


@dataclass(frozen=True)
class RuleList:
    """All findings."""

    findings: list[RuleShort]


@dataclass(frozen=True)
class RuleTold(RuleShort):
    """A finding explained.

    needs
        Variables that it is judged by.
    remedies, remedies_vm
        The cheapest first; for a virtual-machine system.
    judgement
        What it says of the recording; ``None``: none was named.
    """

    what: str
    why: str
    signs: str
    false_readings: str
    needs: list[str]
    remedies: list[str]
    remedies_vm: list[str]
    false_readings_in_short: list[str]
    references: list[str]
    judgement: Finding | None
