"""Rows that vanished or appeared: a device missing from a report may mean that its cache is off [Bitner]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from satline.history._figures import Figures, Row, is_weekend

_AT_RISK = 4
_PRIOR = 0.25
# Hardware seldom comes and goes by itself, users do: what is taken as known before anything was seen, as
# entities times days, and days, without such an event.
_HARDWARE = frozenset({"processor", "device", "channel", "lock"})
_BEFORE_GONE, _BEFORE_NEW = 250.0, 25.0


@dataclass(frozen=True)
class ChangedRow:
    """An entity that vanished or appeared.

    usual
        Such events expected on a day, from past days: how often that happens by itself.
    alarm
        It is beyond what is usual.
    """

    row: Row
    appeared: bool
    usual: float
    alarm: bool
    variables: int


def changed_rows(
    figures: Figures, usable: NDArray[np.bool_], reference: date | None, budget: float
) -> list[ChangedRow]:
    """Entities that vanished or appeared on the last day, against how often that happens by itself.

    Parameters
    ----------
    budget
        Such events expected on a day up to which one is an alarm.
    """
    last = len(figures.days) - 1
    there = np.asarray(np.isfinite(figures.values).any(axis=1), dtype=np.bool_)
    entities = sorted({r for r in figures.rows if r.entity})
    columns: dict[Row, list[int]] = {}
    for k, row in enumerate(figures.rows):
        columns.setdefault(row, []).append(k)
    present = {r: np.asarray(there[:, columns[r]].any(axis=1), dtype=np.bool_) for r in entities}
    weekend = [is_weekend(d) for d in figures.days]
    good = figures.days.index(reference) if reference in figures.days else None
    found: list[ChangedRow] = []
    past = [d for d in range(last) if usable[d]]
    for scope in sorted({r.scope for r in entities}):
        own = [r for r in entities if r.scope == scope]
        gone = exposed = came = looked = 0
        for number, d in enumerate(past):
            risk = _at_risk(own, present, past[:number], weekend, d)
            exposed += len(risk)
            gone += sum(not present[r][d] for r in risk)
            if number >= _AT_RISK:
                looked += 1
                came += sum(present[r][d] and not any(present[r][e] for e in past[:number]) for r in own)
        risk = _at_risk(own, present, past, weekend, last)
        firm = scope in _HARDWARE
        usual_gone = (gone + _PRIOR) / (exposed + (_BEFORE_GONE if firm else 1)) * max(1, len(risk))
        usual_new = (came + _PRIOR) / (looked + (_BEFORE_NEW if firm else 1))
        for r in own:
            now, ever = bool(present[r][last]), any(present[r][e] for e in past)
            at_good = good is None or bool(present[r][good])
            if not now and (r in risk or (good is not None and at_good)):
                alarm = r in risk and usual_gone <= budget
                found.append(ChangedRow(r, False, usual_gone, alarm, len(columns[r])))
            elif now and past and (not ever or (good is not None and not at_good)):
                alarm = not ever and looked > 0 and usual_new <= budget
                found.append(ChangedRow(r, True, usual_new, alarm, len(columns[r])))
    found.sort(key=lambda c: (not c.alarm, c.usual, c.row))
    return found


def _at_risk(
    rows: Sequence[Row],
    present: dict[Row, NDArray[np.bool_]],
    past: Sequence[int],
    weekend: Sequence[bool],
    day: int,
) -> list[Row]:
    """Rows that were there on each of the last four days of this kind."""
    same = [d for d in past if weekend[d] == weekend[day]][-_AT_RISK:]
    if len(same) < _AT_RISK:
        return []
    return [r for r in rows if all(present[r][d] for d in same)]
