"""Intervals from draws, and what weakens a prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from satline.diagnosis import Estimate, failed_part
from satline.prediction._demands import Demand, Sums, growth
from satline.prediction._model import Model
from satline.prediction._network import Floats
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA, SERVER, Signals
from satline.prediction._whatif import EXPONENTS, Change
from satline.reduction import Reduction

GROWS = 0.1
FAR = 2.0
OFF = 0.15
NAMED = 3
FULL = 1.2
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
    lines = _growing(found, chosen, made, model, widen)
    lines += _beyond(found, model)
    lines += _response(model, made, widen)
    lines += _storage(reduction, model, made)
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
            "no transactions were recorded: a second of user time is the unit of work, and the pause"
            " between two of a user's holds all that is not seen as a demand"
        )
    if chosen.by_work:
        lines.append(
            "the heavier the load, the shorter the transactions that complete: each counts as what one of its"
            " class takes at light load, and a transaction here is the mean one of light load"
        )
    if chosen.stolen > 0.02:
        lines.append(f"a hypervisor withheld {chosen.stolen:.2g} processors: taken as part of the demand")
    return lines


def _growing(found: tuple[Demand, ...], chosen: Signals, made: Sums, model: Model, widen: float) -> list[str]:
    """What is made of demands that change with load: one line for all of which the same is to be said."""
    alike: dict[str, list[tuple[str, float]]] = {}
    for d, used in pairs(found, chosen, made):
        if not heavy(d, model) or d.yields > 0:
            continue
        grown = estimate(growth(d, used, made), "fraction", widen, least=-math.inf)
        if (grown.low > 0 or grown.high < 0) and abs(grown.value) > GROWS:
            alike.setdefault(_taken(d, grown.value, made), []).append((d.name, grown.value))
    lines = []
    for taken, members in alike.items():
        names = [name for name, _ in members]
        parts = sorted({f"{abs(part):.0%}" for _, part in members}, key=lambda text: float(text[:-1]))
        named = ", ".join(names) if len(names) <= NAMED else f"{names[0]} and {len(names) - 1} more"
        by = parts[0] if len(parts) == 1 else f"{parts[0]} to {parts[-1]}"
        lines.append(
            f"the demand on {named} {'grows' if members[0][1] > 0 else 'falls'} by {by} from"
            f" {made.load[0]:g} to {made.load[-1]:g} users: {taken}"
        )
    return lines


def _taken(demand: Demand, grown: float, made: Sums) -> str:
    """How a demand that changes is taken to go on."""
    high = f"{made.load[-1]:g}"
    if demand.trend is None:
        way = "optimistic" if grown > 0 else "pessimistic"
        return f"a constant demand is assumed, which is too {way} beyond"
    if not demand.trend.paging.any():
        return (
            f"it is taken to go on so with the logarithm of load up to {2 * made.load[-1]:g} users, and then"
            " to stay"
        )
    return (
        f"paging is taken to go on growing beyond {high} users as it did, with half to twice of that at"
        f" {2 * made.load[-1]:g} users in the interval"
    )


def _beyond(found: tuple[Demand, ...], model: Model) -> list[str]:
    """What else is taken for granted of the resources."""
    lines = [
        f"other work on the {d.name} gave way by {d.yields:.0%} of what the users took: it is taken to go on"
        " so, and what becomes of that work is not predicted"
        for d in found
        if d.yields > 0
    ]
    trends = [d.trend for d in found if d.trend is not None and d.trend.paging.any()]
    if trends and float(model.saturation_users[0]) > FAR * trends[0].high:
        lines.append(
            f"saturation lies beyond {FAR:g} times the heaviest load seen, and paging grows: how it grows"
            " so far away, and with it all that is said of there, cannot be told from these loads"
        )
    return lines


def _response(model: Model, made: Sums, widen: float) -> list[str]:
    """The model's response against the measured one at the heaviest load seen, where they surely differ."""
    if made.inside is None:
        return []
    users = max(1, round(float(made.load[-1])))
    _, expected = model.solve(users, [users])
    measured = made.inside[:, -1] / np.maximum(made.work[:, -1], 1e-12)
    off = difference(expected[-1] / np.maximum(measured, 1e-12) - 1, "fraction", widen)
    if not (off.low > 0 or off.high < 0) or abs(off.value) <= OFF:
        return []
    way = "long" if off.value > 0 else "short"
    line = f"at {users} users response is predicted {abs(off.value):.0%} too {way}: "
    if off.value > 0:
        return [
            line
            + "short work goes before long here, or service varies little; up to saturation take it for an"
            " upper bound, and the throughput there for a lower one"
        ]
    return [line + "something waits that is no station of the model; take it for a lower bound"]


def _storage(reduction: Reduction, model: Model, made: Sums) -> list[str]:
    """Will memory be full before the first resource is, where no paging shows yet how that will be?"""
    if any(d.trend is not None and d.trend.paging.any() for d in model.demands):
        return []
    demanded = reduction.observations["storage_demanded_fraction"][reduction.number >= 0]
    load = reduction.load[reduction.number >= 0]
    heavy_load = demanded[
        np.isfinite(demanded) & (load >= 0.9 * made.load[-1]) & (load <= 1.1 * made.load[-1])
    ]
    part = float(heavy_load.mean()) if len(heavy_load) else 0.0
    if part <= 0 or made.load[-1] / part > FULL * float(model.saturation_users[0]):
        return []
    return [
        f"working sets took {part:.0%} of memory at {made.load[-1]:g} users: it may be full before"
        f" {model.demands[model.first()].name} will, and how much paging comes then cannot be told from these"
        " loads"
    ]


def assumptions(found: tuple[Demand, ...], what_if: Sequence[tuple[Change, ...]]) -> list[str]:
    """What changes take for granted."""
    changed = {change.what for wanted in what_if for change in wanted}
    grows = any(d.trend is not None and d.trend.paging.any() for d in found)
    lines = []
    if grows and changed - {"storage"}:
        lines.append(
            "paging is taken to grow with the number of users only: faster service also changes for how long"
            " each holds memory, and how many at once; what a change is worth about saturation and beyond"
            " cannot be told"
        )
    if "storage" not in changed:
        return lines
    if grows:
        return [
            *lines,
            "N users with f times the memory are taken to page as N/f do: an assumption, not a measurement;"
            " what more memory is worth about saturation and beyond cannot be told",
        ]
    shares = [float(d.page_share[0]) for d in found if d.name == CAP or d.name.startswith(DEVICE)]
    if not shares or max(shares) < PAGES:
        return ["hardly anything that was read was paging: more memory changes nothing that was seen here"]
    low, high = EXPONENTS
    return [
        f"f times the memory is taken to divide paging by f to the power of {low:g} to {high:g} [Belady and"
        " Kuehner 1969], and to leave processor time as it is: an assumption, not a measurement"
    ]
