"""A diagnosis as plain data: the same keys in the same order for the same input."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

from satline.diagnosis._results import Diagnosis

FORMAT = 1


def as_plain(value: Any) -> Any:
    """A result as dictionaries, lists, texts and numbers; what is not finite is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): as_plain(v) for k, v in value.items()}
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None


def to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis as dictionaries, lists, texts and numbers; ``format`` counts changes of the keys."""
    return {"format": FORMAT, **as_plain(diagnosis)}


def to_json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON text."""
    return json.dumps(to_dict(diagnosis), ensure_ascii=False, indent=2, allow_nan=False)
