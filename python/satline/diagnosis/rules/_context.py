"""The context that a rule judges in: curves, verdict, and the courses behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from satline.diagnosis._histories import Histories
from satline.diagnosis._left import TAKEN, taken_part
from satline.diagnosis._partial import Floats, Partial, partial_correlation
from satline.diagnosis._results import Evidence, Saturation
from satline.diagnosis._upgrades import gains
from satline.diagnosis._use import Use
from satline.reduction import SHARE_PARTS, Reduction

# What others left of the CPU is not worth a word above this.
LITTLE_TAKEN = 0.97


@dataclass(frozen=True)
class Measure:
    """A mean over some load classes with its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower 95 % bound."""
        return self.value - 1.96 * self.error

    @property
    def high(self) -> float:
        """Upper 95 % bound."""
        return self.value + 1.96 * self.error


@dataclass(frozen=True)
class Context:
    """Curves and verdict, with the saturated classes and those below told apart.

    top
        Classes at and beyond the saturation load; without saturation the topmost one; all where a few batch
        users are the load.
    bottom
        Classes below it; at least the lowest.
    history
        Courses of single users, devices, threads and locks; ``None`` without a recording.
    basis
        load: classes are of load. periods: the topmost class are the observations in which something was
        short, the lowest those in which nothing was; see `satline.diagnosis._periods`.
    uses
        How full each resource was, and whom it held back.
    """

    reduction: Reduction
    saturation: Saturation
    limits: dict[str, float] = field(default_factory=dict)
    history: Histories | None = None
    basis: Literal["load", "periods"] = "load"
    uses: tuple[Use, ...] = ()

    @property
    def saturated(self) -> bool:
        """Is the verdict that it saturates, or is the topmost class one in which something was short?"""
        return self.saturation.outcome == "saturated" or self.basis == "periods"

    @cached_property
    def gains(self) -> Mapping[str, float] | None:
        """What each upgrade would bring, asked of the model once."""
        return gains(self.reduction)

    @property
    def watched(self) -> bool:
        """Did Satline's own monitor record a live host? It looks for limits of groups, swap devices, file
        locks and threads by itself: what it does not tell of is then known not to be there."""
        history = self.history
        monitored = history is not None and "monitor" in history.recording.sources
        return monitored and self.recorded("total_cpu") and self.recorded("user_run")

    @property
    def classes(self) -> range:
        """Numbers of all classes."""
        return range(len(self.reduction.classes))

    @property
    def top(self) -> tuple[int, ...]:
        """Numbers of the saturated classes."""
        last = len(self.reduction.classes) - 1
        if self.basis == "periods":
            return (last,)
        if self.saturation.outcome == "nongranular":
            return tuple(self.classes)
        at = self.saturation.at
        if self.saturation.outcome != "saturated" or at is None:
            return (last,) if last >= 0 else ()
        found = tuple(k for k, c in enumerate(self.reduction.classes) if c.midpoint >= at.value)
        return found or (last,)

    @property
    def bottom(self) -> tuple[int, ...]:
        """Numbers of the lightest classes: the lower half of those below the saturated ones."""
        below = [k for k in range(len(self.reduction.classes)) if k < min(self.top, default=0)]
        return tuple(below[: max(1, len(below) // 2)])

    def where(self, classes: tuple[int, ...]) -> str:
        """These classes in words."""
        if not classes:
            return "nowhere"
        if self.basis == "periods":
            return " and ".join(self.reduction.classes[k].label for k in classes)
        low = self.reduction.classes[classes[0]].low
        high = self.reduction.classes[classes[-1]].high
        return f"{low:g} users" if low == high else f"{low:g}-{high:g} users"

    def mean(self, variable: str, classes: tuple[int, ...]) -> Measure | None:
        """Mean of a variable over these classes; ``None`` where it is missing."""
        curve = self.reduction.curves.get(variable)
        if curve is None:
            return None
        points = [curve.points[k] for k in classes if curve.points[k].mean is not None]
        n = sum(p.n for p in points)
        if not n:
            return None
        value = sum(p.n * (p.mean or 0.0) for p in points) / n
        errors = [p.honest_error if p.honest_error is not None else p.standard_error for p in points]
        # A single observation has no error that could be known: not 0, or it would be the surest of all.
        known = [e for e in errors if e is not None]
        if len(known) < len(points):
            spread = max(abs((p.mean or 0.0) - value) for p in points)
            return Measure(value, max([spread, *known]) if len(points) > 1 else math.inf)
        variance = sum((p.n * e) ** 2 for p, e in zip(points, known, strict=True)) / n**2
        return Measure(value, math.sqrt(variance))

    def high(self, variable: str) -> Measure | None:
        """Mean over the saturated classes."""
        return self.mean(variable, self.top)

    def low(self, variable: str) -> Measure | None:
        """Mean over the lightest classes."""
        return self.mean(variable, self.bottom)

    @property
    def busy(self) -> str:
        """The variable that says how busy the processors are for the load: of what was left, where others
        took a part to speak of."""
        others = taken_part(self.reduction) > TAKEN and self.recorded("busy_of_left")
        return "busy_of_left" if others else "total_cpu_fraction"

    @property
    def problem(self) -> str:
        """The variable of the load's user time, as `busy`."""
        return "problem_of_left" if self.busy == "busy_of_left" else "problem_fraction"

    @property
    def of_what(self) -> str:
        """What `busy` is a part of, as an addition to "busy"; empty: of all processors."""
        left = self.high("left_fraction")
        if self.busy == "total_cpu_fraction" or left is None or left.value > LITTLE_TAKEN:
            return ""
        return f", of the {left.value:.0%} that others left"

    def recorded(self, variable: str) -> bool:
        """Has a variable, or one of a device, a value in any class?"""
        curves = self.reduction.curves
        names = (n for n in curves if n == variable or n.startswith(variable + ":"))
        return any(point.mean is not None for name in names for point in curves[name].points)

    def share(self, part: str) -> Measure | None:
        """Part of the users' transaction time at saturation, as a ratio of means; ``None`` without
        transactions. In short periods without transactions: part of the time that users ran or waited.

        The whole is at least the sum of its parts: see `satline.reduction._curves.whole_shares`."""
        spent, whole = self.high(part), self.high("users_in_transaction")
        parts = [p for name in SHARE_PARTS if (p := self.high(f"user_{name}")) is not None]
        time = sum(p.value for p in parts)
        if whole is not None:
            time = max(whole.value, time)
        elif self.basis != "periods" or len(parts) < 2:
            return None
        if spent is None or not time > 0 or (whole is not None and not whole.value > 0):
            return None
        return Measure(max(0.0, spent.value / time), spent.error / time)

    def inside(self, part: str) -> Measure | None:
        """As `share`, but of the time in queue where admission holds users back (eligible time is known).

        Who is held back neither runs nor waits for a page or a device: beyond saturation only its time grows,
        and no part of the whole would stay large.
        """
        share = self.share(part)
        held = self.held
        if share is None or held is None:
            return share
        left = 1.0 - held.value
        value = share.value / left
        return Measure(min(1.0, value), math.hypot(share.error, value * held.error) / left)

    @property
    def held(self) -> Measure | None:
        """Part of transaction time that users are surely held back by admission; ``None``: they are not, or
        it was not recorded."""
        held = self.share("user_eligible")
        return held if held is not None and held.low > 0 and held.value < 0.99 else None

    @property
    def filled_by_users(self) -> bool:
        """Do the users of a virtual-machine system fill its processors themselves at saturation?

        Then processors limit them whatever else they wait for (utilization law): no wait is left idle that
        paging devices or memory could fill. Elsewhere what fills processors may not be the load: False.
        """
        total, run = self.high(self.busy), self.high("user_run")
        busy = self.high("total_cpu")
        if total is None or run is None or busy is None or not self.recorded("mpl_exact"):
            return False
        # The class at the knee itself is not yet full.
        most = max(m.value for k in self.top if (m := self.mean(self.busy, (k,))) is not None)
        return most >= 0.9 and total.value >= 0.85 and run.value >= 0.8 * busy.value

    @property
    def whole(self) -> str:
        """What `inside` is a part of."""
        if self.high("users_in_transaction") is None:
            return "time run or waiting"
        return "transaction time" if self.held is None else "time in queue"

    def evidence(
        self,
        variable: str,
        threshold: str,
        supports: bool,
        *,
        light: bool = False,
        value: Measure | None = None,
    ) -> Evidence:
        """A fact of the saturated (or, with `light`, the lightest) classes."""
        classes = self.bottom if light else self.top
        measure = value or self.mean(variable, classes)
        curve = self.reduction.curves.get(variable)
        return Evidence(
            variable,
            curve.unit if curve else "",
            self.where(classes),
            measure.value if measure else None,
            measure.error if measure else None,
            threshold,
            supports,
        )

    def partition_cap(self) -> float | None:
        """The cap, in processors, of a partition that is itself the system under test and tells nothing of
        quota periods; ``None``: it is none."""
        settings = self.reduction.settings
        capped = settings.cgroup is None and settings.quota is not None
        return settings.quota if capped and self.high("throttled_periods") is None else None

    def quota_holds(self) -> bool | None:
        """Is the load at its quota and held back by it at saturation? ``None``: cannot be seen; False also
        without one."""
        stated = self.reduction.settings.quota is not None
        if self.partition_cap() is not None:
            total = self.high(self.busy)
            return None if total is None else total.value >= 0.9 and total.low > 0.8
        throttled, used = self.high("throttled_periods"), self.high("load_cpu_fraction")
        if throttled is None:
            return None if stated and (used is None or used.value >= 0.85) else False
        capacity, processors = self.high("capacity_processors"), self.high("load_cpu")
        if capacity is None or processors is None or used is None:
            return None
        return throttled.value >= 0.5 and throttled.low > 0.25 and used.value >= 0.85

    def nearest(self) -> str:
        """What would come first, for a load that is not saturated: the fullest component that can be seen."""
        seen = {
            "the processors": self.high(self.busy),
            "the quota": self.high("load_cpu_fraction") if self.reduction.settings.quota else None,
            "the busiest device": self.high("busiest_device"),
            "the cap on reads": self.high("load_read_cap_fraction"),
            "the busiest thread": self.high("busiest_task"),
        }
        full = {name: m.value for name, m in seen.items() if m is not None}
        if not full:
            return ""
        name = max(full, key=lambda k: full[k])
        return f"nearest to full at {self.where(self.top)}: {name}, {full[name]:.0%}"

    def entities(self, variable: str) -> tuple[str, ...]:
        """Names of the devices (or others) that have a curve of this variable."""
        prefix = variable + ":"
        return tuple(n.removeprefix(prefix) for n in self.reduction.curves if n.startswith(prefix))

    def peak(self, variable: str) -> tuple[int, Measure] | None:
        """The class with the greatest mean of a variable, and that mean."""
        means = [(k, m) for k in self.classes if (m := self.mean(variable, (k,))) is not None]
        return max(means, key=lambda item: item[1].value, default=None)

    def rises(self, variable: str, factor: float = 1.0) -> bool | None:
        """Is a variable surely higher at saturation than at light load, and by more than this factor?
        ``None``: it was not recorded at both."""
        high, low = self.high(variable), self.low(variable)
        if high is None or low is None:
            return None
        return high.low > low.high and high.value > factor * low.value

    def course(self, variable: str) -> Floats | None:
        """A variable's value in each observation, NaN where missing; ``None`` where it never is."""
        if variable not in self.reduction.curves and variable not in self.reduction.observations:
            return None
        values = np.asarray(self.reduction.observations[variable], dtype=np.float64)
        return values if np.isfinite(values).any() else None

    def partial(self, a: str | Floats, b: str | Floats, *, single: bool = False) -> Partial | None:
        """Correlation of two variables at equal load; ``None`` where one is missing or they hardly vary.

        Whatever grows with load grows with whatever else does: only what is left at equal load can tell which
        of them belongs to which. See `satline.diagnosis._partial`.
        """
        x, y = (self.course(v) if isinstance(v, str) else v for v in (a, b))
        if x is None or y is None:
            return None
        reduction = self.reduction
        return partial_correlation(x, y, reduction.load, reduction.number, reduction.batches, single=single)

    def partial_evidence(self, name: str, found: Partial, threshold: str, supports: bool) -> Evidence:
        """A correlation at equal load as a fact."""
        every = tuple(self.classes)
        return Evidence(
            name,
            "correlation at equal load",
            self.where(every),
            found.value,
            found.error,
            threshold,
            supports,
        )
