"""Each answer reduced to what can be compared: a load with its interval, and what comes first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from satline.diagnosis import RULES, Diagnosis, Estimate
from satline.diagnosis.capacity import Capacity, causes_of
from satline.prediction import Prediction
from satline.reconcile._results import Said

# Station → components of findings that it may stand for; devices are told apart by what they are busy with.
STATIONS: Mapping[str, tuple[str, ...]] = {
    "processors": ("processor", "supervisor"),
    "quota": ("quota",),
    "read cap": ("io", "paging", "paging and io"),
}
# What a rule's finding fills besides its own component.
ALSO: Mapping[str, tuple[str, ...]] = {"paging_overhead": ("supervisor",)}
PAGING_DEVICE = ("paging", "paging and io", "storage")
FILE_DEVICE = ("io", "paging and io", "cache")
# From such a part of its demand on a device may be one of paging; from the other on it is.
SOME_PAGING, MOST_PAGING = 0.2, 0.5
# Chance from which a bend counts as found though the verdict is not that it saturates.
LIKELY = 0.5


@dataclass(frozen=True)
class Allowed:
    """What `satline analyse plan` says: the load up to which a condition is rare enough.

    beyond
        The highest load seen, where even that is allowed.
    """

    condition: str
    chance: float
    load_axis: str
    load: float | None
    low: float | None
    high: float | None
    beyond: float | None = None


@dataclass(frozen=True)
class Answers:
    """What was answered of one recording; ``None``: it was not asked, or could not be answered.

    planted
        The rule that a simulated recording was built to show, as its description states.
    """

    diagnosis: Diagnosis | None = None
    prediction: Prediction | None = None
    capacity: Capacity | None = None
    allowed: Allowed | None = None
    planted: str | None = None


def planted(description: Mapping[str, Any]) -> str | None:
    """The rule that the recording's description states as planted; ``None``: none that is known."""
    stated = description.get("truth")
    rule = stated.get("planted") if isinstance(stated, Mapping) else None
    return rule if rule in {known.name for known, _ in RULES} else None


def statements(answers: Answers) -> tuple[Said, ...]:
    """What each says, as far as it says anything."""
    found = []
    if answers.diagnosis is not None:
        found.append(_diagnosed(answers.diagnosis))
    if answers.prediction is not None and answers.prediction.base is not None:
        found.append(_predicted(answers.prediction))
    if answers.capacity is not None:
        found.append(_carried(answers.capacity))
    if answers.allowed is not None:
        found.append(_planned(answers.allowed))
    if answers.planted is not None:
        rule = next(rule for rule, _ in RULES if rule.name == answers.planted)
        found.append(Said("planted", "", None, None, rule.title, (rule.component,), rule.title))
    return tuple(found)


def _diagnosed(diagnosis: Diagnosis) -> Said:
    verdict = diagnosis.saturation
    load, beyond = verdict.at, None
    if load is None and verdict.outcome == "partly-known" and (verdict.chance or 0.0) >= LIKELY:
        load = verdict.bend
    if verdict.outcome == "not-saturated":
        beyond = verdict.range_high
    causes, _ = causes_of(diagnosis)
    named = [f for f in diagnosis.findings if f.component != "none" and f.title in causes]
    first = " or ".join(causes)
    words = "cannot tell where it saturates"
    if load is not None and verdict.at is None:
        words = f"a bend near {loads(load)}, by a chance of {verdict.chance or 0.0:.2f}"
    elif load is not None:
        words = f"{loads(load)}{f', {first}' if first else ''}"
    elif beyond is not None:
        words = f"not saturated up to {beyond:.3g}"
    return Said(
        "diagnose",
        verdict.load_axis,
        load,
        beyond,
        first,
        tuple(dict.fromkeys(part for f in named for part in (f.component, *ALSO.get(f.rule, ())))),
        words,
    )


def _predicted(prediction: Prediction) -> Said:
    base = prediction.base
    assert base is not None
    first = base.first.replace("device:", "device ").replace("server:", "server ")
    return Said(
        "predict",
        prediction.load_axis,
        base.saturation_users,
        None,
        f"{first} first",
        components_of(base.first, prediction),
        f"{loads(base.saturation_users)}, {first} first",
    )


def components_of(station: str, prediction: Prediction) -> tuple[str, ...]:
    """The components of findings that a station may stand for."""
    if station.startswith("server:"):
        return ("server", "lock")
    if not station.startswith("device:"):
        return STATIONS.get(station, ())
    share = next((d.page_share for d in prediction.demands if d.name == station), None)
    if share is None:
        return (*FILE_DEVICE, *PAGING_DEVICE)
    if share >= MOST_PAGING:
        return PAGING_DEVICE
    return (*FILE_DEVICE, *PAGING_DEVICE) if share >= SOME_PAGING else FILE_DEVICE


def _carried(capacity: Capacity) -> Said:
    aim = f"{capacity.part:.0%} of {capacity.what}s within {capacity.within_s:g} s"
    least, most = capacity.steps[0].users, capacity.steps[-1].users
    first = capacity.causes[0] if capacity.causes else ""
    if capacity.users is None:
        if capacity.steps[0].within < capacity.part:
            words = f"fewer than {least} users at {aim}"
            return Said("capacity", "users", None, None, first, (), words, below=float(least))
        return Said("capacity", "users", None, float(most), first, (), f"{most} users or more at {aim}")
    low = capacity.low if capacity.told and capacity.low is not None else -math.inf
    high = capacity.high if capacity.told and capacity.high is not None else math.inf
    load = Estimate(capacity.users, low, high, "users")
    return Said("capacity", "users", load, None, first, (), f"{loads(load)} at {aim}")


def _planned(allowed: Allowed) -> Said:
    aim = f"{allowed.condition} in at most {allowed.chance:.0%} of the time"
    if allowed.load is None:
        words = f"{allowed.beyond:.3g} or more, {aim}" if allowed.beyond is not None else "cannot tell"
        return Said("plan", allowed.load_axis, None, allowed.beyond, "", (), words)
    low = allowed.low if allowed.low is not None else -math.inf
    high = allowed.high if allowed.high is not None else math.inf
    load = Estimate(allowed.load, low, high, "")
    return Said("plan", allowed.load_axis, load, None, "", (), f"{loads(load)}, {aim}")


def loads(load: Estimate) -> str:
    """A load and its interval: ``18.6 [16.2, 21.6]``; a side that is not known is left open."""
    ends = [f"{end:.1f}" if math.isfinite(end) else "?" for end in (load.low, load.high)]
    shown = f"{load.value:.1f}"
    return shown if ends == ["?", "?"] else f"{shown} [{', '.join(ends)}]"
