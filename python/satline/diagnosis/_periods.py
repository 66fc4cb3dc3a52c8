"""Short periods held against calm ones: what the rules look at where no knee tells the heavy loads from the
light.

Without loads beyond saturation there are still observations in which something was short, and others in which
nothing was. They stand in for the saturated and the light loads: the same rules judge them. Where everything
was short all the time, or nothing, there is one class only. Where the CPU is full all the time, with whatever
else the host does, memory or I/O may still be short at times only: rules about these look at those times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis._histories import Histories
from satline.diagnosis._results import Saturation
from satline.diagnosis._standing import Assessment
from satline.diagnosis.rules import Context
from satline.reduction import Reduction, reclassed

CALM, SHORT = "calm periods", "short periods"
LEAST = 3


@dataclass(frozen=True)
class _Own:
    """What rules are about: by their components, those of the resources, and what to call the periods."""

    rules: tuple[str, ...]
    uses: tuple[str, ...]
    labels: tuple[str, str]


OWN = (
    _Own(
        ("storage", "paging"),
        ("storage", "paging"),
        ("periods with memory to spare", "periods short of memory"),
    ),
    _Own(("io",), ("io",), ("periods with I/O to spare", "periods short of I/O")),
)


def period_context(
    reduction: Reduction,
    assessment: Assessment,
    verdict: Saturation,
    limits: dict[str, float],
    history: Histories,
) -> Context | None:
    """A context whose topmost class are the observations in which something was short, and whose lowest are
    the calm ones; ``None`` where nothing was short for long enough, or the reduction was made by hand."""
    pressed = assessment.pressed
    if assessment.standing.state not in ("short", "short at times") or pressed is None:
        return None
    calm = int((~pressed).sum())
    labels: tuple[str, ...]
    if calm >= LEAST:
        number, labels = pressed.astype(np.int64), (CALM, SHORT)
    else:
        number, labels = np.where(pressed, 0, -1), (SHORT,)
    try:
        made = reclassed(reduction, number.astype(np.int64), labels)
    except ValueError:
        return None
    return Context(made, verdict, limits, history, basis="periods", uses=assessment.uses)


def context_of_own(context: Context, component: str) -> Context | None:
    """The same for a rule about memory or about I/O, with classes by whether that was short; ``None`` for
    other rules, where it was so all the time or never, or where the periods differ anyway."""
    about = next((about for about in OWN if component in about.rules), None)
    if about is None or context.basis != "periods" or len(context.reduction.classes) != 1:
        return None
    courses = [use.counted for use in context.uses if use.component in about.uses and not use.probe]
    short = np.logical_or.reduce(courses) if courses else np.zeros(0, dtype=bool)
    if min(int(short.sum()), int((~short).sum())) < LEAST:
        return None
    try:
        made = reclassed(context.reduction, short.astype(np.int64), about.labels)
    except ValueError:
        return None
    return replace(context, reduction=made)
