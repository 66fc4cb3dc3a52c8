"""What files of simulated studies and of calibrations share: settings by dotted key, names of measures."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from satline.dotted import flat
from satline.simulation._measures import USUAL, is_measure
from satline.simulation._runner import Setting


def _known(name: str) -> str:
    if not is_measure(name):
        raise ValueError(f'there is no measure "{name}"; some are: {", ".join(USUAL)}')
    return name


Sets = Annotated[dict[str, Setting], BeforeValidator(flat)]
MeasureName = Annotated[str, AfterValidator(_known)]
