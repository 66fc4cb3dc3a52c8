"""What is said of one configuration: its warm-up, and each measure with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from satline.simulation._batches import Truncation, batch_means, mser
from satline.simulation._estimate import Difference, Estimate, mean_interval, paired
from satline.simulation._measures import SETTLES, Floats, amounts, mean_after, names_of
from satline.simulation._runner import Result

FINEST = 1e-3


@dataclass(frozen=True)
class Warmup:
    """What was left out at the beginning, s, and whether it can be trusted.

    by
        The measure that settled last; empty: the length was given.
    """

    seconds: float
    valid: bool
    by: str

    @property
    def words(self) -> str:
        """One line for people."""
        if self.valid:
            return f"first {self.seconds:g} s left out"
        return f"no steady state seen (by {self.by}): run longer"


@dataclass(frozen=True)
class Point:
    """The replications of one configuration, in order of their number.

    label
        What makes it this one: users and varied settings.
    warmup_s
        Length of the warm-up if it is given; ``None``: MSER-5 finds it.
    """

    label: Mapping[str, str]
    results: Sequence[Result]
    warmup_s: float | None = None

    @cached_property
    def warmup(self) -> Warmup:
        """From the latest of the truncation points of `SETTLES`, each of its average over the replications.

        The average shows a start that all have in common, which the noise of one replication hides.
        """
        batch_s = self.results[0].batch_s
        if self.warmup_s is not None:
            return Warmup(-(-self.warmup_s // batch_s) * batch_s, True, "")
        averages = {name: mean for name in SETTLES if (mean := self._average(name)) is not None}
        found = {name: _truncation(mean) for name, mean in averages.items()}
        if not found:
            return Warmup(0.0, False, "no measure")
        name, last = max(found.items(), key=lambda item: (not item[1].valid, item[1].batches))
        return Warmup(self._kept(last) * batch_s, last.valid, name)

    def settled(self, name: str) -> bool:
        """Does this measure itself, by MSER-5, reach a steady state in the first half?"""
        mean = self._average(name)
        return self.warmup_s is not None or mean is None or _truncation(mean).valid

    @staticmethod
    def _kept(truncation: Truncation) -> int:
        """Twice what MSER-5 says, for that leaves in as much of the start as the noise hides; half at most.

        Where no steady state was seen the second half is shown, and said to be no more than that.
        """
        return min(2 * truncation.batches, truncation.of // 2) if truncation.valid else truncation.of // 2

    def _average(self, name: str) -> Floats | None:
        found = [pair for result in self.results if (pair := amounts(result.series, name)) is not None]
        if not found:
            return None
        length = min(len(amount) for amount, _ in found)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                np.sum([a[:length] for a, _ in found], axis=0)
                / np.sum([w[:length] for _, w in found], axis=0)
            )

    @property
    def truncation(self) -> int:
        """Batches of five samples that are left out."""
        return round(self.warmup.seconds / self.results[0].batch_s)

    @property
    def names(self) -> list[str]:
        """The measures that can be had."""
        return names_of(result.series for result in self.results)

    def values(self, name: str, truncation: int | None = None) -> list[float | None]:
        """The measure's mean in each replication after the warm-up, or after so many batches.

        ``None``: nothing happened to measure.
        """
        cut = self.truncation if truncation is None else truncation
        return [mean_after(result.series, name, cut) for result in self.results]

    def estimate(self, name: str) -> Estimate:
        """The measure with its interval: over replications, or by batch means when there is only one."""
        if len(self.results) == 1:
            found = amounts(self.results[0].series, name)
            if found is None:
                return Estimate(None, None, None, 0, "batch means", "not recorded")
            return batch_means(found[0][self.truncation :], found[1][self.truncation :])
        values = [value for value in self.values(name) if value is not None]
        left_out = len(self.results) - len(values)
        note = f"{left_out} replication(s) have nothing to measure" if left_out else ""
        return mean_interval(values, "replications", note)

    def difference(self, other: Point, name: str) -> Difference:
        """`other` less this, replication by replication; the runs must have had the same seed.

        Both lose the longer of their warm-ups: over different periods they would not have the same random
        numbers.
        """
        count = min(len(self.results), len(other.results))
        cut = max(self.truncation, other.truncation)
        return paired(self.values(name, cut)[:count], other.values(name, cut)[:count])


def _truncation(x: Floats) -> Truncation:
    """By MSER-5, blind to what is less than a thousandth of the mean: a full processor is never
    quite full."""
    good = x[np.isfinite(x)]
    grain = FINEST * abs(float(good.mean())) if len(good) else 0.0
    return mser(np.round(x / grain) * grain if grain > 0.0 else x)
