"""Settings by dotted key: ``limits.memory`` stands for the key memory in the table limits."""

from __future__ import annotations

from typing import Any


def flat(value: Any) -> Any:
    """Nested tables as dotted keys: ``storage.pageable_frames = 200`` is a table in a table."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, inner in value.items():
        below = flat(inner)
        found |= {f"{key}.{k}": v for k, v in below.items()} if isinstance(below, dict) else {key: below}
    return found


def put(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key; tables on the way are made, and what is no table on the way gives way to one.

    A key that holds a list gets a list of one: ``load.users`` as 24 is [24].
    """
    *tables, last = key.split(".")
    for name in tables:
        below = values.get(name)
        if not isinstance(below, dict):
            below = values[name] = {}
        values = below
    values[last] = [value] if isinstance(values.get(last), list) and not isinstance(value, list) else value
