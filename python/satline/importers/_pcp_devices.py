"""Processors and devices of a PCP archive: one by one where they were logged so, else all together."""

from __future__ import annotations

from typing import Any

import numpy as np

from satline.importers import _pcp_map as pcp_map
from satline.importers._pcp_tables import Columns, used
from satline.importers._sink import Floats, Sink

ALL = "all"
Entities = dict[str, dict[str, Any]]
_BUSY = ("user_us", "system_us", "idle_us")
# How far the processors' times may be from a whole number of processors for their number to be read off.
_NEAR = 0.1
# Part of the readings without single processors beyond which all together are taken throughout: a counter of
# all and those of the single ones do not go on from each other.
_MOST_LACKING = 0.02


def processors(columns: Columns, sink: Sink) -> Entities:
    """By processor its columns. The readings, or all, that lack single processors have the row `all`.

    All together are taken throughout where more kinds of time were logged of them than of the single ones.
    """
    name = columns.archive.base.name
    found = columns.entities(pcp_map.PROCESSOR, pcp_map.EACH_CPU)
    each: Entities = {name.removeprefix("cpu"): dict(c) for name, c in found.items()}
    every = {c: columns.scalar(choices, pcp_map.ALL_CPU) for c, choices in pcp_map.PROCESSOR.items()}
    whole = {c: v for c, v in every.items() if v is not None} or _of_nodes(columns)
    seen = {c for one in each.values() for c, v in one.items() if np.isfinite(v).any()}
    said = {c for c, v in whole.items() if np.isfinite(v).any()}
    if each and len(said.intersection(_BUSY)) > len(seen.intersection(_BUSY)):
        lacking = ", ".join(sorted(said - seen))
        sink.note(f"{name}: of single processors {lacking} was not logged: all processors are one row")
        _count(columns, whole, len(each), sink)
        return {ALL: whole}
    if not each:
        if whole:
            _count(columns, whole, 0, sink)
        return {ALL: whole} if whole else {}
    known = np.any([np.isfinite(v) for one in each.values() for v in one.values()], axis=0)
    rest = {c: np.where(known, np.nan, v) for c, v in whole.items()}
    lacking_part = float(np.mean(np.any([np.isfinite(v) for v in rest.values()], axis=0))) if rest else 0.0
    if lacking_part > _MOST_LACKING:
        sink.note(
            f"{name}: {int((~known).sum())} readings lack the single processors: all processors are one row"
        )
        _count(columns, whole, len(found), sink)
        return {ALL: whole}
    if lacking_part:
        each[ALL] = rest
        sink.note(
            f"{name}: {int((~known).sum())} readings have all processors in one row: single ones were not"
            " logged"
        )
        _count(columns, whole, len(found), sink)
    return each


def _of_nodes(columns: Columns) -> dict[str, Floats]:
    """All processors together, from those of each memory node."""
    nodes = columns.entities(pcp_map.PROCESSOR, pcp_map.NODE_CPU).values()
    names = dict.fromkeys(c for node in nodes for c in node)
    return {c: np.sum([node[c] for node in nodes], axis=0) for c in names if all(c in node for node in nodes)}


def note_busy(columns: Columns, each: Entities, sink: Sink) -> None:
    """Say what busy means where kinds of processor time are lacking."""
    seen = {c for one in each.values() for c, v in one.items() if c in _BUSY and np.isfinite(v).any()}
    lacking = [c.removesuffix("_us") for c in ("user_us", "system_us") if c not in seen]
    name = columns.archive.base.name
    if not each or not lacking:
        return
    if "idle_us" in seen:
        sink.note(
            f"{name}: {' and '.join(lacking)} time of the processors was not logged: busy is taken to be what"
            " is not idle, which counts waiting for I/O as busy: at most so much was busy"
        )
    else:
        sink.note(
            f"{name}: {' and '.join(lacking)} and idle time of the processors were not logged: how busy they"
            " were cannot be told, but that they were at least as busy as what was logged"
        )


def _count(columns: Columns, whole: dict[str, Floats], single: int, sink: Sink) -> None:
    """State how many processors the row `all` stands for, where the archive does not (hinv.ncpu)."""
    if columns.archive.get("hinv.ncpu") is not None:
        return
    name = columns.archive.base.name
    if single:
        sink.processors(single)
        return
    if all(c in whole for c in _BUSY):
        total = np.sum([whole[c] for c in whole if c != "guest_us"], axis=0)
        with np.errstate(invalid="ignore"):
            rate = np.diff(total) / np.diff(columns.grid.time_ns) * 1000
        rate = rate[np.isfinite(rate) & (rate > 0)]
        many = float(np.median(rate)) if len(rate) else 0.0
        if many > 0.5 and abs(many - round(many)) <= _NEAR * many:
            sink.processors(round(many))
            sink.note(
                f"{name}: how many processors there are is not logged (hinv.ncpu): {round(many)}, because"
                f" their times add up to {many:.3g} s in a second"
            )
            return
    sink.note(f"{name}: how many processors there are is not logged (hinv.ncpu)")


def devices(columns: Columns, sink: Sink) -> Entities:
    """By device its columns and its kind; all disks as device `all` where no single one was logged."""
    made: Entities = {}
    idle: Entities = {}
    for prefix, (kind, choices) in pcp_map.DEVICES.items():
        if prefix == pcp_map.DISKS_BY_NAME and any(d["device_kind"] == "block" for d in made.values()):
            continue
        for name, found in columns.entities(choices, prefix).items():
            _leave_out(found)
            if used(found):
                made.setdefault(name, {"device_kind": kind}).update(found)
                if kind != "block":
                    made[name]["device_kind"] = kind
            elif kind == "block" and prefix != pcp_map.DISKS_BY_NAME:
                idle.setdefault(name, {"device_kind": kind}).update(found)
    if not any(d["device_kind"] == "block" for d in made.values()):
        _all_disks(columns, made, sink)
    if not any(d["device_kind"] == "block" for d in made.values()):
        # That no disk had any request is an answer; one such disk beside others is none.
        made |= {name: found for name, found in idle.items() if name not in made}
    return made


def _leave_out(found: dict[str, Floats]) -> None:
    """Leave out what says less than two other columns that are there."""
    for column, better in pcp_map.INSTEAD.items():
        if all(b in found for b in better):
            found.pop(column, None)


def _all_disks(columns: Columns, made: Entities, sink: Sink) -> None:
    known = {c: columns.scalar(choices, "disk.all") for c, choices in pcp_map.ALL_DISKS.items()}
    found = {c: v for c, v in known.items() if v is not None}
    _leave_out(found)
    number = columns.archive.get("hinv.ndisk")
    single = number is not None and number.value[-1] == 1
    if single:
        busy = columns.scalar(pcp_map.ALL_DISKS_BUSY, "disk.all")
        found |= {} if busy is None else {"busy_us": busy}
    if not found or ALL in made or (not used(found) and columns.archive.get("disk.dev.total") is not None):
        return
    made[ALL] = {"device_kind": "block", **found}
    sink.note(
        f"{columns.archive.base.name}: disks were not logged one by one (disk.dev): device `{ALL}` stands for"
        + (" the only disk" if single else " all of them together, so how busy the busiest is cannot be told")
    )
