"""A recording → throughput and response by users, what saturates first and at how many, and what if."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from satline.diagnosis import (
    Estimate,
    Integers,
    Series,
    UslFit,
    absent_users,
    in_users,
    independent,
    lateness_of,
    make_levels,
    nongranular,
    student,
    usl,
)
from satline.prediction._by_class import Asked, by_class, taken_for_alike
from satline.prediction._demands import Demand, Sums, demands, growth, sums
from satline.prediction._model import Model, fit
from satline.prediction._network import Floats
from satline.prediction._results import Prediction, Row, Scenario, StationDemand
from satline.prediction._signals import PROCESSORS, QUOTA, Signals, counted_by_work, signals
from satline.prediction._trend import bend, bend_loads
from satline.prediction._weaknesses import assumptions, difference, estimate, heavy, pairs, weaknesses
from satline.prediction._whatif import Change, apply
from satline.reduction import Filters, Reduction, Source

LEAST_OBSERVATIONS = 20
LEAST_FREEDOM = 4
MOST_USERS = 5000
NEAR = 0.03
AS_IT_IS = "as it is"
USUAL_ROWS = 12


def predict(
    recording: Source,
    reduction: Reduction,
    *,
    loads: tuple[float, float] | None = None,
    half: bool = False,
    users: Sequence[int] | None = None,
    what_if: Sequence[tuple[Change, ...]] = (),
    think_s: float | None = None,
    classes: bool = False,
    filters: Filters | None = None,
    seed: int = 1,
) -> Prediction:
    """Predict from a reduced recording.

    Parameters
    ----------
    loads
        Estimate the demands from these loads only, both ends included.
    half
        From the lower half of the loads that were recorded.
    users
        Numbers of users to answer for; by default the loads that were recorded, and some about saturation.
    what_if
        Changes; each makes a scenario.
    think_s
        The pause between transactions, where it is known better than the recording tells.
    classes
        Answer by class of transactions too.
    filters
        Whose transactions count, as the reduction was made with; for `classes`.

    Raises
    ------
    InputError
        A change of something that the recording does not show.
    """
    path = str(getattr(recording, "path", ""))
    number = _chosen(reduction, loads, half)
    tasks = tuple(t for t in reduction.tasks if t.load_class in number)
    counted = signals(recording, replace(reduction, tasks=tasks))
    every = counted_by_work(counted, reduction)
    answer = Prediction("cannot-tell", path, reduction.load_axis, every.unit)
    chosen = replace(every, number=number)
    why = _unfit(reduction, every, chosen)
    if why is not None:
        return replace(answer, reasons=(why[0],), advice=(why[1],))
    chosen, more = _independent(chosen)
    made = sums(chosen, seed=seed)
    freedom = _freedom(chosen)
    if freedom < LEAST_FREEDOM:
        return replace(
            answer,
            reasons=(f"these loads are as good as {max(0, freedom):.0f} independent readings",),
            advice=("Record for longer at each load, or estimate from more loads.",),
        )
    widen = student(freedom) * more * _few(chosen)
    found = demands(chosen.resources, made)
    if max(float(d.seconds[0]) for d in found) <= 0:
        return replace(
            answer,
            reasons=("no resource is used more where more work is done",),
            advice=("Record a wider range of loads; `satline analyse reduce` shows what changes with it.",),
        )
    model = fit(found, made, think_s, mix_changes=every.by_work)
    seen = _measured(every, seed)
    absent = absent_users(recording)
    changed = [(" and ".join(c.words for c in wanted), apply(model, wanted)) for wanted in what_if]
    rows = _rows(users, seen, model, [m for _, m in changed])
    base = _scenario(AS_IT_IS, model, rows, seen, every.unit, widen)
    asked = Asked(
        every, chosen, found, model, changed, rows, sorted(seen), widen, seed, think_s is not None, AS_IT_IS
    )
    if classes and every.by_work:
        # Each class is counted by itself there, so its number is its work.
        those = replace(chosen, work=counted.work, by_work=False)
        totals = sums(those, seed=seed)
        wants = demands(those.resources, totals)
        mean = fit(wants, totals, think_s)
        again = [(name, apply(mean, wanted)) for (name, _), wanted in zip(changed, what_if, strict=True)]
        asked = replace(asked, every=counted, chosen=those, found=wants, model=mean, changed=again)
    return Prediction(
        "predicted",
        path,
        reduction.load_axis,
        every.unit,
        from_low=float(made.load[0]),
        from_high=float(made.load[-1]),
        observations=int(chosen.usable.sum()),
        classes=len(made.load),
        think_s=estimate(model.think_s, "s", widen),
        elsewhere_s=estimate(model.elsewhere_s, "s", widen),
        supervisor_part=_supervisor(chosen, made),
        demands=tuple(
            _station(d, used, made, widen, heavy(d, model)) for d, used in pairs(found, chosen, made)
        ),
        base=base,
        scenarios=tuple(
            _scenario(name, other, rows, seen, every.unit, widen, model) for name, other in changed
        ),
        usl=_law(chosen),
        by_class=by_class(recording, reduction, asked, filters) if classes else None,
        by_work=every.by_work,
        warnings=(
            *([absent] if absent is not None else []),
            *weaknesses(reduction, chosen, model, found, made, widen),
            *_late(recording),
            *assumptions(found, what_if),
            *([] if classes else taken_for_alike(recording)),
        ),
    )


def _chosen(reduction: Reduction, loads: tuple[float, float] | None, half: bool) -> Integers:
    """Class of each observation, −1 for those that the demands are not to come from."""
    number = reduction.number
    if half:
        levels = np.unique(number[number >= 0])
        return np.where(np.isin(number, levels[: math.ceil(len(levels) / 2)]), number, -1)
    if loads is None:
        return number
    return np.where((reduction.load >= loads[0]) & (reduction.load <= loads[1]), number, -1)


def _late(recording: Source) -> list[str]:
    """What to know of the emulator's lateness, where it matters."""
    late = lateness_of(recording)
    return [late.words] if late is not None and late.matters else []


def _unfit(reduction: Reduction, every: Signals, chosen: Signals) -> tuple[str, str] | None:
    """Why nothing can be predicted, and what to do."""
    # The users in queue are an outcome, not a number of users that go round.
    if not in_users(reduction.load_axis) or reduction.load_axis == "in_queue":
        return (
            f"the load is {reduction.load_axis.replace('_', ' ')}, and no number of users that come and go",
            "Use users, active_users or sessions as load.",
        )
    if not every.resources:
        return "neither processors nor devices were recorded", "Record tables processor and device."
    usable = int(chosen.usable.sum())
    if usable < LEAST_OBSERVATIONS:
        seen = every.load[every.usable]
        span = f"; it has loads from {seen.min():g} to {seen.max():g}" if len(seen) else ""
        return (
            f"only {usable} usable observations at these loads{span}",
            "Record for longer, or estimate from more loads.",
        )
    if len(np.unique(chosen.number[chosen.usable])) < 2:
        return (
            "one load cannot tell what the work needs from what is in use without it",
            "Record, or estimate from, at least two loads; better four, from light to moderate.",
        )
    if float((chosen.work * chosen.seconds)[chosen.usable].sum()) <= 0:
        return "no work was done at these loads", "Estimate from heavier loads."
    single = nongranular(reduction, LEAST_OBSERVATIONS) if every.in_transaction is None else None
    if single is not None:
        return single, "Users who never pause saturate at once; judge batch work by its own running time."
    return None


def _independent(chosen: Signals) -> tuple[Signals, float]:
    """Blocks that may be taken as independent, and how much wider intervals are for what they are not."""
    if chosen.closed:
        return chosen, 1.0
    value = np.where(chosen.usable, chosen.work, np.nan)
    batches, widen = independent(
        Series(chosen.load, chosen.number, value, chosen.seconds, chosen.batches, closed=False)
    )
    return replace(chosen, batches=batches), widen


def _freedom(chosen: Signals) -> float:
    good = chosen.usable
    blocks = len(np.unique(chosen.batches[good]))
    return float(blocks - (len(np.unique(chosen.number[good])) if chosen.closed else 1))


def _station(demand: Demand, used: Floats, made: Sums, widen: float, heavy: bool) -> StationDemand:
    share = float(demand.page_share[0])
    return StationDemand(
        demand.name,
        demand.capacity,
        estimate(demand.seconds, "s", widen),
        estimate(
            demand.background, "processors" if demand.name in (PROCESSORS, QUOTA) else "fraction", widen
        ),
        share if math.isfinite(share) and demand.name not in (PROCESSORS, QUOTA) else None,
        estimate(growth(demand, used, made), "fraction", widen, least=-math.inf) if heavy else None,
    )


def _supervisor(chosen: Signals, made: Sums) -> float | None:
    for resource, used in zip(chosen.resources, made.used, strict=True):
        # under a quota the load's own part of supervisor state is not known
        if resource.name == PROCESSORS and np.isfinite(made.supervisor[0]).all():
            return float(made.supervisor[0].sum() / max(used[0].sum(), 1e-300))
    return None


def _measured(every: Signals, seed: int) -> dict[int, tuple[Estimate, Estimate | None]]:
    """By load: throughput and response time as recorded."""
    if every.usable.sum() < 2:
        return {}
    made = sums(every, seed=seed)
    rate = made.work / made.seconds
    found = {}
    for k, load in enumerate(made.load):
        response = None
        if made.inside is not None and (made.work[:, k] > 0).all():
            response = estimate(made.inside[:, k] / made.work[:, k], "s", 1.0)
        # the mean load of a class is not quite a number of users
        if abs(load - round(float(load))) <= NEAR * load:
            found[round(float(load))] = (estimate(rate[:, k], _per_second(every.unit), 1.0), response)
    return found


def _per_second(unit: str) -> str:
    return "per second" if unit == "transaction" else "processors"


def _rows(
    users: Sequence[int] | None, seen: Mapping[int, object], model: Model, changed: Sequence[Model]
) -> list[int]:
    """The numbers of users to answer for."""
    if users is not None:
        return sorted({min(n, MOST_USERS) for n in users})
    knee = float(np.clip(model.saturation_users[0], 1, MOST_USERS / 2))
    about = {max(1, round(knee * part)) for part in (0.5, 1.0, 1.5, 2.0)}
    about |= {round(float(np.clip(m.saturation_users[0], 1, MOST_USERS))) for m in changed}
    places = sorted(n for n in seen if n >= 1)
    room = max(2, USUAL_ROWS - len(about))
    if len(places) > room:
        picks = np.linspace(0, len(places) - 1, room).round().astype(int)
        places = [places[k] for k in picks]
    return sorted({*places, *about})


def _scenario(
    name: str,
    model: Model,
    rows: list[int],
    seen: dict[int, tuple[Estimate, Estimate | None]],
    unit: str,
    widen: float,
    before: Model | None = None,
) -> Scenario:
    reach = min(MOST_USERS, max(8, math.ceil(2 * float(model.saturation_users[0]))))
    bends_at = bend_loads(sorted(n for n in seen if n >= 1), reach)
    rate, response = model.solve(max(*rows, *seen, reach), {*rows, *bends_at})
    per_second = _per_second(unit)
    made = []
    for n in rows:
        used = tuple(
            float((rate[n - 1, 0] * d.at(n)[0] + d.background[0]) / d.capacity) for d in model.demands
        )
        throughput, measured_response = seen.get(n, (None, None)) if before is None else (None, None)
        made.append(
            Row(
                n,
                estimate(rate[n - 1], per_second, widen),
                estimate(response[n - 1], "s", widen),
                used,
                throughput,
                measured_response,
            )
        )
    names = tuple(d.name for d in model.demands)
    return Scenario(
        name,
        names,
        estimate(model.saturation_users, "users", widen),
        estimate(model.ceiling, per_second, widen),
        estimate(bend(rate[np.array(bends_at) - 1], bends_at), "users", widen),
        names[model.first()],
        model.surely_first(),
        tuple(made),
        None
        if before is None
        else difference(model.saturation_users - before.saturation_users, "users", widen),
        None if before is None else difference(model.ceiling - before.ceiling, per_second, widen),
    )


def _few(chosen: Signals) -> float:
    """A resample of G blocks varies by (G − 1)/G too little."""
    good = chosen.usable
    count = len(np.unique(chosen.batches[good]))
    each = count / len(np.unique(chosen.number[good])) if chosen.closed else count
    return math.sqrt(each / max(1.0, each - 1))


def _law(chosen: Signals) -> UslFit | None:
    """The universal scalability law at the same loads; ``None`` where it does not apply."""
    good = chosen.usable
    if not chosen.closed or len(np.unique(chosen.number[good])) < 4:
        return None
    levels = make_levels(
        chosen.number,
        chosen.load,
        np.where(good, chosen.work, np.nan),
        chosen.seconds,
        chosen.batches,
        nested=True,
        replicates=200,
    )
    rows = np.vstack([levels.mean, levels.replicates])
    return usl(
        levels.load, rows, levels.seconds / levels.mean.clip(1e-9), _per_second(chosen.unit), (math.inf, 0)
    )
