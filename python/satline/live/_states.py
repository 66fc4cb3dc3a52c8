"""What each user did in the last seconds: parts of the time that was not dormant, from accumulated times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from satline.live._window import Seen, Window
from satline.reduction import group

# Variable, heading of its column, words.
PARTS = (
    ("user_run", "run", "running"),
    ("user_cpu_wait", "CPU wait", "waiting for a processor"),
    ("user_page_wait", "page", "waiting for pages, loading included"),
    ("user_io_wait", "I/O", "waiting for I/O"),
    ("user_throttled", "quota", "held back by the quota"),
    ("user_admission_wait", "eligible", "held back by admission"),
)
DORMANT = "user_dormant"
_MOST = 100_000
# A part of the time too small to be more than rounding.
_NOTHING = 1e-9


@dataclass(frozen=True)
class UserState:
    """One user.

    active
        Users (or tasks of the user, several at once) that were not dormant, mean over the window.
    parts
        Of that time, by variable of `PARTS`, as fractions that make 1; ``None``: not told.
    dormant
        Part of the window in which the user was logged on with no task pending; ``None``: not told.
    """

    user: str
    active: float
    parts: Mapping[str, float | None]
    dormant: float | None


@dataclass(frozen=True)
class UserStates(Seen):
    """States of users in a window that ends at `at`.

    everybody
        All together; `active` and `dormant` are means over the users.
    methods
        By variable: from what it was told, in words.
    missing
        By variable: why no user has it.
    """

    everybody: UserState
    users: Sequence[UserState]
    methods: Mapping[str, str]
    missing: Mapping[str, str]


def user_states(window: Window) -> UserStates:
    """The states of the users in `window`, those who were active longest first."""
    names = [*(name for name, _, _ in PARTS), DORMANT]
    groups = group(window, "user", names, most=_MOST, observation_s=window.seconds)
    users = []
    for k, one in enumerate(groups.classes):
        means = {n: groups.curves[n].points[k].mean if n in groups.curves else None for n in names}
        dormant = means.pop(DORMANT)
        users.append(_state(one.label, means, dormant))
    totals = {
        name: _sum([groups.curves[name].points[k].mean for k in range(len(users))])
        for name in names
        if name in groups.curves
    }
    dormant = totals.pop(DORMANT, None)
    together = _state("", {name: totals.get(name) for name, _, _ in PARTS}, dormant)
    count = max(1, len(users))
    everybody = replace(
        together, active=together.active / count, dormant=None if dormant is None else dormant / count
    )
    users.sort(key=lambda state: (-state.active, state.user))
    methods = _methods(window, groups.curves)
    return UserStates(window.at, window.seconds, window.samples, everybody, users, methods, groups.missing)


def _state(user: str, means: Mapping[str, float | None], dormant: float | None) -> UserState:
    active = sum(value for value in means.values() if value is not None)
    if active <= _NOTHING:
        return UserState(user, 0.0, dict.fromkeys(means), dormant)
    parts = {name: None if value is None else value / active for name, value in means.items()}
    return UserState(user, active, parts, dormant)


def _sum(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return sum(told) if told else None


def _methods(window: Window, seen: Mapping[str, Any]) -> dict[str, str]:
    """From what each part was told: the first column with values decides, as in the catalogue's formula."""
    by: dict[str, str] = {}
    for source in window.sources.values():
        by |= {str(name): str(method) for name, method in source.get("methods", {}).items()}
    connection = window.connect()

    def told(column: str) -> bool:
        found = connection.execute(f'SELECT count("{column}") FROM "user"').fetchone()
        return bool(found and found[0])

    accounts = "accumulated by the source"
    made = {
        "user_run": f"accumulated ({by['user_cpu']})" if "user_cpu" in by else accounts,
        "user_cpu_wait": f"accumulated ({by['run_delay']})" if "run_delay" in by else accounts,
        "user_throttled": "the wait for a processor, by the part of the time that was throttled",
        "user_admission_wait": accounts,
    }
    for name, exact in (("user_page_wait", "page_wait_us"), ("user_io_wait", "io_wait_us")):
        if told(exact):
            made[name] = accounts
        elif told("io_delay_us"):
            made[name] = "accumulated (delay accounting), divided by the share of paging in all reads"
        else:
            made[name] = "sampled task states: no accumulated times here"
    return {name: made[name] for name, _, _ in PARTS if name in seen}
