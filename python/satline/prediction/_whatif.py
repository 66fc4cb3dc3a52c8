"""What if: a faster processor, more of them, a faster or another device, more storage.

A change is made to every draw of the model, so that the difference to the model as it is has an interval
of its own, narrower than those of the two.

More storage: where paging surely grew with the users, N users with f times the storage page as N/f do now,
as far as each has the same storage (_trend.py), and paging that did not grow with them stays. Elsewhere it
scales the paging part of every demand on a device or read cap by f^−k, by the lifetime function of [Belady
and Kuehner 1969]. Its k lies between 1.5 and 3; it is drawn evenly from there, so that the interval holds
this ignorance. Processor time of paging is then taken to stay.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from satline.errors import InputError
from satline.prediction._demands import Demand
from satline.prediction._model import Model
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA, SERVER

EXPONENTS = (1.5, 3.0)
WAYS = (
    "cpu=2x, processors=4, quota=2x, device:NAME=2x (faster), device:NAME=2 (so many), cap=2x or storage=2x"
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(x?)")


@dataclass(frozen=True)
class Change:
    """One change.

    what
        ``cpu``, ``processors``, ``quota``, ``storage``, ``cap`` or ``device:NAME``.
    amount
        Factor of speed, or of storage; or, where not `times`, how many there are.
    """

    what: str
    amount: float
    times: bool

    @property
    def words(self) -> str:
        """As it was asked for."""
        return f"{self.what}={self.amount:g}{'x' if self.times else ''}"


def changes(text: str) -> tuple[Change, ...]:
    """The changes of one what-if: ``cpu=2x``, or several at once with commas between.

    Raises
    ------
    InputError
        No such change.
    """
    return tuple(_change(part.strip(), text) for part in text.split(","))


def _change(part: str, text: str) -> Change:
    what, sign, number = part.rpartition("=")
    amount = _AMOUNT.fullmatch(number.strip())
    known = what in ("cpu", "processors", "quota", "storage", "cap") or (
        what.startswith(DEVICE) and len(what) > len(DEVICE)
    )
    if not sign or not amount or not known:
        raise InputError(f"change {text!r}", hint=f"write one of {WAYS}")
    change = Change(what, float(amount[1]), bool(amount[2]))
    if not (0.01 <= change.amount <= 10_000):
        raise InputError(f"change {text!r}: {change.amount:g} is no sensible amount", hint="write 2x, or 4")
    if not change.times:
        if what in ("cpu", "storage", "cap"):
            raise InputError(
                f"change {text!r}: {what} is changed by a factor", hint=f"write {what}={number}x"
            )
        if what.startswith(DEVICE) and change.amount != int(change.amount):
            raise InputError(f"change {text!r}: no whole number of devices", hint=f"write {what}=2")
    return change


def apply(model: Model, wanted: tuple[Change, ...], seed: int = 2) -> Model:
    """The model after the changes.

    Raises
    ------
    InputError
        The recording has no such device or cap, or does not tell what of its reading was paging.
    """
    for change in wanted:
        model = replace(model, demands=_applied(model.demands, change, len(model.think_s), seed))
    return model


def _applied(demands: tuple[Demand, ...], change: Change, draws: int, seed: int) -> tuple[Demand, ...]:
    names = [d.name for d in demands]
    if change.what == "storage":
        return _storage(demands, change, draws, seed)
    targets = {"cpu": QUOTA if QUOTA in names else PROCESSORS, "cap": CAP}
    target = targets.get(change.what, change.what)
    if target == PROCESSORS and QUOTA in names:
        raise InputError(
            f"change {change.words}: a quota holds the load, not the processors", hint="quota=2x"
        )
    if target not in names:
        close = get_close_matches(target, names, n=2)
        seen = " or ".join(close) if close else ", ".join(names) or "nothing"
        raise InputError(
            f"change {change.words}: the recording shows no {target} in use",
            hint=f"did you mean {seen}?" if close else f"in use: {seen}",
        )
    made: list[Demand] = []
    for d in demands:
        if d.name != target:
            made.append(d)
        elif change.what in ("processors", "quota"):
            count = d.capacity * change.amount if change.times else change.amount
            made.append(replace(d, capacity=count))
        elif change.times:
            made.append(d.faster(change.amount))
        else:
            made += _spread(d, int(change.amount))
    return tuple(made)


def _spread(demand: Demand, count: int) -> list[Demand]:
    """So many devices in place of one, requests spread evenly."""
    part = demand.faster(count)
    return [replace(part, name=f"{demand.name} {k + 1}") for k in range(count)]


def _storage(demands: tuple[Demand, ...], change: Change, draws: int, seed: int) -> tuple[Demand, ...]:
    exponent = np.random.default_rng(seed).uniform(*EXPONENTS, draws)
    exponent[0] = sum(EXPONENTS) / 2
    factor = change.amount**-exponent
    made = []
    grows = any(d.trend is not None and d.trend.paging.any() for d in demands)
    for d in demands:
        if d.trend is not None and d.trend.paging.any():
            larger = d.trend.storage * change.amount
            made.append(replace(d, trend=replace(d.trend, storage=larger)))
            continue
        if grows or d.name in (PROCESSORS, QUOTA) or d.name.startswith(SERVER):
            made.append(d)
            continue
        if not math.isfinite(float(d.page_share[0])):
            raise InputError(
                f"change {change.words}: the recording does not tell what part of its reading was paging",
                hint="record swap-ins, major faults and bytes read (table system)",
            )
        made.append(replace(d, seconds=d.seconds * (1 - d.page_share + d.page_share * factor)))
    return tuple(made)
