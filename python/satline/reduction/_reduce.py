"""Readings → observations → load classes → curves [Bard]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from satline.errors import InputError
from satline.reduction._axes import axis_named, usual_axis
from satline.reduction._classes import Classing, make_classes
from satline.reduction._curves import make_batches, make_curves, with_shares
from satline.reduction._filters import Filters, has_rows, recorded, users_condition
from satline.reduction._missing import missing_variables
from satline.reduction._observations import make_scopes
from satline.reduction._periods import make_observations, plan
from satline.reduction._readings import readings_of
from satline.reduction._results import Curves
from satline.reduction._source import Settings, Source
from satline.reduction._statistics import Floats, Integers
from satline.reduction._tasks import BusyTask, busy_tasks
from satline.reduction._transactions import make_transactions
from satline.reduction._values import bound_memory, make_values
from satline.reduction._variables import Derived, Variables
from satline.reduction._variables import variables as shipped


@dataclass(frozen=True, kw_only=True)
class Reduction(Curves):
    """Curves with the observations they were made of, for analyses that need more than class means.

    observations
        By variable, one value per observation, NaN where missing; all of the same length. A variable is read
        when it is first asked for. Only the variables that were reduced, and what they are made of, are here.
    load
        Load of each observation.
    number
        Class of each observation, −1 for none.
    batches
        Block of successive observations to which each belongs: blocks are taken as independent.
    seconds
        Length of each observation.
    tasks
        The busiest threads of each class.
    """

    settings: Settings
    observations: Mapping[str, Floats] = field(repr=False)
    load: Floats = field(repr=False)
    number: Integers = field(repr=False)
    batches: Integers = field(repr=False)
    seconds: Floats = field(repr=False)
    tasks: tuple[BusyTask, ...] = ()


def reduce(
    recording: Source,
    load_axis: str | None = None,
    observation_s: float | None = None,
    *,
    filters: Filters | None = None,
    variables: Sequence[str] | None = None,
    also: Sequence[str] = (),
    classes: str | None = None,
    class_width: float | None = None,
    class_observations: int | None = None,
) -> Reduction:
    """Reduce a recording to curves of its variables against load.

    Parameters
    ----------
    load_axis
        One of `LOAD_AXES`, or the name of a derived variable or of a level or counter (then its rate) of
        table system. Default: ``users`` (intended by a study's step) where the recording has measured
        windows, else what the recording states (``load_axis``), else the first that was recorded of
        ``active_users``, ``in_queue``, ``in_flight``, ``run_queue``, ``load_average``, ``sessions`` and
        ``in_system``.
    observation_s
        Length of an observation; default the sampling interval, at least 1 s in windows and 10 s elsewhere.
    variables
        Only these, and nothing is read that they do not need; default: every derived variable. A variable of
        devices or probes may be told of one, as in ``device_busy:sda``.
    also
        With every derived variable: these too, such as a level of table system.
    classes
        ``equal-count`` or ``equal-count:N``: N classes of about equal size. Default: classes of equal width.
    class_width, class_observations
        Loads in a class, by default two users, or a round number that makes about 20 classes; and
        observations that a class must at least have, by default 50, or fewer where there are few. With axis
        ``users`` each step is a class.

    Raises
    ------
    InputError
        An unknown load axis or variable; ``users`` without measured windows; fewer than two samples.
    """
    if observation_s is not None and not observation_s > 0:
        raise InputError(f"observation length {observation_s} s", hint="give a length above 0")
    catalogue = shipped()
    how = Classing.of(classes, class_width, class_observations)
    asked = None if load_axis is None else axis_named(load_axis, catalogue)
    wanted, members = _wanted(catalogue, variables, also)
    readings = readings_of(recording)
    connection = readings.connection
    bound_memory(connection)
    settings = Settings.of(recording)
    chosen = filters or Filters()
    the_plan = plan(connection, settings, observation_s, None)
    if the_plan is None:
        raise InputError("the recording holds no two samples of table system", hint="record for longer")
    if asked is not None and not asked.variable and not the_plan.windows:
        raise InputError("load axis users: the recording has no measured windows", hint="use active_users")
    transactions = has_rows(connection, '"transaction"')
    users = users_condition(connection, chosen, transactions)
    axis = asked or usual_axis(
        the_plan.windows,
        lambda name: recorded(connection, catalogue, name, users),
        catalogue,
        settings.load_axis,
    )
    load_variable = [d] if (d := catalogue.find(axis.variable)) else []
    made = catalogue.closure([*wanted, *load_variable])
    columns = catalogue.columns(made)
    for table in (*(d.per for d in made if d.per), *(("task",) if variables is None else ())):
        columns.setdefault(table, frozenset())
    scopes = {t: c for t, c in columns.items() if t != "system" and has_rows(connection, f'"{t}"')}
    if settings.cgroup is None:
        scopes.pop("cgroup", None)
    alone = not scopes
    system = columns.get("system", frozenset())
    make_observations(
        connection,
        the_plan,
        chosen,
        tuple(c for c in catalogue.counters["system"] if c in system),
        tuple(c for c in catalogue.levels["system"] if c in system),
        alone=alone,
    )
    if "transaction" in scopes:
        make_transactions(connection, chosen)
    if scopes:
        make_scopes(connection, catalogue, settings, the_plan, users, scopes, readings)
    values = make_values(
        connection, catalogue, settings, [d for d in made if not d.per], frozenset(scopes), alone=alone
    )
    load = values.read([axis.variable or "load"])[axis.variable or "load"]
    seconds = values.read(["period_s"])["period_s"]
    stretch = "stretch" if the_plan.windows else "run"
    batches = make_batches(values.read([stretch])[stretch])
    load_classes, number = make_classes(load, seconds, axis, how)
    seen = [d for d in wanted if not d.per or d.per in scopes]
    curves = make_curves(connection, seen, values, number, batches, len(load_classes))
    if members is not None:
        curves = {n: c for n, c in curves.items() if n in members or n.partition(":")[0] in members}
        wanted = [d for d in wanted if d.name in {m.partition(":")[0] for m in members}]
    return Reduction(
        load_axis=axis.name,
        load_unit=axis.unit,
        filters=chosen.words(),
        observation_s=the_plan.observation_s,
        classes=load_classes,
        curves=curves,
        missing=missing_variables(wanted, curves, recording.sources, transactions, settings),
        settings=settings,
        observations=values,
        load=load,
        number=number,
        batches=batches,
        seconds=seconds,
        tasks=busy_tasks(connection, number, seconds, len(load_classes))
        if variables is None and "task" in scopes
        else (),
    )


def _wanted(
    catalogue: Variables, names: Sequence[str] | None, also: Sequence[str]
) -> tuple[list[Derived], frozenset[str] | None]:
    """The variables to make curves of, and the names of the curves to keep; ``None``: all."""
    wanted = {d.name: d for d in catalogue.derived} if names is None else {}
    asked = also if names is None else names
    for name in (*asked, *sorted(with_shares(frozenset(asked)))):
        base = name.partition(":")[0]
        d = catalogue.find(base)
        if d is None:
            close = get_close_matches(base, catalogue.names(), n=3)
            hint = (
                f"did you mean {' or '.join(close)}?"
                if close
                else "`satline analyse reduce --csv` shows all names"
            )
            raise InputError(f"there is no variable {base}", hint=hint)
        wanted[base] = d
    return list(wanted.values()), None if names is None else frozenset(names)


def needed_columns(catalogue: Variables | None = None) -> dict[str, frozenset[str]]:
    """By table, the counters and levels that some derived variable needs."""
    catalogue = catalogue or shipped()
    found = catalogue.columns(catalogue.derived)
    return {table: found.get(table, frozenset()) for table in catalogue.counters}
