"""Run until the interval is small enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

from satline.errors import InputError
from satline.simulation._estimate import CONFIDENCE, Estimate
from satline.simulation._measures import MEASURES, is_measure
from satline.simulation._runner import setting_text
from satline.stats import t_quantile

FEWEST = 5


@dataclass(frozen=True)
class Goal:
    """A measure's interval is to be no wider than value ± `width`.

    relative
        `width` is a part of the value; otherwise in the measure's unit.
    """

    measure: str
    width: float
    relative: bool

    @staticmethod
    def parse(text: str) -> Goal:
        """``response_s:5%`` or ``response_s:0.1``.

        Raises
        ------
        InputError
            It is neither.
        """
        name, _, number = text.rpartition(":")
        relative = number.endswith("%")
        try:
            width = float(number.removesuffix("%")) / (100.0 if relative else 1.0)
        except ValueError:
            width = math.nan
        if not name or not 0.0 < width < math.inf:
            raise InputError(
                f"--until {text!r}", hint="write a measure and its precision: response_s:5% or mpl:0.2"
            )
        if not is_measure(name):
            raise InputError(
                f"--until {text!r}: there is no measure {name}",
                hint=f"some are: {', '.join(list(MEASURES)[:8])}",
            )
        return Goal(name, width, relative)

    @property
    def words(self) -> str:
        """As it was written."""
        return (
            f"{self.measure}:{setting_text(self.width * 100)}%"
            if self.relative
            else f"{self.measure}:{self.width:g}"
        )

    def allowed(self, estimate: Estimate) -> float | None:
        """Greatest half width that reaches the goal; ``None``: there is nothing to be precise about.

        For a relative error γ of the true value the half width may be γ/(1 + γ) of the estimate.
        """
        if estimate.value is None:
            return None
        return self.width / (1.0 + self.width) * abs(estimate.value) if self.relative else self.width

    def reached(self, estimate: Estimate) -> bool:
        """Is the interval small enough?"""
        allowed = self.allowed(estimate)
        return allowed is not None and estimate.half_width is not None and estimate.half_width <= allowed

    def needed(self, estimate: Estimate, most: int) -> int:
        """Replications that should reach it, from those so far: (t s / allowed)², at most twice as many.

        It depends on nothing but the results, so that the runs made are the same for any number of workers.
        """
        n = estimate.n
        if self.reached(estimate):
            return n
        allowed = self.allowed(estimate)
        if n < 2 or estimate.half_width is None or not allowed:
            return min(most, max(FEWEST, 2 * n))
        deviation = estimate.half_width / t_quantile(CONFIDENCE, n - 1) * math.sqrt(n)
        wanted = n + 1
        while wanted < 2 * n and t_quantile(CONFIDENCE, wanted - 1) * deviation / math.sqrt(wanted) > allowed:
            wanted += 1
        return min(most, wanted)
