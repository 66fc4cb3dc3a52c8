"""What files of simulated studies and of calibrations share: settings by dotted key, names of measures."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from satline.simulation._measures import USUAL, known
from satline.simulation._runner import Setting


def flat(value: Any) -> Any:
    """Nested tables as dotted keys: ``storage.pageable_frames = 200`` is a table in a table."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, inner in value.items():
        below = flat(inner)
        found |= {f"{key}.{k}": v for k, v in below.items()} if isinstance(below, dict) else {key: below}
    return found


def _known(name: str) -> str:
    if not known(name):
        raise ValueError(f'there is no measure "{name}"; some are: {", ".join(USUAL)}')
    return name


Sets = Annotated[dict[str, Setting], BeforeValidator(flat)]
MeasureName = Annotated[str, AfterValidator(_known)]
