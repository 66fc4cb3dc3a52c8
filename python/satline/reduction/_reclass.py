"""The same observations in other classes: by another load axis, or by anything but load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from satline.reduction._axes import Axis, axis_named
from satline.reduction._classes import Classing, make_classes
from satline.reduction._curves import make_curves
from satline.reduction._reduce import Reduction
from satline.reduction._results import LoadClass
from satline.reduction._statistics import Floats, Integers
from satline.reduction._tasks import busy_tasks
from satline.reduction._values import Columns
from satline.reduction._variables import variables


def on_axis(reduction: Reduction, name: str) -> tuple[Axis, Floats, tuple[LoadClass, ...], Integers] | None:
    """The axis of this name, the load of each observation on it, the classes, and the class of each.

    ``None``: its variable is none of the reduction's. Without measured windows nobody's users are intended,
    and each load is NaN.

    Raises
    ------
    InputError
        There is no such axis.
    """
    axis = axis_named(name, variables())
    variable = axis.variable or "load"
    if variable not in reduction.observations:
        return None
    load = reduction.observations[variable]
    return axis, load, *make_classes(load, reduction.seconds, axis, Classing())


def reclassed(reduction: Reduction, number: Integers, labels: Sequence[str]) -> Reduction:
    """Curves of the same observations against other classes.

    Parameters
    ----------
    reduction
        As `satline.reduction.reduce` gave it, of all variables.
    number
        Class of each observation, −1 for none; shape (observations,).
    labels
        Name of each class. Its bounds and midpoint are its number.

    Raises
    ------
    ValueError
        The reduction was made by hand, so that its variables cannot be read again.
    """
    columns = reduction.observations
    if not isinstance(columns, Columns):
        raise ValueError("only a reduction of a recording can be put in other classes")
    count = len(labels)
    classes = tuple(
        LoadClass(
            float(k),
            float(k),
            float(k),
            int((number == k).sum()),
            float(reduction.seconds[number == k].sum()),
            label,
        )
        for k, label in enumerate(labels)
    )
    known = {name.partition(":")[0] for name in reduction.curves}
    wanted = [d for d in variables().derived if d.name in known]
    return replace(
        reduction,
        classes=classes,
        curves=make_curves(columns.connection, wanted, columns, number, reduction.batches, count),
        number=number,
        load=np.where(number >= 0, number, np.nan).astype(np.float64),
        tasks=busy_tasks(columns.connection, number, reduction.seconds, count) if reduction.tasks else (),
    )
