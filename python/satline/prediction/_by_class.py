"""The answer by class of transactions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis import Estimate
from satline.errors import SatlineError
from satline.prediction._accounts import LEAST_DONE, Accounts, accounts
from satline.prediction._chains import Booleans
from satline.prediction._class_demands import Division, divide
from satline.prediction._class_fit import fit_classes
from satline.prediction._class_model import ClassModel
from satline.prediction._class_results import (
    ByClass,
    Chain,
    ClassRow,
    ClassScenario,
    Level,
    TransactionClass,
)
from satline.prediction._demands import DRAWS, Blocks, Demand
from satline.prediction._model import Model
from satline.prediction._network import Floats
from satline.prediction._signals import Signals
from satline.prediction._trend import bend, bend_loads
from satline.prediction._weaknesses import difference, estimate
from satline.reduction import Filters, Reduction, Source, reading

CLASS_DRAWS = 200
LEAST_REACH, MOST_REACH = 8, 2000
ADVICE = (
    "Name what is typed by class in the workload (key class), and let the mixture vary from step to step."
)
SEVERAL = """SELECT count(DISTINCT coalesce(class, script)) FROM transaction
WHERE response_us IS NOT NULL AND phase IS DISTINCT FROM 'logon'"""
Changed = Sequence[tuple[str, Model]]


@dataclass(frozen=True)
class Asked:
    """What the answer by class needs of the answer for all transactions.

    every, chosen
        All loads, and those that the demands are from.
    model, found
        Of the mean transaction.
    rows, seen
        Numbers of users to answer for, and those that were recorded.
    """

    every: Signals
    chosen: Signals
    found: tuple[Demand, ...]
    model: Model
    changed: Changed
    rows: Sequence[int]
    seen: Sequence[int]
    widen: float
    seed: int
    known_think: bool
    base_name: str


def taken_for_alike(recording: Source) -> list[str]:
    """What the answer for all transactions leaves out, where there are several classes."""
    row = reading(recording).execute(SEVERAL).fetchone()
    if row is None or row[0] < 2:
        return []
    return [f"transactions of {row[0]} classes are taken for alike; a prediction by class tells them apart"]


def by_class(recording: Source, reduction: Reduction, asked: Asked, filters: Filters | None) -> ByClass:
    """Throughput and response of each class, by users."""
    try:
        return _by_class(recording, reduction, asked, filters)
    except SatlineError as error:
        # what is said of all transactions holds without this
        return ByClass("cannot-tell", (error.message,), (error.hint,) if error.hint else ())


def _by_class(recording: Source, reduction: Reduction, asked: Asked, filters: Filters | None) -> ByClass:
    every, chosen = asked.every, asked.chosen
    taken = accounts(recording, reduction, np.where(every.usable, every.number, -1), filters)
    if taken is None or every.in_transaction is None:
        return _cannot("no transactions were recorded")
    taken, rare = _frequent(taken, np.asarray(chosen.usable))
    if len(taken.classes) < 2:
        return _cannot(f"all transactions are of one class, {taken.classes[0]}")
    blocks = Blocks.of(chosen, DRAWS, asked.seed).first(CLASS_DRAWS)
    demands = [d.first(CLASS_DRAWS) for d in asked.found]
    division = divide(taken, chosen, blocks, demands, demands[asked.model.first()])
    if isinstance(division, str):
        return _cannot(division)
    whole = Blocks.of(every, DRAWS, asked.seed).first(CLASS_DRAWS)
    seen = {
        round(float(n)): division.accounts.part[:, k]
        for k, n in enumerate(whole.load)
        if round(float(n)) >= 1
    }
    think = asked.model.think_s[: CLASS_DRAWS + 1]
    model = fit_classes(demands, division, chosen, blocks, seen, think, asked.known_think)
    measured = _measured(division.accounts, whole, asked.seen)
    base = _scenario(asked.base_name, model, asked, measured, None)
    return ByClass(
        "predicted",
        stations=tuple(d.name for d in demands),
        by_accounts=tuple(known is None for known in division.regressed),
        joined=division.joined,
        chains=_chains(model, asked.widen),
        classes=_classes(model, asked.widen),
        interactive_first=model.first is not None,
        waited_page=_waited(model, 0, asked.widen),
        waited_io=_waited(model, 1, asked.widen),
        base=base,
        scenarios=tuple(
            _scenario(name, _after(model, other), asked, {}, model) for name, other in asked.changed
        ),
        warnings=(*rare, *_warnings(division, base)),
    )


def _frequent(taken: Accounts, good: Booleans) -> tuple[Accounts, list[str]]:
    """With classes that hardly occur in these observations joined to the rarest of the others; and what is to
    be said of it."""
    done = taken.done[:, :, good].sum(axis=(0, 2))
    order = [int(k) for k in np.argsort(done)]
    rare = [k for k in order if done[k] < LEAST_DONE]
    if not rare or len(order) < 2:
        return taken, []
    first = sorted({*rare, *order[: len(rare) + 1]})
    rest = [[k] for k in range(len(order)) if k not in first]
    names = ", ".join(taken.classes[k] for k in first)
    made = taken.joined([*rest, first])
    return made, [f"{names} are one class, for of some too few ended at the loads that the demands are from"]


def _cannot(why: str) -> ByClass:
    return ByClass("cannot-tell", (why,), (ADVICE,))


def _after(model: ClassModel, changed: Model) -> ClassModel:
    """The model with changed demands, divided among the classes as they were."""
    demands = tuple(d.first(CLASS_DRAWS) for d in changed.demands)
    names = [d.name for d in model.demands]
    # of a device in whose place there are several, each is divided as it was
    place = [names.index(d.name if d.name in names else d.name.rpartition(" ")[0]) for d in demands]
    old = model.division
    division = replace(old, regressed=tuple(old.regressed[k] for k in place))
    return replace(model, demands=demands, division=division)


def _measured(
    made: Accounts, blocks: Blocks, seen: Sequence[int]
) -> dict[int, list[tuple[Estimate, Estimate | None]]]:
    """By load: throughput and response as recorded, of all and then of each class."""
    seconds = np.einsum("dbk,bk->dk", blocks.weight, blocks.length)
    done, spent = (
        [blocks.drawn(v) for v in (values.sum(axis=(0, 1)), *values.sum(axis=0))]
        for values in (made.done, made.sums["response_s"])
    )
    found: dict[int, list[tuple[Estimate, Estimate | None]]] = {}
    for k, load in enumerate(blocks.load):
        users = round(float(load))
        if users not in seen:
            continue
        found[users] = []
        for count, time in zip(done, spent, strict=True):
            rate = count[:, k] / np.maximum(seconds[:, k], 1e-300)
            response = estimate(time[:, k] / count[:, k], "s", 1.0) if (count[:, k] > 0).all() else None
            found[users].append((estimate(rate, "per second", 1.0), response))
    return found


def _chains(model: ClassModel, widen: float) -> tuple[Chain, ...]:
    mix = model.division.mix[0]
    return tuple(
        Chain(name, float(model.part[h]), estimate(model.think_s[:, h], "s", widen), tuple(mix[h].tolist()))
        for h, name in enumerate(model.division.accounts.chains)
    )


def _classes(model: ClassModel, widen: float) -> tuple[TransactionClass, ...]:
    division = model.division
    count, times = division.done[0].sum(axis=0), division.at(None)
    return tuple(
        TransactionClass(
            name,
            float(count[c] / count.sum()),
            int(count[c]),
            tuple(
                estimate(d.seconds * times.of(k, d)[0][:, c], "s", widen) for k, d in enumerate(model.demands)
            ),
            None if model.first is None else float(model.first.part[0, c]),
            estimate(model.elsewhere_s[:, c], "s", widen),
        )
        for c, name in enumerate(division.accounts.classes)
    )


def _waited(model: ClassModel, which: int, widen: float) -> Estimate | None:
    values = model.waited[:, which]
    return None if (values == 1).all() else estimate(values, "fraction", widen)


def _scenario(
    name: str,
    model: ClassModel,
    asked: Asked,
    measured: Mapping[int, list[tuple[Estimate, Estimate | None]]],
    before: ClassModel | None,
) -> ClassScenario:
    widen, saturation = asked.widen, model.saturation_users
    reach = min(MOST_REACH, max(LEAST_REACH, math.ceil(2 * float(saturation[0]))))
    bends_at = bend_loads(sorted(n for n in asked.seen if n >= 1), reach)
    levels = {n: model.at(n) for n in sorted({*asked.rows, *bends_at})}
    rows = []
    for n in asked.rows:
        level = levels[n]
        total, *seen = measured.get(n, [(None, None)] * (1 + level.class_rate.shape[1]))
        rows.append(
            ClassRow(
                n,
                _level(level.rate, level.response_s, widen, *total),
                tuple(
                    _level(level.class_rate[:, c], level.class_response_s[:, c], widen, *seen[c])
                    for c in range(level.class_rate.shape[1])
                ),
                level.method,
            )
        )
    rates: Floats = np.stack([levels[n].rate for n in bends_at])
    return ClassScenario(
        name,
        estimate(saturation, "users", widen),
        estimate(bend(rates, bends_at), "users", widen),
        model.first_full(),
        tuple(rows),
        None if before is None else difference(saturation - before.saturation_users, "users", widen),
    )


def _level(
    rate: Floats,
    response: Floats,
    widen: float,
    measured_rate: Estimate | None = None,
    measured_response: Estimate | None = None,
) -> Level:
    return Level(
        estimate(rate, "per second", widen), estimate(response, "s", widen), measured_rate, measured_response
    )


def _warnings(division: Division, base: ClassScenario) -> tuple[str, ...]:
    lines = [
        f"{', '.join(group)} cannot be told apart, for their parts of the work hardly vary: one class here"
        for group in division.joined
    ]
    if any(known is not None for known in division.regressed):
        lines.append(
            "what the classes need was regressed on what was done of each, for their transactions carry no"
            " accounts of processor time and reads of their own"
        )
    if len(division.accounts.chains) > 1:
        lines.append("another number of users is taken to divide among the kinds of users as those seen did")
    if any(row.method == "linearizer" for row in base.rows):
        lines.append(
            "solved by the Linearizer: priorities, and waits that are shorter than devices are busy, have no"
            " exact solution"
        )
    return tuple(lines)
