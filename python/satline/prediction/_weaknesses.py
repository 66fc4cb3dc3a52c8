"""Intervals from draws, and what weakens a prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from satline.diagnosis import Estimate
from satline.diagnosis._warnings import failed_part
from satline.prediction._demands import Demand, Sums, growth
from satline.prediction._model import Model
from satline.prediction._network import Floats
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA, SERVER, Signals
from satline.prediction._whatif import EXPONENTS, Change
from satline.reduction import Reduction

GROWS = 0.1
BUSY_THREAD = 0.4
HEAVY = 0.2
PAGES = 0.01


def estimate(draws: Floats, unit: str, widen: float, *, least: float = 0.0) -> Estimate:
    """Draw 0 with the percentile interval of the others, made wider about it."""
    centre = float(draws[0])
    low, high = (float(x) for x in np.percentile(draws[1:], [2.5, 97.5]))
    return Estimate(
        centre,
        min(centre, max(least, centre - widen * (centre - low))),
        max(centre, centre + widen * (high - centre)),
        unit,
    )


def difference(draws: Floats, unit: str, widen: float) -> Estimate:
    return estimate(draws, unit, widen, least=-math.inf)


def heavy(demand: Demand, model: Model) -> bool:
    """Is it a resource that could matter: at least a fifth as near to saturation as the first?"""
    return float(demand.seconds[0] / demand.room[0]) > HEAVY * float(model.slots_s[0].max())


def pairs(found: tuple[Demand, ...], chosen: Signals, made: Sums) -> list[tuple[Demand, Floats]]:
    """Each demand with what was used of its resource."""
    used = {r.name: u for r, u in zip(chosen.resources, made.used, strict=True)}
    return [(d, used[d.name]) for d in found]


def weaknesses(
    reduction: Reduction, chosen: Signals, model: Model, found: tuple[Demand, ...], made: Sums, widen: float
) -> list[str]:
    """What weakens the prediction."""
    lines = []
    for d, used in pairs(found, chosen, made):
        if not heavy(d, model):
            continue
        grown = estimate(growth(d, used, made), "fraction", widen, least=-math.inf)
        if (grown.low > 0 or grown.high < 0) and abs(grown.value) > GROWS:
            way = "grows" if grown.value > 0 else "falls"
            lines.append(
                f"the demand on {d.name} {way} by {abs(grown.value):.0%} from {made.load[0]:g} to"
                f" {made.load[-1]:g} users: constant demands are assumed, which is too"
                f" {'optimistic' if grown.value > 0 else 'pessimistic'} beyond"
            )
    first = found[model.first()]
    if first.name.startswith(DEVICE):
        lines.append(
            f"{first.name} is taken to serve one request at a time while it is busy; one that serves several"
            " at once (solid state, a RAID) carries more than this"
        )
    if model.surely_first() < 0.95:
        lines.append(
            f"that {first.name} saturates first is so in {model.surely_first():.0%} of the draws only"
        )
    if not any(r.name in (PROCESSORS, QUOTA) for r in chosen.resources):
        lines.append(
            "processors, or how many there are, were not recorded: they may saturate before all others"
        )
    if not any(r.name.startswith(DEVICE) or r.name == CAP for r in chosen.resources):
        lines.append("no device was seen busy: one that was not recorded may saturate before all others")
    alone = max(
        (t for t in reduction.tasks if t.load_class in chosen.number), key=lambda t: t.cpu, default=None
    )
    if alone is not None and alone.cpu > BUSY_THREAD and not any(d.name.startswith(SERVER) for d in found):
        lines.append(
            f"one thread, {alone.name} of {alone.user}, ran {alone.cpu:.0%} of the time at a load: if it"
            " serves all users it may saturate before all others, and it is no station here"
        )
    failed = failed_part(reduction)
    if failed > 0.01:
        lines.append(f"{failed:.0%} of the transactions failed")
    if chosen.unit != "transaction":
        lines.append(
            "no transactions were recorded: a second of problem-state time is the unit of work, and the pause"
            " between two of a user's holds all that is not seen as a demand"
        )
    if chosen.stolen > 0.02:
        lines.append(f"a hypervisor withheld {chosen.stolen:.2g} processors: taken as part of the demand")
    return lines


def assumptions(found: tuple[Demand, ...], what_if: Sequence[tuple[Change, ...]]) -> list[str]:
    """What a change takes for granted."""
    if not any(change.what == "storage" for wanted in what_if for change in wanted):
        return []
    shares = [float(d.page_share[0]) for d in found if d.name == CAP or d.name.startswith(DEVICE)]
    if not shares or max(shares) < PAGES:
        return ["hardly anything that was read was paging: more storage changes nothing that was seen here"]
    low, high = EXPONENTS
    return [
        f"f times the storage is taken to divide paging by f to the power of {low:g} to {high:g} [Belady and"
        " Kuehner 1969], and to leave processor time as it is: an assumption, not a measurement"
    ]
