"""How a resource is divided over time among those who use it [Bitner]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise

import numpy as np

from satline.correlation._panel import Floats, Name, Panel
from satline.errors import InputError

MOST = 6


@dataclass(frozen=True)
class Layers:
    """A variable of each entity, those with the most first.

    names
        The entities; "all others" last where there are more than asked for.
    values
        Shape (entities, moments); NaN where the entity was not there.
    share
        Part of the whole over all time.
    """

    variable: str
    unit: str
    names: tuple[str, ...]
    values: Floats = field(repr=False)
    share: tuple[float, ...]
    time_s: Floats = field(repr=False)
    step_s: float


def layers(panel: Panel, variable: str, *, most: int = MOST) -> Layers:
    """How `variable` is divided among its entities.

    Raises
    ------
    InputError
        No variable of entities of this name, or one that is negative somewhere: it cannot be stacked.
    """
    places = [k for k, n in enumerate(panel.names) if n.variable == variable and n.entity]
    if not places:
        known = sorted({n.variable for n in panel.names if n.entity})
        close = get_close_matches(variable, known, n=3, cutoff=0.4) or known[:4]
        hint = (
            f"choose one of each user, device, …: {', '.join(close)}" if close else "the recording has none"
        )
        raise InputError(f"--layers {variable}: no changing variable of that name is told of each", hint=hint)
    values = panel.values[places]
    if np.nanmin(values) < 0:
        raise InputError(f"--layers {variable}: it is negative somewhere", hint="choose a rate or an amount")
    total = np.nansum(values, axis=1)
    order = np.argsort(-total, kind="stable")
    whole = float(total.sum())
    first, rest = order[:most], order[most:]
    rows = [values[k] for k in first]
    names = [panel.names[places[k]].entity for k in first]
    shares = [float(total[k]) / whole if whole else 0.0 for k in first]
    if len(rest):
        others = values[rest]
        rows.append(np.where(np.isfinite(others).any(axis=0), np.nansum(others, axis=0), np.nan))
        names.append(f"all {len(rest)} others")
        shares.append(float(total[rest].sum()) / whole if whole else 0.0)
    one: Name = panel.names[places[0]]
    return Layers(variable, one.unit, tuple(names), np.array(rows), tuple(shares), panel.time_s, panel.step_s)


def thin(values: Floats, most: int) -> Floats:
    """Means of at most `most` equal stretches, NaN where one has none; shape (…, most)."""
    n = values.shape[-1]
    if n <= most:
        return values
    edges = np.linspace(0, n, most + 1).astype(np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.stack(
            [np.nanmean(values[..., a:b], axis=-1) for a, b in pairwise(edges.tolist())],
            axis=-1,
        )
