"""What a prediction yields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from satline.diagnosis import Estimate, UslFit
from satline.prediction._class_results import ByClass


@dataclass(frozen=True)
class StationDemand:
    """What one unit of work needs of one resource.

    capacity
        Processors, or 1.
    demand_s
        Service demand, seconds for each unit of work.
    background
        What is in use without the users, in the unit of the capacity.
    page_share
        Part of the demand that is paging; ``None``: not known, or processors.
    growth
        By how much of itself the demand grew from the lightest to the heaviest class.
    """

    name: str
    capacity: float
    demand_s: Estimate
    background: Estimate
    page_share: float | None
    growth: Estimate | None


@dataclass(frozen=True)
class Row:
    """The system at one number of users.

    utilisation
        Of each station of the scenario, in its order: part of its capacity, background included.
    measured_throughput, measured_response_s
        What the recording shows at this load; ``None``: it was not seen.
    """

    users: int
    throughput: Estimate
    response_s: Estimate
    utilisation: tuple[float, ...]
    measured_throughput: Estimate | None = None
    measured_response_s: Estimate | None = None


@dataclass(frozen=True)
class Scenario:
    """The system as it is, or after a change.

    name
        ``as it is``, or the change as asked for.
    saturation_users
        N*: where the asymptotes cross; ceiling: throughput that no number of users exceeds.
    bend_users
        Where a broken line through the predicted throughput bends: what `satline diagnose` looks for in
        measured throughput. A curve bends earlier than its asymptotes cross.
    first
        The resource that saturates first; surely_first: in which part of the draws it is this one.
    more_users, more_throughput
        Difference of N* and of the ceiling to the system as it is, by the same draws; ``None`` for
        that itself.
    """

    name: str
    stations: tuple[str, ...]
    saturation_users: Estimate
    ceiling: Estimate
    bend_users: Estimate
    first: str
    surely_first: float
    rows: tuple[Row, ...]
    more_users: Estimate | None = None
    more_throughput: Estimate | None = None


@dataclass(frozen=True)
class Prediction:
    """The whole answer.

    outcome
        ``cannot-tell``: see `reasons` and `advice`; nothing else is filled in then.
    unit
        What a unit of work is: ``transaction``, or ``second of user time``.
    from_low, from_high
        The loads that the demands were estimated from.
    think_s, elsewhere_s
        Pause between units of work; delay outside the resources.
    supervisor_part
        Part of the processor demand that is system time.
    usl
        The universal scalability law fitted to the same loads, as a second opinion.
    by_class
        The same by class of transactions; ``None``: not asked for.
    by_work
        Each transaction counts as what one of its class takes at light load; the unit is the mean transaction
        of light load.
    intervals
        What the intervals hold and what not, in words.
    """

    outcome: Literal["predicted", "cannot-tell"]
    recording: str
    load_axis: str
    unit: str
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    from_low: float | None = None
    from_high: float | None = None
    observations: int = 0
    classes: int = 0
    think_s: Estimate | None = None
    elsewhere_s: Estimate | None = None
    supervisor_part: float | None = None
    demands: tuple[StationDemand, ...] = ()
    base: Scenario | None = None
    scenarios: tuple[Scenario, ...] = ()
    usl: UslFit | None = None
    by_class: ByClass | None = None
    by_work: bool = False
    warnings: tuple[str, ...] = ()
    intervals: str = field(
        default="95 %, from resampled blocks of observations. They hold the chance in this recording, not"
        " what a model leaves out: that shows beside the loads that were measured."
    )
