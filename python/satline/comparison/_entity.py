"""A variable of one user, device, … as the measure: VARIABLE@ENTITY, as `analyse correlate` names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from satline.comparison._blocks import Floats, Integers
from satline.errors import InputError
from satline.recording import Recording
from satline.reduction import Filters

if TYPE_CHECKING:
    from satline.correlation import Name


def is_of_entity(measure: str) -> bool:
    """Does it name one entity?"""
    return "@" in measure


def of_entity(
    recording: Recording, measure: str, filters: Filters | None, every_s: float
) -> tuple[Name, Integers, Floats]:
    """What the measure is, and its values with the middle of their observations by the recording's clock.

    Parameters
    ----------
    every_s
        Length of the observations.

    Returns
    -------
    Its name; moments, ns since 1970; values in the name's unit, none of them missing.

    Raises
    ------
    InputError
        The recording has no such variable, or no such entity.
    """
    from satline.correlation import read_panel

    panel = read_panel(recording, every_s=every_s, filters=filters, gap=1, keep_constant=True)
    try:
        place = panel.find(measure)
    except InputError as error:
        raise InputError(f"--measure {measure}: {recording.path}: {error.message}", hint=error.hint) from None
    values = panel.values[place]
    there = np.isfinite(values) & np.isfinite(panel.time_s)
    return (
        panel.names[place],
        np.rint(panel.time_s[there] * 1e9).astype(np.int64),
        np.asarray(values[there], dtype=np.float64),
    )
