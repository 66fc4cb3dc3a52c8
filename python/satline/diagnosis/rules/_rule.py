"""What every rule is made of: its fixed words, and the context it judges in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from satline.diagnosis._results import Evidence, Finding, Saturation, State
from satline.reduction import Reduction
from satline.reduction._shares import PARTS

NOT_SATURATED = "not saturated in the range seen: no bottleneck is named"


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
class Rule:
    """The fixed part of a finding.

    needs
        Variables without which the rule cannot be judged, or is judged on less.
    """

    name: str
    title: str
    component: str
    needs: tuple[str, ...]
    remedies: tuple[str, ...]
    false_readings: tuple[str, ...]
    references: tuple[str, ...]

    def finding(
        self,
        state: State,
        summary: str,
        *,
        strength: float = 0.0,
        evidence: list[Evidence] | None = None,
        missing: tuple[str, ...] = (),
        first_remedies: tuple[str, ...] = (),
        false_readings: tuple[str, ...] = (),
    ) -> Finding:
        """A finding of this rule; remedies and false readings are given only where it holds."""
        holds = state == "holds"
        return Finding(
            self.name,
            self.title,
            self.component,
            state,
            min(1.0, max(0.0, strength)) if holds else 0.0,
            summary,
            tuple(evidence or ()),
            (*first_remedies, *self.remedies) if holds else (),
            (*self.false_readings, *false_readings) if holds else (),
            missing,
            self.references,
        )

    def blind(self, *missing: str) -> Finding:
        """The rule cannot be judged for want of these variables."""
        return self.finding("cannot-judge", f"not recorded: {', '.join(missing)}", missing=missing)

    def unfit(self, context: Context) -> Finding | None:
        """Where a bottleneck cannot be named: the range is not saturated, or nobody can tell. ``None``: go
        on."""
        if context.saturation.outcome == "saturated":
            return None
        if context.saturation.outcome == "not-saturated":
            near = context.nearest()
            return self.finding("does-not-hold", NOT_SATURATED + (f"; {near}" if near else ""))
        return self.finding(
            "cannot-judge",
            "whether the recording reaches saturation cannot be told",
            missing=("a saturated range",),
        )


@dataclass(frozen=True)
class Context:
    """Curves and verdict, with the saturated classes and those below told apart.

    top
        Classes at and beyond the saturation load; without saturation the topmost one.
    bottom
        Classes below it; at least the lowest.
    """

    reduction: Reduction
    saturation: Saturation
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def top(self) -> tuple[int, ...]:
        """Numbers of the saturated classes."""
        last = len(self.reduction.classes) - 1
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

    def share(self, part: str) -> Measure | None:
        """Part of the users' transaction time at saturation, as a ratio of means; ``None`` without
        transactions.

        The whole is at least the sum of its parts: see `satline.reduction._shares`."""
        spent, whole = self.high(part), self.high("users_in_transaction")
        if spent is None or whole is None or not whole.value > 0:
            return None
        parts = (self.high(f"user_{name}") for name in PARTS)
        time = max(whole.value, sum(p.value for p in parts if p is not None))
        return Measure(max(0.0, spent.value / time), spent.error / time)

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

    def quota_holds(self) -> bool | None:
        """Is the load at its quota and held back by it at saturation? ``None``: cannot be seen; False also
        without one."""
        stated = self.reduction.settings.quota is not None
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
            "the processors": self.high("total_cpu_fraction"),
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
