"""The stations of a model with classes: demands, divided among the classes, at one number of users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from satline.prediction._class_demands import Division
from satline.prediction._demands import Demand
from satline.prediction._network import Floats
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA

_BY_DRAW = (
    "needed",
    "before",
    "paging",
    "reading",
    "whole",
    "delay_s",
    "page_delay_s",
    "io_delay_s",
    "split_s",
)


@dataclass(frozen=True)
class Stations:
    """What each class needs at each station; arrays of shape (draws, stations, classes).

    needed
        What it waits for, in the time of a station with one server; before: what goes before all who wait.
    paging, reading
        Parts of `needed` that are waits for pages, and for other I/O.
    whole
        As `needed`, in the time of one of several servers.
    found
        Which stations' customers are before it: shape (stations, stations).
    delay_s
        What is no queue, shape (draws, classes). Parts of it: page_delay_s and io_delay_s; and split_s, what
        several servers take beyond one that is as fast as all of them.
    """

    names: tuple[str, ...]
    servers: tuple[float, ...]
    needed: Floats
    before: Floats
    paging: Floats
    reading: Floats
    whole: Floats
    found: Floats
    delay_s: Floats
    page_delay_s: Floats
    io_delay_s: Floats
    split_s: Floats

    def only(self, number: int) -> Stations:
        """One draw alone."""
        return replace(self, **{n: getattr(self, n)[number : number + 1] for n in _BY_DRAW})


@dataclass(frozen=True)
class First:
    """Work that goes before the rest.

    part
        What part of each class's processor time it is: shape (draws, classes).
    burst
        How long it runs from one wait to the next, over how long the rest does: who comes to the second queue
        waits for what those in the first are at.
    """

    part: Floats
    burst: float


@dataclass(frozen=True)
class _Row:
    name: str
    servers: float
    needed: Floats
    before: Floats
    paging: Floats
    reading: Floats
    whole: Floats


def stations(
    demands: Sequence[Demand],
    division: Division,
    users: float | Floats,
    first: First | None,
    waited: Floats,
    elsewhere_s: Floats,
) -> Stations:
    """The stations with so many users; see `ClassModel` for the parameters."""
    none = np.zeros_like(elsewhere_s)
    page_delay, io_delay, split = none.copy(), none.copy(), none.copy()
    rows: list[_Row] = []
    behind = None
    here = division.at(users)
    for k, d in enumerate(demands):
        room = d.room[:, None]
        times, paging = here.of(k, d)
        whole = np.asarray(d.at(users)[:, None] * times)
        # several servers: one of their speed together, and a delay [Seidmann, Schweitzer, Shalev-Oren 1987]
        served = whole / room
        several = d.capacity > 1
        if several:
            split += whole * (np.maximum(room - 1, 0.0) / room)
        plain = _Row(
            d.name,
            float(room[0, 0]) if several else 1.0,
            served,
            none,
            none,
            none,
            whole if several else served,
        )
        if d.name in (PROCESSORS, QUOTA) and first is not None:
            quick = served * first.part
            behind = len(rows) + 1
            rows += [replace(plain, needed=quick), replace(plain, needed=served - quick, before=quick)]
        elif d.name == CAP or d.name.startswith(DEVICE):
            paged = none if paging is None else served * paging
            rest = served - paged
            page, io = waited[:, :1], waited[:, 1:]
            page_delay += paged * np.maximum(page - 1, 0.0)
            io_delay += rest * np.maximum(io - 1, 0.0)
            page_wait, io_wait = paged * np.minimum(page, 1.0), rest * np.minimum(io, 1.0)
            needed = page_wait + io_wait
            before = np.maximum(served - needed, 0.0)
            rows.append(replace(plain, needed=needed, before=before, paging=page_wait, reading=io_wait))
        else:
            rows.append(plain)
    found = np.eye(len(rows))
    if behind is not None and first is not None:
        found[behind, behind - 1] = first.burst
    stacked = {
        name: np.stack([getattr(row, name) for row in rows], axis=1)
        for name in ("needed", "before", "paging", "reading", "whole")
    }
    return Stations(
        tuple(row.name for row in rows),
        tuple(row.servers for row in rows),
        found=found,
        delay_s=split + page_delay + io_delay + elsewhere_s,
        page_delay_s=page_delay,
        io_delay_s=io_delay,
        split_s=split,
        **stacked,
    )
