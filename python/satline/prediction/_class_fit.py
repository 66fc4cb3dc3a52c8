"""The model with classes whose pauses, waits and delays agree with what was seen at light load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from satline.prediction._accounts import Accounts
from satline.prediction._class_demands import Division
from satline.prediction._class_model import ClassModel
from satline.prediction._class_stations import First
from satline.prediction._demands import Blocks, Demand, surely_positive
from satline.prediction._model import LIGHT, ROUNDS
from satline.prediction._network import Floats
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA, Signals

WAIT_ROUNDS = 8
FAR = 4.0
MOST_WAITED = 20.0


def fit_classes(
    demands: Sequence[Demand],
    division: Division,
    chosen: Signals,
    blocks: Blocks,
    seen: Mapping[int, Floats],
    think_s: Floats,
    known_think: bool,
) -> ClassModel:
    """Fit the model.

    Parameters
    ----------
    seen
        What part of the users each chain was, by number of users.
    think_s
        Pause of the mean user, by draw; known_think: it was given, and holds for all.
    """
    accounts = division.accounts
    draws, classes = len(division.done), len(accounts.classes)
    parts = _parts(seen, blocks, accounts)
    part = (parts * blocks.load).sum(axis=1) / blocks.load.sum()
    pause = np.repeat(think_s[:, None], len(part), axis=1)
    if len(part) > 1 and not known_think:
        pause = _pauses(accounts, chosen, blocks, parts, division)
    model = ClassModel(
        tuple(demands),
        division,
        part,
        seen,
        pause,
        _first(accounts, blocks, demands),
        np.ones((draws, 2)),
        np.zeros((draws, classes)),
    )
    light = _light(model, blocks)
    model = _with_waits(model, blocks, light)
    return _with_delays(model, blocks, light)


def _parts(seen: Mapping[int, Floats], blocks: Blocks, accounts: Accounts) -> Floats:
    """The chains' parts at each load class of the blocks."""
    everywhere = accounts.part.mean(axis=1)
    return np.stack([seen.get(round(float(n)), everywhere) for n in blocks.load], axis=1)


def _pauses(accounts: Accounts, chosen: Signals, blocks: Blocks, parts: Floats, division: Division) -> Floats:
    """Z_h = (N_h T − time in transactions) / transactions, by Little's law, of each chain."""
    seconds = blocks.drawn(chosen.seconds)
    there = np.einsum("hl,l,dl->dh", parts, blocks.load, seconds)
    inside = np.stack([blocks.drawn(v.sum(axis=0)).sum(axis=1) for v in accounts.sums["response_s"]], axis=1)
    return np.asarray(np.maximum(there - inside, 0.0) / np.maximum(division.done.sum(axis=2), 1e-300))


def _first(accounts: Accounts, blocks: Blocks, demands: Sequence[Demand]) -> First | None:
    """What part of each class's processor time is before the end of Q1, where Q1 surely goes first."""
    sums = accounts.sums
    if "first_s" not in sums or not any(d.name in (PROCESSORS, QUOTA) for d in demands):
        return None
    total = {
        name: blocks.drawn(sums[name].sum(axis=(0, 1))).sum(axis=1)
        for name in ("cpu_s", "run_delay_s", "quick_cpu_s", "quick_delay_s")
    }
    quick = total["quick_delay_s"] / np.maximum(total["quick_cpu_s"], 1e-300)
    slow = (total["run_delay_s"] - total["quick_delay_s"]) / np.maximum(
        total["cpu_s"] - total["quick_cpu_s"], 1e-300
    )
    if not surely_positive(slow - quick):
        return None
    first, whole = (
        np.stack([blocks.drawn(v).sum(axis=1) for v in sums[name].sum(axis=0)], axis=1)
        for name in ("first_s", "cpu_s")
    )
    part = np.where(whole > 0, first / np.maximum(whole, 1e-300), 1.0)
    return First(part, _burst(accounts, blocks))


def _burst(accounts: Accounts, blocks: Blocks) -> float:
    """How long what ends in Q1 runs from one wait for a page or an I/O to the next, over how long the rest
    does; 1 where these are not known."""
    if "bursts" not in accounts.sums:
        return 1.0
    cpu, bursts, quick_cpu, quick_bursts = (
        float(accounts.sums[name][:, :, blocks.good].sum())
        for name in ("cpu_s", "bursts", "quick_cpu_s", "quick_bursts")
    )
    quick = quick_cpu / max(quick_bursts, 1.0)
    rest = (cpu - quick_cpu) / max(bursts - quick_bursts, 1.0)
    return quick / rest if rest > 0 and quick > 0 else 1.0


def _light(model: ClassModel, blocks: Blocks) -> list[int]:
    """Load classes well below saturation, by their place; the lightest one in any case."""
    limit = LIGHT * float(model.saturation_users[0])
    return [k for k, load in enumerate(blocks.load) if k == 0 or load <= limit]


def _by_load(values: Floats, blocks: Blocks, light: list[int]) -> Floats:
    """Sums by draw and light load, of one value for each observation."""
    return blocks.drawn(values)[:, light]


def _users(blocks: Blocks, light: list[int]) -> list[int]:
    return [max(1, round(float(blocks.load[k]))) for k in light]


def _with_waits(model: ClassModel, blocks: Blocks, light: list[int]) -> ClassModel:
    """What transactions wait for of the devices' busy time: so much that waits are as they were seen."""
    accounts = model.division.accounts
    devices = [d for d in model.demands if d.name == CAP or d.name.startswith(DEVICE)]
    if not devices or not {"page_wait_s", "io_wait_s", "page_reads", "ios"} <= accounts.sums.keys():
        return model
    measured = np.stack(
        [
            _by_load(accounts.sums[name].sum(axis=(0, 1)), blocks, light).sum(axis=1)
            for name in ("page_wait_s", "io_wait_s")
        ],
        axis=1,
    )
    done = _by_load(accounts.done.sum(axis=(0, 1)), blocks, light)
    for _ in range(WAIT_ROUNDS):
        levels = [model.at(n) for n in _users(blocks, light)]
        made = np.stack(
            [
                sum(done[:, k] * getattr(level, name) for k, level in enumerate(levels))
                for name in ("page_wait_s", "io_wait_s")
            ],
            axis=1,
        )
        factor = np.where(made > 0, measured / np.maximum(made, 1e-300), 1.0)
        waited = np.clip(model.waited * np.clip(factor, 1 / FAR, FAR), 1e-3, MOST_WAITED)
        model = replace(model, waited=waited)
    return model


def _with_delays(model: ClassModel, blocks: Blocks, light: list[int]) -> ClassModel:
    """What each class takes at light load beyond its demands and their queues; 0 where not surely there."""
    accounts = model.division.accounts
    done = np.stack([_by_load(v, blocks, light) for v in accounts.done.sum(axis=0)], axis=2)
    seconds = np.stack([_by_load(v, blocks, light) for v in accounts.sums["response_s"].sum(axis=0)], axis=2)
    count = np.maximum(done.sum(axis=1), 1e-300)
    there: list[bool] | None = None
    for _ in range(ROUNDS):
        levels = [model.at(n).class_response_s for n in _users(blocks, light)]
        made = sum(done[:, k] * level for k, level in enumerate(levels))
        gap = (seconds.sum(axis=1) - made) / count
        if there is None:
            there = [surely_positive(gap[:, c]) for c in range(gap.shape[1])]
            if not any(there):
                return model
        longer = np.maximum(model.elsewhere_s + gap, 0.0) * np.array(there)
        model = replace(model, elsewhere_s=longer)
    return model
