"""What a reduction yields: curves of variables against load."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoadClass:
    """One class of observations with about the same load [Bard].

    low, high
        Least and greatest load that belong to the class, in the unit of the load axis. On an axis that is no
        count the class ends just below `high`; the last one, and each of an equal count, ends with it.
    midpoint
        Abscissa of the class: the middle of a class of [Bard]'s width, the mean load of a wider one and of
        every class of an axis that is no count of users.
    observations
        Number of observations in the class.
    seconds
        Total length of these observations.
    label
        The range in words, such as ``3-4``, ``20 to below 40``.
    """

    low: float
    high: float
    midpoint: float
    observations: int
    seconds: float
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            one = self.low == self.high
            object.__setattr__(self, "label", f"{self.low:g}" if one else f"{self.low:g}-{self.high:g}")


@dataclass(frozen=True)
class Point:
    """A variable in one load class. Missing is ``None``: the variable was not recorded there.

    standard_error
        sd / sqrt(n), the textbook one.
    honest_error
        Standard error that respects autocorrelation (batch means); ``None`` with fewer than two batches.
    effective_n
        Number of independent observations that would give `honest_error`.
    percentiles
        Keys 25, 50, 75, 90.
    percentile_intervals
        Ends of the 95 % interval of each, from the order statistics of about `effective_n` values; ``None``
        for an end that so few cannot bound. Empty where the effective n is not known.
    batches
        Number of batches that `honest_error` rests on: its degrees of freedom are one less. ``None`` without.
    largest
        The greatest value.
    zeros
        How many of the `n` values are 0.
    """

    n: int
    mean: float | None
    sd: float | None
    standard_error: float | None
    honest_error: float | None
    effective_n: float | None
    percentiles: dict[int, float] = field(default_factory=dict)
    percentile_intervals: dict[int, tuple[float | None, float | None]] = field(default_factory=dict)
    batches: int | None = None
    largest: float | None = None
    zeros: int | None = None


@dataclass(frozen=True)
class Curve:
    """One variable against load: `points[i]` belongs to `Curves.classes[i]`."""

    variable: str
    unit: str
    meaning: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Curves:
    """All variables of a recording against one load axis.

    load_axis
        ``users`` (intended by the study's step), ``active_users``, ``in_queue`` (multiprogramming level),
        ``in_flight``, ``run_queue``, ``in_system``, ``sessions``, ``requests``, ``load_average``, or the
        name of a variable.
    observation_s
        Intended length of an observation in seconds.
    curves
        By variable name; a variable the source lacks is absent here and named in `missing`.
    missing
        Variable name → why it is missing.
    load_unit
        Unit of the load axis.
    filters
        Which observations and work count, in words; empty: all.
    """

    load_axis: str
    observation_s: float
    classes: tuple[LoadClass, ...]
    curves: dict[str, Curve]
    missing: dict[str, str]
    load_unit: str = "users"
    filters: str = ""
