"""Short periods held against calm ones: what the rules look at where no knee tells the heavy loads from the
light.

Without loads beyond saturation there are still observations in which something was short, and others in which
nothing was. They stand in for the saturated and the light loads: the same rules judge them. Where everything
was short all the time, or nothing, there is one class only.
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._histories import Histories
from satline.diagnosis._results import Saturation
from satline.diagnosis._standing import Assessment
from satline.diagnosis.rules import Context
from satline.reduction import Reduction, reclassed

CALM, SHORT = "calm periods", "short periods"
LEAST = 3


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
