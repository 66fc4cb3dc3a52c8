"""What a comparison of two periods yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["fell", "rose", "no-difference", "cannot-tell"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    low, high, error
        ``None``: too few blocks tell it.
    freedom
        Degrees of freedom of Student's t that the interval was made with.
    chance
        Of as large a value where there is none (two-sided); ``None`` as above.
    """

    value: float
    low: float | None = None
    high: float | None = None
    error: float | None = None
    freedom: float | None = None
    chance: float | None = None

    @property
    def sure(self) -> bool:
        """The interval does not hold 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Period:
    """One side of the comparison.

    recordings
        Where it comes from; more than one where several were given.
    begins_s, ends_s
        Seconds since 1970.
    days
        Days of the zone's clock that it has observations of.
    blocks, effective_blocks
        Independent pieces of time, and so many of equal size that tell as much.
    raw
        Mean of the measure whatever the load: it misleads where loads differ.
    load_low, load_high, load_mean
        Loads seen.
    """

    recordings: tuple[str, ...]
    begins_s: float
    ends_s: float
    observations: int
    seconds: float
    days: int
    blocks: int
    effective_blocks: float
    raw: float
    load_low: float
    load_high: float
    load_mean: float


@dataclass(frozen=True)
class MatchedClass:
    """A class of equal load: the means are those at the same mixture of loads within it.

    difference
        After − before, in the unit of the measure.
    relative
        The same as a part of before; ``None`` where that is not above 0.
    chance
        After Holm's correction for all classes; ``None`` without an interval.
    """

    label: str
    low: float
    high: float
    at: float
    observations: tuple[int, int]
    before: float
    after: float
    difference: Estimate
    relative: Estimate | None
    chance: float | None


@dataclass(frozen=True)
class Matched:
    """Differences at equal load.

    before, after
        Means over the common loads, both weighted by the same loads.
    difference, relative
        As in a class; over all of the common loads together.
    outside
        Part of each side's observations at loads that the other side lacks.
    detectable
        Relative difference that would have been found with a chance of 80 %; of the measure's unit where
        there is no relative one.
    """

    low: float
    high: float
    classes: tuple[MatchedClass, ...]
    before: float
    after: float
    difference: Estimate
    relative: Estimate | None
    outside: tuple[float, float]
    detectable: float | None


@dataclass(frozen=True)
class CurvePoint:
    """A load class of one side's trade-off curve."""

    label: str
    load: float
    observations: int
    throughput: Estimate
    measure: Estimate


@dataclass(frozen=True)
class AtEqual:
    """Both curves at one level: of throughput, or of the measure."""

    at: float
    before: float
    after: float
    relative: Estimate


@dataclass(frozen=True)
class BandPoint:
    """One side's curve at one throughput, with the ends of its interval."""

    throughput: float
    measure: float
    low: float
    high: float


@dataclass(frozen=True)
class TradeOff:
    """The measure against throughput, a point for each class of load [TB84].

    why_not
        Why there is nothing at equal throughput or equal measure; empty where there is.
    bands
        Of both sides, up to the greatest throughput; empty where there is no interval.
    """

    variable: str
    unit: str
    before: tuple[CurvePoint, ...]
    after: tuple[CurvePoint, ...]
    at_throughput: tuple[AtEqual, ...]
    at_measure: tuple[AtEqual, ...]
    why_not: str
    bands: tuple[tuple[BandPoint, ...], tuple[BandPoint, ...]] = ((), ())


@dataclass(frozen=True)
class Hour:
    """An hour of the day; the means are of whatever load there was in it."""

    hour: int
    before: float
    after: float
    relative: float | None
    loads: tuple[float, float]


@dataclass(frozen=True)
class Hours:
    """Hour by hour.

    rose, fell
        Hours in which the measure did.
    chance
        Of signs that agree as much without any difference, hours taken as independent of each other.
    honest_chance
        The same where what the hours of a day have in common is respected; ``None``: no whole days to draw.
    """

    hours: tuple[Hour, ...]
    rose: int
    fell: int
    chance: float | None
    honest_chance: float | None
    timezone: str


@dataclass(frozen=True)
class Work:
    """Resources for each unit of work.

    what
        ``transaction``, ``class`` or ``user``; `name` says which.
    """

    what: str
    name: str
    unit: str
    before: float
    after: float
    relative: Estimate | None
    counts: tuple[float, float]


@dataclass(frozen=True)
class Change:
    """One thing that changed.

    kind
        ``annotation``, ``configuration`` or ``measuring``.
    when
        ``before``, ``between``, ``after``; an annotation within a period does not part the two.
    time_s
        ``None`` for what was only seen to differ.
    """

    kind: str
    what: str
    when: str
    time_s: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The whole answer.

    headline
        It in one sentence.
    confounded
        What cannot be told apart, in a sentence; empty where at most one thing changed.
    notes
        What weakens the answer.
    lacking
        What was not compared, and why.
    """

    outcome: Outcome
    headline: str
    measure: str
    measure_words: str
    unit: str
    load_axis: str
    load_words: str
    blocks: str
    before: Period
    after: Period
    matched: Matched | None
    trade_off: TradeOff | None
    hours: Hours | None
    work: tuple[Work, ...]
    changes: tuple[Change, ...]
    confounded: str
    notes: tuple[str, ...]
    lacking: tuple[str, ...]
    filters: str = ""
