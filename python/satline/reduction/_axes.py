"""What may be called load: users, queues, requests, or any variable."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

from satline.errors import InputError
from satline.reduction._variables import Variables

# The friendly names, and the variable behind each; that of a study's users is their intended number.
_FRIENDLY = {
    "users": "",
    "active_users": "active_users",
    "in_queue": "mpl",
    "in_flight": "users_in_transaction",
    "run_queue": "runnable_tasks",
    "sessions": "logged_on",
    "requests": "transaction_rate",
    "load_average": "load_average_1",
    "in_system": "tasks_in_system",
}
LOAD_AXES = tuple(_FRIENDLY)
_USERS = ("users", "active_users", "in_queue", "sessions")
_BY_DEFAULT = (
    "active_users",
    "in_queue",
    "in_flight",
    "run_queue",
    "load_average",
    "sessions",
    "in_system",
)
_UNITS = {"in_flight": "requests"}


@dataclass(frozen=True)
class Axis:
    """A load axis.

    variable
        Name of the variable whose value is the load; empty for the intended users of a study's step.
    """

    name: str
    variable: str
    unit: str

    @property
    def users(self) -> bool:
        """The load is a number of users: classes are [Bard]'s."""
        return self.name in _USERS


def axis_named(name: str, catalogue: Variables) -> Axis:
    """The axis of this name: a friendly one, a derived variable, a level or (as a rate) counter of table
    system.

    Raises
    ------
    InputError
        There is none, or it has more than one value in an observation.
    """
    variable = _FRIENDLY.get(name, name)
    friendly = next((f for f, v in _FRIENDLY.items() if v == variable), name)
    if not variable:
        return Axis(name, "", "users")
    d = catalogue.find(variable)
    if d is None:
        close = get_close_matches(name, (*LOAD_AXES, *catalogue.names()), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"choose one of {', '.join(LOAD_AXES)}"
        raise InputError(f"unknown load axis {name!r}", hint=hint)
    if d.per:
        raise InputError(
            f"load axis {name}: an observation has one value for each {d.per}, not one",
            hint=f"choose one of {', '.join(LOAD_AXES)}, or a variable of the whole system",
        )
    unit = _UNITS.get(friendly) or d.unit
    return Axis(friendly, variable, unit or ("tasks" if variable.startswith("tasks") else ""))


def usual_axis(
    windows: bool, recorded: Callable[[str], bool], catalogue: Variables, stated: str | None = None
) -> Axis:
    """The axis where none is asked for: a study's users, else what the recording states to be its load, else
    the first that was recorded of active users, users in queue, requests in flight, run queue, load average,
    users logged on and tasks in the system."""
    if windows:
        return axis_named("users", catalogue)
    if stated is not None:
        with suppress(InputError):
            return axis_named(stated, catalogue)
    names = (n for n in _BY_DEFAULT if recorded(n))
    return axis_named(next(names, "active_users"), catalogue)
