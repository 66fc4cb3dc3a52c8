"""What reconciling yields: what each answer says, how each two relate, and one story."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from satline.diagnosis import Estimate

By = Literal["diagnose", "predict", "capacity", "plan", "planted"]
About = Literal["load", "bottleneck"]
Agreement = Literal["same", "another question", "different", "unknown"]
Reason = Literal[
    "",
    "intervals overlap",
    "beyond the loads seen",
    "same component",
    "paging is a demand",
    "no memory in the model",
    "no admission in the model",
    "no locks in the model",
    "no such server in the model",
    "no caches in the model",
    "other loads",
    "other axis",
    "extrapolates",
    "other work",
    "misses measured",
    "nearly as near",
    "diagnose is not sure",
    "predict is not sure",
    "response limit",
    "own condition",
    "one says nothing",
    "not known",
]


@dataclass(frozen=True)
class Said:
    """What one answer says.

    load
        Users (or what the axis counts) up to whom it carries, by its own question, with an interval; infinite
        ends are not known. ``None``: it gives no load.
    beyond
        It found nothing up to this load; below: what it asks for is not met at this load, the lightest,
        either. ``None`` where it gives a load, or tells nothing.
    first
        What comes first, in words; empty: it names nothing.
    components
        The components that this may mean, in the diagnosis' names.
    words
        All of it in a few words.
    """

    by: By
    load_axis: str
    load: Estimate | None
    beyond: float | None
    first: str
    components: tuple[str, ...]
    words: str
    below: float | None = None


@dataclass(frozen=True)
class Relation:
    """How two answers relate in one respect.

    agreement
        same: they say the same within their intervals; another question: both hold, as they answer different
        questions; different: they cannot both be right; unknown: one of them says nothing.
    reason
        Which of the known reasons holds; words: the same in a clause.
    reasons
        All that hold, the first one first.
    """

    one: By
    other: By
    about: About
    agreement: Agreement
    reason: Reason
    words: str
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Story:
    """All answers together.

    agrees
        False where any two are different; ``None`` where there is nothing to compare.
    lines
        A sentence for each other answer, as the one who reads `teller`'s answer is to be told.
    """

    teller: By
    said: tuple[Said, ...]
    relations: tuple[Relation, ...]
    agrees: bool | None
    lines: tuple[str, ...]

    def different(self, one: By, other: By, about: About | None = None) -> tuple[Relation, ...]:
        """The differences of these two."""
        return tuple(
            r
            for r in self.relations
            if r.agreement == "different" and {r.one, r.other} == {one, other} and about in (None, r.about)
        )
