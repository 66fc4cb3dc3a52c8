"""Variables by time, hour, user, device or lock: the formulas of curves against load, in other groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import duckdb
import numpy as np

from satline.errors import InputError
from satline.reduction._curves import make_curves, with_shares
from satline.reduction._filters import Filters
from satline.reduction._group_times import batches_of, stretches
from satline.reduction._group_users import expand
from satline.reduction._missing import missing_variables
from satline.reduction._observations import make_scopes
from satline.reduction._periods import make_observations, plan
from satline.reduction._results import Curve
from satline.reduction._source import Settings, Source, reading
from satline.reduction._statistics import EMPTY
from satline.reduction._transactions import make_transactions
from satline.reduction._values import Columns, bound_memory, make_values
from satline.reduction._variables import Derived, variables

By = Literal["time", "hour", "user", "device", "lock"]


@dataclass(frozen=True)
class Group:
    """One group.

    low, high, at
        Its ends and its middle: in seconds since 1970 by the clock of the zone, or in hours of the day;
        ``None`` for a name.
    observations, seconds
        As of a load class.
    """

    label: str
    low: float | None
    high: float | None
    at: float | None
    observations: int
    seconds: float


@dataclass(frozen=True)
class Groups:
    """Variables by group: `curves[v].points[i]` belongs to `classes[i]`.

    missing
        Variable name → why it is missing.
    notes
        What the reader must know: groups left out.
    """

    by: By
    observation_s: float
    classes: tuple[Group, ...]
    curves: dict[str, Curve]
    missing: dict[str, str]
    notes: tuple[str, ...] = ()


def group(
    recording: Source,
    by: By,
    names: Sequence[str],
    *,
    every_s: float = 3600.0,
    most: int = 15,
    filters: Filters | None = None,
    observation_s: float | None = None,
) -> Groups:
    """Reduce a recording to variables by time, hour of the day, user, device or lock.

    A user's numbers are over the observations in which the user had a process, or that lie between the user's
    first and last transaction; users and devices are ordered by the total of the first one of `names`. Times
    and hours take all of a study, also what lies outside its windows.

    Parameters
    ----------
    names
        Variables wanted, as of `reduce`; by user only `user_variables`, by device or lock only those of each.
    every_s
        Length of a stretch of time.
    most
        Users, devices or locks to keep.
    filters
        Its zone is also that of hours and days.

    Raises
    ------
    InputError
        Fewer than two samples; a variable that does not exist; too many stretches of time.
    """
    asked = _asked(names)
    work = _work(recording, by, asked, filters or Filters(), observation_s)
    times = work.values.read(["time_ns", "period_s", "run"])
    seconds, runs = times["period_s"], times["run"].astype(np.int64)
    groups: list[Group] = []
    number, pieces = np.zeros(len(seconds), dtype=np.int64), runs
    if by == "time" or by == "hour":
        middle = times["time_ns"] / 1e9 - seconds / 2
        groups, number, pieces = stretches(middle, seconds, by == "hour", every_s, work.timezone, Group)
    elif by == "user":
        members = work.connection.execute("SELECT member FROM satline_each ORDER BY obs").fetchnumpy()
        number = np.asarray(members["member"], dtype=np.int64)
        for k, name in enumerate(work.users):
            inside = number == k
            groups.append(Group(name, None, None, None, int(inside.sum()), float(seconds[inside].sum())))
    count = 1 if by in ("device", "lock") else len(groups)
    seen = [d for d in asked if not d.per or d.per in work.scopes]
    batches = batches_of(number, pieces, count)
    curves = make_curves(work.connection, seen, work.values, number, batches, count)
    if by == "device" or by == "lock":
        groups, curves = _by_member(work.connection, curves, by)
    notes: tuple[str, ...] = ()
    if by == "user" or by == "device" or by == "lock":
        groups, curves, notes = _largest(groups, curves, names[0], by, most)
    bases = {name.partition(":")[0] for name in names}
    kept = {n: c for n, c in curves.items() if n in names or n.partition(":")[0] in names}
    wanted = [d for d in asked if d.name in bases]
    missing = missing_variables(wanted, kept, recording.sources, work.transactions, work.settings)
    return Groups(by, work.observation_s, tuple(groups), kept, missing, notes)


def _asked(names: Sequence[str]) -> list[Derived]:
    """The variables of these names; with one share of transaction time all, which together make a whole."""
    catalogue = variables()
    asked: dict[str, Derived] = {}
    for name in (*names, *sorted(with_shares(frozenset(names)))):
        base = name.partition(":")[0]
        found = catalogue.find(base)
        if found is None:
            raise InputError(f"there is no variable {base}", hint="docs/reference/variables.md lists them")
        asked[base] = found
    return list(asked.values())


@dataclass(frozen=True)
class _Work:
    """The tables of a reduction, made.

    scopes
        Tables read, with the columns needed of each.
    users
        With a reduction by user: their names, by number.
    transactions
        The recording holds some.
    """

    connection: duckdb.DuckDBPyConnection
    settings: Settings
    observation_s: float
    timezone: str
    scopes: Mapping[str, frozenset[str]]
    values: Columns
    users: Sequence[str]
    transactions: bool


def _work(
    recording: Source, by: By, asked: Sequence[Derived], filters: Filters, observation_s: float | None
) -> _Work:
    catalogue, settings = variables(), Settings.of(recording)
    connection = reading(recording)
    bound_memory(connection)
    the_plan = plan(connection, settings, observation_s, False if by in ("time", "hour") else None)
    if the_plan is None:
        raise InputError("the recording holds no two samples of table system", hint="record for longer")
    made = catalogue.closure(asked)
    columns = catalogue.columns(made)
    for d in made:
        if d.per:
            columns.setdefault(d.per, frozenset())
    if by == "user":
        columns.setdefault("user", frozenset())  # it says when a user was there
    scopes = {t: c for t, c in columns.items() if t != "system" and _has_rows(connection, t)}
    if settings.cgroup is None:
        scopes.pop("cgroup", None)
    system = columns.get("system", frozenset())
    counters = tuple(c for c in catalogue.counters["system"] if c in system)
    levels = tuple(c for c in catalogue.levels["system"] if c in system)
    make_observations(connection, the_plan, filters, counters, levels, alone=False)
    if "transaction" in scopes:
        make_transactions(connection, filters)
    which = f"left(\"user\", 1) <> '_' AND {filters.user_sql()}"
    make_scopes(connection, catalogue, settings, the_plan, which, scopes)
    users = expand(connection, catalogue, the_plan, which, scopes) if by == "user" else ()
    whole = [d for d in made if not d.per]
    values = make_values(connection, catalogue, settings, whole, frozenset(scopes), alone=False)
    return _Work(
        connection=connection,
        settings=settings,
        observation_s=the_plan.observation_s,
        timezone=filters.timezone,
        scopes=scopes,
        values=values,
        users=users,
        transactions=_has_rows(connection, "transaction"),
    )


def _has_rows(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    return bool(connection.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchall())


def _by_member(
    connection: duckdb.DuckDBPyConnection, curves: dict[str, Curve], by: str
) -> tuple[list[Group], dict[str, Curve]]:
    """A group for each device or lock, of curves that have one point for each of them."""
    if not curves:
        return [], {}
    groups = [
        Group(str(name), None, None, None, int(count), float(seconds))
        for name, count, seconds in connection.execute(
            f'SELECT "{by}", count(*), sum(period_s) FROM satline_{by} JOIN satline_observation USING (obs)'
            f' GROUP BY "{by}" ORDER BY "{by}"'
        ).fetchall()
    ]
    made: dict[str, Curve] = {}
    for base in dict.fromkeys(name.partition(":")[0] for name in curves):
        one = next(curve for name, curve in curves.items() if name.partition(":")[0] == base)
        points = tuple(
            curve.points[0] if (curve := curves.get(f"{base}:{group.label}")) else EMPTY for group in groups
        )
        made[base] = replace(one, variable=base, points=points)
    return groups, made


def _largest(
    groups: list[Group], curves: dict[str, Curve], first: str, by: By, most: int
) -> tuple[list[Group], dict[str, Curve], tuple[str, ...]]:
    """The groups with the largest totals of the variable `first`, and what to say of the others."""
    leading = curves.get(first) or next(iter(curves.values()), None)

    def total(k: int) -> float:
        mean = leading.points[k].mean if leading is not None else None
        return -1.0 if mean is None else mean * groups[k].seconds

    order = sorted(range(len(groups)), key=lambda k: (-total(k), groups[k].label))[:most]
    curves = {n: replace(c, points=tuple(c.points[k] for k in order)) for n, c in curves.items()}
    notes: tuple[str, ...] = ()
    if len(order) < len(groups):
        notes = (f"The {len(order)} with the largest totals are shown, of {len(groups)} {by}s.",)
    return [groups[k] for k in order], curves, notes
