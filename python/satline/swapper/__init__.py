"""`satline swapper`: the faces of the daemon satline-swapper. docs/concepts/swapper.md says how it works."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.outside import parse_json, parse_toml, read_text
from satline.recording import Recording
from satline.swapper.explain import explain_policy, explain_user
from satline.swapper.policy import Policy, read_policy
from satline.swapper.program import answer
from satline.swapper.status import Status, UserStatus, announce, default_status, read_status
from satline.swapper.unit import make_unit

__all__ = [
    "Policy",
    "Replayed",
    "Status",
    "UserStatus",
    "announce",
    "default_status",
    "explain_policy",
    "explain_user",
    "make_unit",
    "observations",
    "read_policy",
    "read_status",
    "replay",
]

_STORAGE = [
    "total_bytes",
    "free_bytes",
    "low_bytes",
    "high_bytes",
    "pressed",
    "swap_free_bytes",
    "swap_reserve_bytes",
]


@dataclass(frozen=True)
class Replayed:
    """What was decided over the whole recording.

    seconds
        Length of the recording.
    short_seconds
        Time in which storage was short.
    actions
        How often each kind of action was begun: record, trim, swap-out, stop, prepage.
    written_bytes
        What trims and swap-outs asked for at most.
    out_user_seconds
        User-seconds in the states trimmed, partly or swapped.
    """

    seconds: float
    short_seconds: float
    actions: dict[str, int]
    written_bytes: int
    out_user_seconds: float


def observations(path: Path) -> Iterator[dict[str, Any]]:
    """What a daemon saw, sample by sample, as the program's `replay` reads it.

    Raises
    ------
    InputError
        The recording has no swapper's rows.
    """
    recording = Recording.open(path)
    if "swapper_user" not in recording.tables():
        raise InputError(
            f"{path} holds nothing of a swapper", hint="record one: satline swapper run --recording DIR"
        )
    page_bytes = _page_bytes(path)
    with recording.connect() as connection:
        system = connection.execute(
            f"SELECT monotonic_ns, {', '.join(_STORAGE)} FROM swapper ORDER BY run, monotonic_ns"
        ).fetchall()
        users = connection.execute(
            'SELECT monotonic_ns, "user", active, faulted, announced, interactive, resident_bytes, '
            "working_set_pages, outside_pages FROM swapper_user ORDER BY run, monotonic_ns"
        ).fetchall()
    numbers: dict[str, int] = {}
    by_time: dict[int, list[dict[str, Any]]] = {}
    for time_ns, name, active, faulted, announced, interactive, resident, working, outside in users:
        seen = {
            "id": numbers.setdefault(name, len(numbers) + 1),
            "active": bool(active),
            "faulted": bool(faulted),
            "announced": bool(announced),
            "interactive": bool(interactive),
            "resident_bytes": resident or 0,
            "working_set_bytes": None if working is None else working * page_bytes,
            "outside_bytes": (outside or 0) * page_bytes,
        }
        by_time.setdefault(time_ns, []).append(seen)
    for time_ns, *values in system:
        storage = dict(zip(_STORAGE, values, strict=True))
        known = all(value is not None for value in values)
        yield {
            "time_us": time_ns // 1000,
            "storage": {**storage, "pressed": bool(storage["pressed"])} if known else None,
            "users": by_time.get(time_ns, []),
        }


def _page_bytes(path: Path) -> int:
    host = parse_toml(read_text(path / "recording.toml")).get("host", {})
    size = host.get("page_bytes")
    if not isinstance(size, int):
        raise InputError(
            f"{path / 'recording.toml'}: [host] has no page_bytes",
            hint="the swapper writes it; is this its own?",
        )
    return size


def replay(path: Path, policy: Path) -> Replayed:
    """Decide on everything that the recording at `path` saw, under the policy in the file `policy`.

    Work takes no time there, and a user returns when it did; free memory is what was recorded, corrected by
    the difference of what is outside.

    Raises
    ------
    InputError
        The recording has no swapper's rows, or the policy is wrong.
    """
    text = "".join(json.dumps(one) + "\n" for one in observations(path))
    decided = answer("replay", str(policy), told=text)
    return _summed([parse_json(line) for line in decided.splitlines()])


def _summed(decided: list[dict[str, Any]]) -> Replayed:
    actions: Counter[str] = Counter()
    written = 0
    short_us = out_us = 0
    for one, after in zip(decided, [*decided[1:], None], strict=True):
        length_us = after["time_us"] - one["time_us"] if after else 0
        short_us += length_us * one["short"]
        out_us += length_us * sum(state in ("trimmed", "partly", "swapped") for _, state in one["states"])
        for action in one["actions"]:
            ((kind, what),) = action.items()
            actions[kind] += 1
            written += what.get("bytes", 0)
    seconds = (decided[-1]["time_us"] - decided[0]["time_us"]) / 1e6 if decided else 0.0
    return Replayed(seconds, short_us / 1e6, dict(actions), written, out_us / 1e6)
