"""Effects of the factors of a simulated study: each part switched off and on, in all combinations.

Also its arms held against the first of them, at equal load, with common random numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satline.simulation._estimate import CONFIDENCE, Estimate, mean_interval
from satline.simulation._simulate import Simulated
from satline.simulation._study import SimulatedStudy, System

NONE = "none"


@dataclass(frozen=True)
class Effect:
    """What one factor does, or two together beyond what each does alone.

    factors
        One name, or two for an interaction.
    change
        Of a measure that is above 0 everywhere: the relative change, by logarithms; otherwise the difference.
        Its interval holds for all effects of the measure at one place together.
    """

    factors: tuple[str, ...]
    change: Estimate

    @property
    def words(self) -> str:
        """As tables name it."""
        return " × ".join(self.factors)

    @property
    def sure(self) -> bool:
        """The interval does not hold 0."""
        low, high = self.change.low, self.change.high
        return low is not None and high is not None and not low <= 0.0 <= high


@dataclass(frozen=True)
class Effects:
    """All effects on one measure at one place (users and varied keys).

    relative
        They are changes as parts of the measure, not differences.
    off, on
        The measure with all factors off, and with all on.
    """

    label: Mapping[str, str]
    measure: str
    relative: bool
    off: Estimate
    on: Estimate
    found: tuple[Effect, ...]


def combinations_of(study: SimulatedStudy) -> dict[str, System]:
    """A system for every combination of the factors; its name says which are on."""
    (base,) = study.arms.values()
    factors = study.file.factor
    made = {}
    for levels in itertools.product((False, True), repeat=len(factors)):
        sets = dict(base.sets)
        for factor, on in zip(factors, levels, strict=True):
            sets |= factor.on if on else factor.off
        made[_name(study, levels)] = System(base.machine, base.workload, sets)
    return made


def _name(study: SimulatedStudy, levels: Sequence[bool]) -> str:
    return " + ".join(f.name for f, on in zip(study.file.factor, levels, strict=True) if on) or NONE


def effects(study: SimulatedStudy, arms: Mapping[str, Simulated], measure: str) -> list[Effects]:
    """Main effects and interactions of two, at each place of the study.

    With y(l, r) the measure (or its logarithm) of combination l in replication r, the effect of a set S of
    factors is Σ_l y(l, r) Π_{f ∈ S} ±1 · 2/2^k in each replication. Its interval is Student's over the
    replications, whose random numbers the combinations share, and Bonferroni's over the effects [BHH].
    """
    names = [factor.name for factor in study.file.factor]
    levels = list(itertools.product((False, True), repeat=len(names)))
    systems = [arms[_name(study, combination)] for combination in levels]
    chosen = [*((i,) for i in range(len(names))), *itertools.combinations(range(len(names)), 2)]
    made = []
    for number, point in enumerate(systems[0].points):
        points = [system.points[number] for system in systems]
        cut = max(one.truncation for one in points)
        values = [one.values(measure, cut) for one in points]
        count = min(len(one) for one in values)
        whole = [r for r in range(count) if all(one[r] is not None for one in values)]
        y = [[float(one[r] or 0.0) for r in whole] for one in values]
        relative = all(value > 0.0 for row in y for value in row)
        if relative:
            y = [[math.log(value) for value in row] for row in y]
        found = []
        for subset in chosen:
            signs = [math.prod(1 if combination[i] else -1 for i in subset) for combination in levels]
            contrasts = [
                2.0 / len(levels) * math.fsum(sign * row[r] for sign, row in zip(signs, y, strict=True))
                for r in range(len(whole))
            ]
            change = _interval(contrasts, len(chosen))
            found.append(Effect(tuple(names[i] for i in subset), _as_part(change) if relative else change))
        made.append(
            Effects(
                dict(point.label),
                measure,
                relative,
                points[0].estimate(measure),
                points[-1].estimate(measure),
                tuple(found),
            )
        )
    return made


def _as_part(change: Estimate) -> Estimate:
    """A change of the logarithm as a part of the whole: e^x − 1, ends alike."""
    if change.value is None:
        return change
    low, high = (None if end is None else math.expm1(end) for end in (change.low, change.high))
    return Estimate(math.expm1(change.value), low, high, change.n, change.method, change.note)


def _interval(values: Sequence[float], together: int) -> Estimate:
    """Mean with an interval that holds for so many of them together."""
    note = "" if values else "not recorded in some combination"
    return mean_interval(values, "factorial", note, 1.0 - (1.0 - CONFIDENCE) / together)


def change(base: Sequence[float | None], other: Sequence[float | None]) -> Estimate:
    """How much more `other` is than `base`, as a part of it, pair by pair: exp(mean log ratio) − 1.

    Pairs in which either is missing or not above 0 leave nothing to say.
    """
    pairs = [(a, b) for a, b in zip(base, other, strict=True) if a is not None and b is not None]
    if any(a <= 0.0 or b <= 0.0 for a, b in pairs):
        return Estimate(None, None, None, 0, "ratio", "not above 0 everywhere")
    return _as_part(_interval([math.log(b / a) for a, b in pairs], 1))


@dataclass(frozen=True)
class ArmRow:
    """One measure of two arms at one place (users and varied keys).

    change
        How much more the other has, as a part of the first; with its interval.
    """

    label: Mapping[str, str]
    measure: str
    base: Estimate
    other: Estimate
    change: Estimate


def against(base: Simulated, other: Simulated, names: Sequence[str]) -> list[ArmRow]:
    """A row for each place that both have, and each measure."""
    places = {tuple(point.label.items()): point for point in base.points}
    rows = []
    for point in other.points:
        first = places.get(tuple(point.label.items()))
        if first is None:
            continue
        cut = max(first.truncation, point.truncation)
        count = min(len(first.results), len(point.results))
        for name in names:
            pair = first.values(name, cut)[:count], point.values(name, cut)[:count]
            rows.append(
                ArmRow(dict(point.label), name, first.estimate(name), point.estimate(name), change(*pair))
            )
    return rows
