"""Why a model's answer and a measured one differ: each reason with the check that it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from satline.diagnosis import Diagnosis
from satline.prediction import Prediction, Row, StationDemand
from satline.reconcile._answers import components_of
from satline.reconcile._results import Reason, Said

Reasons = list[tuple[Reason, str]]

# Component of a finding → what the model lacks of it.
LACKING: Mapping[str, tuple[Reason, str]] = {
    "storage": (
        "no memory in the model",
        "it has no memory that fills up: paging goes on in it as it grew over the loads seen",
    ),
    "paging": (
        "no memory in the model",
        "it has no memory that fills up and no admission: paging is a demand on devices in it, which"
        " grows on as it grew over the loads seen",
    ),
    "paging and io": (
        "no memory in the model",
        "it has no memory that fills up: paging goes on in it as it grew over the loads seen",
    ),
    "admission": ("no admission in the model", "it has no admission: whoever wants to work is let in"),
    "lock": ("no locks in the model", "it has no locks"),
    "cache": ("no caches in the model", "it has no caches that may be lost or full"),
}
# Not all of the loads were used where the model's greatest is less than this part of the greatest seen.
PART = 0.98
# By how much the model must miss measured throughput to be said to miss it.
OFF = 0.05
# A station that saturates at most so much later than the first is as good as first.
NEAR = 0.85
SURE = 0.8
SURELY_FIRST = 0.95
# Variables of throughput that count transactions, as the model does unless it has none.
TRANSACTIONS = "transaction_rate"
WORK: Mapping[str, str] = {
    "problem_state": "useful work (user time)",
    "work_rate": "the work of the transactions completed",
}


def load_reasons(measured: Said, diagnosis: Diagnosis, prediction: Prediction) -> Reasons:
    """Why the loads differ, the first reason first; empty: no known one holds."""
    base, verdict = prediction.base, diagnosis.saturation
    assert base is not None
    found: Reasons = []
    seen = prediction.from_high
    if seen is not None and verdict.range_high is not None and seen < PART * verdict.range_high:
        found.append(("other loads", f"it was made from the loads up to {seen:.3g} only"))
    for component in measured.components:
        if component in LACKING and component != "cache":
            found.append(LACKING[component])
    same = {TRANSACTIONS, "work_rate"} if prediction.by_work else {TRANSACTIONS}
    counts = verdict.throughput_variable in same
    if verdict.throughput_variable is not None and counts != (prediction.unit == "transaction"):
        words = "it counts seconds of user time, where throughput was judged by transactions"
        if not counts:
            judged = _plain(verdict.throughput_variable)
            words = f"it counts transactions, where throughput was judged by {judged}"
        # Other variables than these two are neither's.
        if counts or verdict.throughput_variable in WORK:
            found.append(("other work", words))
    missed = max(base.rows, key=_missed, default=None)
    if missed is not None and missed.measured_throughput is not None and _missed(missed) > OFF:
        found.append(
            (
                "misses measured",
                f"it says {missed.throughput.value:.3g} per second at {missed.users} users, where"
                f" {missed.measured_throughput.value:.3g} were measured",
            )
        )
    if seen is not None and base.saturation_users.value > seen:
        found.append(("extrapolates", f"it extrapolates beyond the {seen:.3g} that were seen"))
    if verdict.at is None and verdict.bend is not None and verdict.chance is not None:
        words = f"that throughput bends there has a chance of {verdict.chance:.2f} only"
        found.append(("diagnose is not sure", words))
    return found


def first_reasons(measured: Said, diagnosis: Diagnosis, prediction: Prediction) -> Reasons:
    """Why other things come first, the first reason first; empty: no known one holds."""
    base = prediction.base
    assert base is not None
    found: Reasons = []
    for component in measured.components:
        if component in LACKING:
            found.append(LACKING[component])
        stations = {d.name for d in prediction.demands if component in components_of(d.name, prediction)}
        if component == "server" and not stations:
            found.append(("no such server in the model", "that one thread is no station of it"))
        first = next((d for d in prediction.demands if d.name == base.first), None)
        later = [d for d in prediction.demands if d.name in stations]
        if first is not None and later:
            nearest = max(later, key=_pressure)
            part = _part(_pressure(nearest), _pressure(first))
            if part >= NEAR:
                name = nearest.name.replace("device:", "device ")
                found.append(("nearly as near", f"{name} is {part:.0%} as near to saturation in it"))
    if base.surely_first < SURELY_FIRST:
        words = f"that {base.first} comes first is so in {base.surely_first:.0%} of its draws only"
        found.append(("predict is not sure", words))
    named = next((f for f in diagnosis.findings if f.component != "none"), None)
    if named is not None and named.chance is not None and named.chance < SURE:
        words = f"the diagnosis gives {named.title} a chance of {named.chance:.2f} only"
        found.append(("diagnose is not sure", words))
    return found


def _missed(row: Row) -> float:
    """Part by which the model surely misses what was measured at this load."""
    measured, model = row.measured_throughput, row.throughput
    if measured is None or not measured.value > 0:
        return 0.0
    if measured.low <= model.high and model.low <= measured.high:
        return 0.0
    return abs(model.value / measured.value - 1)


def _pressure(demand: StationDemand) -> float:
    """Seconds that a unit of work holds what is left of it for the users; infinite where nothing is left."""
    left = demand.capacity - demand.background.value
    return demand.demand_s.value / left if left > 0 else math.inf


def _part(one: float, other: float) -> float:
    """One pressure by another; those of which nothing is left are alike."""
    if one == other:
        return 1.0
    return one / other if other > 0 else 0.0


def _plain(variable: str) -> str:
    return WORK.get(variable, variable.replace("_", " "))
