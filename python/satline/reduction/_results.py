"""What a reduction yields: curves of variables against load."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoadClass:
    """One class of observations with about the same load [Bard].

    low, high
        Least and greatest load in the class, in users (or the unit of the load axis).
    midpoint
        Abscissa of the class: (low + high) / 2.
    observations
        Number of observations in the class.
    seconds
        Total length of these observations.
    """

    low: float
    high: float
    midpoint: float
    observations: int
    seconds: float


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
    """

    n: int
    mean: float | None
    sd: float | None
    standard_error: float | None
    honest_error: float | None
    effective_n: float | None
    percentiles: dict[int, float] = field(default_factory=dict)


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
        ``active_users``, ``users`` (intended by the study's step), ``in_queue`` (multiprogramming level).
    observation_s
        Intended length of an observation in seconds.
    curves
        By variable name; a variable the source lacks is absent here and named in `missing`.
    missing
        Variable name → why it is missing.
    """

    load_axis: str
    observation_s: float
    classes: tuple[LoadClass, ...]
    curves: dict[str, Curve]
    missing: dict[str, str]
