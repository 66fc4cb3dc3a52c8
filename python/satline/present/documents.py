"""Results as documents: the JSON of every command.

A document is an object that begins with ``format`` (the version of all documents; it rises when a key goes
or changes its meaning, and not when one is added) and ``kind`` (which command's it is). `schemas` has what
each kind consists of.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from pathlib import PurePath
from typing import Any

FORMAT = 1


def plain(value: Any) -> Any:
    """A result as dictionaries, lists, texts, numbers and null, the same for the same result.

    Dataclasses and models become objects; enums their values; dates and times ISO 8601; paths text; NumPy's
    and Arrow's scalars and arrays numbers and lists; what is not finite is null.

    Raises
    ------
    TypeError
        For what is none of these.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(by_alias=True))
    for convert in ("as_py", "tolist"):  # of Arrow's scalars; of NumPy, and of Arrow's arrays
        if hasattr(value, convert):
            return plain(getattr(value, convert)())
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("bytes have no plain form")
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return plain(float(value))


def document(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """The document of this kind: the keys of each part, a result or a mapping, then those of `more`."""
    content = {"format": FORMAT, "kind": kind}
    for part in (*parts, more):
        content |= plain(part)
    return content


def text(content: Mapping[str, Any], *, one_line: bool = False) -> str:
    """A document as JSON, in ASCII: names that are no text, or act on a terminal, are escaped."""
    return json.dumps(content, indent=None if one_line else 2, allow_nan=False)
