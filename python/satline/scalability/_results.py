"""What is said of a table of throughputs by load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from satline.diagnosis import Estimate
from satline.scalability._families import Name

Outcome = Literal["saturated", "not-saturated", "partly-known"]
Law = Literal["usl", "amdahl", "linear", "broken-line", "bounds"]


@dataclass(frozen=True)
class Value:
    """A number and its 95 % interval in `unit`; the interval is ``None`` where nothing tells the error.

    high
        Infinite (null in JSON) without an upper limit.
    """

    value: float
    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True)
class Usl:
    """X(N) = λN/(1 + σ(N − 1) + κN(N − 1)).

    peak
        √((1 − σ)/κ), the load of greatest throughput; its value is infinite (null) without coherency.
    limit
        λ/σ, what throughput tends to without coherency; ``None`` without contention.
    peak_in_range
        Its interval ends inside the loads seen; else it is extrapolated.
    """

    rate: Value
    contention: Value
    coherency: Value
    peak: Value
    limit: float | None
    peak_in_range: bool


@dataclass(frozen=True)
class Amdahl:
    """X(N) = λN/(1 + σ(N − 1)): without coherency."""

    rate: Value
    contention: Value


@dataclass(frozen=True)
class BrokenLine:
    """From the origin with slope `before` up to the breakpoint `at`, beyond it with `ratio` times that.

    at
        Its low is 0 and its high infinite where a breakpoint outside of the loads seen does as well.
    """

    at: Value
    before: Value
    ratio: Value


@dataclass(frozen=True)
class Compared:
    """How well a law fits, of all by the same error model: the smaller AICc the better.

    weight
        exp(−Δ/2) as a part of their sum: how much better [Burnham and Anderson 2002].
    """

    law: Name
    parameters: int
    residual: float
    aicc: float | None
    weight: float | None


@dataclass(frozen=True)
class Bounds:
    """Asymptotic bounds [Muntz and Wong 1974], from N/X and X alone, as if measured without error.

    cycle_s
        The least N/X: R + Z of a user that hardly waits is no more.
    ceiling
        The greatest X seen: 1/D is at least that.
    saturation
        N* = (R + Z)/D, where the asymptotes cross.
    rising
        X is greatest at the greatest load: then N* is at least `saturation`.
    """

    cycle_s: float
    ceiling: float
    ceiling_load: float
    saturation: float
    rising: bool


@dataclass(frozen=True)
class Little:
    """N = X(R + Z) at each load: what it says of think time, and whether it can hold.

    think_s
        Median Z = N/X − R with the least and greatest.
    residence_s
        R at the lightest load.
    saturation
        N* = (R + Z)/D with R and Z at the lightest load and 1/D the greatest X.
    impossible
        Loads at which R is surely longer than N/X.
    unseen
        Of the growth of N/X over the range the part that is not in R; ``None`` where N/X hardly grows.
    """

    think_s: Value
    residence_s: float
    saturation: float
    impossible: tuple[float, ...]
    unseen: float | None


@dataclass(frozen=True)
class Row:
    """Throughput at one load: measured (mean of `rows`), by the laws, and between which bounds.

    usl, line
        ``None`` where the law was not fitted.
    bound
        No more than this, if no user is served faster in company: min(N/C, …).
    response_s
        Measured; predicted_response_s: N/X − Z by the law that fits better, where R or Z is known.
    extrapolated
        Beyond the loads seen.
    """

    load: float
    rows: int
    measured: float | None
    usl: Value | None
    line: Value | None
    bound_low: float | None
    bound_high: float | None
    response_s: float | None
    predicted_response_s: float | None
    extrapolated: bool


@dataclass(frozen=True)
class Scalability:
    """The answer for a table.

    headline
        One sentence: where throughput stops rising, or that it does not in the range seen.
    outcome, at
        Saturated at `at`; not saturated in the range seen; or neither can be told.
    better
        The law that fits best; ``bounds`` where there are too few loads for any.
    errors
        What is taken of the errors: equal at all loads, in proportion to throughput, or either.
    error_source
        What tells their size: repeated rows, what the law leaves over, or nothing.
    misfit
        Chance of so much misfit by errors alone, by repeated rows; ``None`` without.
    rows
        At the loads seen and those asked for.
    notes
        What was left out or assumed in reading; warnings: what weakens the answer.
    """

    table: str
    load_name: str
    throughput_name: str
    unit: str
    rows_read: int
    loads: int
    range_low: float
    range_high: float
    headline: str
    outcome: Outcome
    at: Estimate | None
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    better: Law
    usl: Usl | None
    amdahl: Amdahl | None
    broken_line: BrokenLine | None
    compared: tuple[Compared, ...]
    errors: str
    error_source: str
    misfit: float | None
    bounds: Bounds
    little: Little | None
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
