"""Simulated points as blocks, as JSON, and as plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satline.present._escape import visible
from satline.present._numbers import Scale, quantity
from satline.present._numbers import scale as scale_for
from satline.present._plot import Line, Mark, Plot
from satline.present.blocks import Block, Note, Table
from satline.present.documents import plain
from satline.simulation import Estimate, FigurePlan, Point, measure

if TYPE_CHECKING:
    from satline.simulation import Simulated

UNSETTLED = "*"


def rows(points: Sequence[Point], names: Sequence[str]) -> list[tuple[str, ...]]:
    """A heading row, then a row for each point: what it is, then each measure ± half its interval."""
    keys = _keys(points)
    estimates = {name: [point.estimate(name) for point in points] for name in names}
    scales = {name: scale_of(name, estimates[name]) for name in names}
    head = [*(last(key) for key in keys[1:]), *(heading(name, scales[name]) for name in names)]
    table = [(last(keys[0]), *head)]
    for number, point in enumerate(points):
        label = [point.label.get(key, "") for key in keys]
        if not point.warmup.valid:
            label[0] += UNSETTLED
        cells = [
            shown(estimates[name][number], scales[name])
            + (UNSETTLED if point.warmup.valid and not point.settled(name) else "")
            for name in names
        ]
        table.append((*label, *cells))
    return table


def _keys(points: Sequence[Point]) -> list[str]:
    """What tells the points apart: what is varied; users where nothing is."""
    keys = list(points[0].label)
    varied = [key for key in keys if len({point.label.get(key) for point in points}) > 1]
    return varied or keys[-1:] or [""]


def point_blocks(simulated: Simulated, names: Sequence[str]) -> Iterator[Block]:
    """The points, and below them what the numbers rest on."""
    yield Table.of(rows(simulated.points, names))
    yield from (Note(note, "quiet") for note in notes(simulated, names))


def notes(simulated: Simulated, names: Sequence[str]) -> list[str]:
    """What a reader must know of the intervals, the warm-up, and what failed."""
    points = simulated.points
    counts = sorted({len(point.results) for point in points})
    if counts == [1]:
        lines = ["± half of the 95 % interval, by batch means of one run"]
    else:
        most = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        lines = [f"± half of the 95 % interval over {most} replications"]
    settled = [point.warmup.seconds for point in points if point.warmup.valid]
    if settled:
        way = "as given" if not points[0].warmup.by else "by MSER-5"
        lines[0] += f"; warm-up {way}: {min(settled):g} to {max(settled):g} s left out"
    if any(not point.warmup.valid for point in points):
        lines.append(f"{UNSETTLED} no steady state in the first half: the second half is shown; run longer")
    elif any(not point.settled(name) for point in points for name in names):
        lines.append(f"{UNSETTLED} still changes in the second half")
    for number, goal in simulated.unreached:
        label = ", ".join(f"{last(k)} {v}" for k, v in points[number].label.items())
        lines.append(f"not reached: {goal.words} at {label}, with {len(points[number].results)} replications")
    if len(points[0].results) == 1 and (why := _why_no_interval(points, names)):
        lines.append(why)
    if simulated.unverified:
        lines.append(
            f"It rests on {len(simulated.unverified)} figures without a known source; --explain marks them"
        )
    if simulated.not_modelled:
        lines.append(f"Not modelled of several processors: {'; '.join(simulated.not_modelled)}")
    return [visible(line) for line in lines]


def _why_no_interval(points: Sequence[Point], names: Sequence[str]) -> str:
    found = [
        e.note
        for point in points
        for name in names
        if (e := point.estimate(name)).note and e.value is not None
    ]
    return f"{len(found)} numbers: {max(set(found), key=found.count)}" if found else ""


def step_table(steps: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Table:
    """The measures of one run's steps, as the machine counted them: no intervals."""
    found = {name: [_plain_estimate(step["measures"].get(name)) for step in steps] for name in names}
    scales = {name: scale_of(name, found[name]) for name in names}
    table = [("users", *(heading(name, scales[name]) for name in names))]
    for number, step in enumerate(steps):
        cells = (shown(found[name][number], scales[name]) for name in names)
        table.append((str(step.get("users", "")), *cells))
    return Table.of(table)


def _plain_estimate(value: float | None) -> Estimate:
    return Estimate(value, None, None, 1, "steps")


def difference_blocks(simulated: Simulated, names: Sequence[str]) -> Iterator[Block]:
    """What each point has more than the first of the same users, replication by replication."""
    pairs = simulated.differences
    keys = list(simulated.points[0].label)
    found = {name: [base.difference(point, name) for base, point in pairs] for name in names}
    scales = {name: scale_of(name, [d.difference for d in found[name]]) for name in names}
    head = (last(keys[0]), *(last(key) for key in keys[1:]))
    table = [(*head, *(heading(name, scales[name]) for name in names))]
    for number, (_, point) in enumerate(pairs):
        cells = []
        for name in names:
            one = found[name][number]
            cells.append(shown(one.difference, scales[name]) + ("" if one.sure else " ?"))
        table.append((*point.label.values(), *cells))
    first = ", ".join(f"{last(k)} {v}" for k, v in simulated.points[0].label.items() if k != "users")
    yield Note(f"More than with {first}, with common random numbers (?: the interval holds 0)")
    yield Table.of(table)
    saved = [d.variance_reduction for name in names for d in found[name] if d.variance_reduction is not None]
    if saved:
        middle = sorted(saved)[len(saved) // 2]
        yield Note(f"Common random numbers took away {middle:.0%} of the variance (median).", "quiet")


def difference_content(simulated: Simulated) -> list[dict[str, Any]]:
    """Differences for JSON."""
    made = []
    for base, point in simulated.differences:
        measures = {}
        for name in point.names:
            one = base.difference(point, name)
            measures[name] = {
                **plain(one.difference),
                "relative": one.relative,
                "variance_reduction": one.variance_reduction,
            }
        made.append({"base": dict(base.label), "label": dict(point.label), "measures": measures})
    return made


def content(simulated: Simulated) -> dict[str, Any]:
    """All points for JSON: every measure with its interval, in its stored unit; ``None`` where missing."""
    return {
        "machine": simulated.machine.stem,
        "workload": simulated.workload.stem,
        "events": simulated.events,
        "unverified": list(simulated.unverified),
        "not_modelled": list(simulated.not_modelled),
        "unreached": [{"point": number, "goal": goal.words} for number, goal in simulated.unreached],
        "points": [
            {
                "label": dict(point.label),
                "replications": len(point.results),
                "warmup_s": point.warmup.seconds,
                "warmup_valid": point.warmup.valid,
                "measures": {
                    name: {**plain(point.estimate(name)), "settled": point.settled(name)}
                    for name in point.names
                },
            }
            for point in simulated.points
        ],
    }


def plot(plan: FigurePlan, arms: Mapping[str, Simulated]) -> Plot:
    """One figure: a line for each arm, its bars the 95 % intervals."""
    found = {name: _placed(plan, simulated) for name, simulated in arms.items()}
    places = [x for line in found.values() for x, _ in line]
    scale = scale_of(plan.y, [estimate for line in found.values() for _, estimate in line])
    lines = tuple(
        Line(name or measure(plan.y).words, tuple(_mark(name, x, e, scale) for x, e in line), slot)
        for slot, (name, line) in enumerate(list(found.items())[:7])
    )
    x_words = plan.x_label or last(plan.x if plan.x == "users" else measure(plan.x).words)
    by_place: dict[float, list[str]] = {}
    for x in sorted(set(places)):
        by_place[x] = [next((mark.shown for mark in line.marks if mark.x == x), "–") for line in lines]
    return Plot(
        name=f"{plan.y}-{plan.x}".replace(".", "-").replace(":", "-"),
        title=plan.title,
        kind="lines",
        x_label=x_words,
        y_label=heading(plan.y, scale),
        lines=lines,
        notes=("Bars are 95 % intervals.",),
        rows=(
            (x_words, "observations", *(line.label for line in lines)),
            *((f"{x:g}", "", *shown) for x, shown in by_place.items()),
        ),
        span=(0.0, 1.05 * max(places, default=1.0) or 1.0),
    )


def _placed(plan: FigurePlan, simulated: Simulated) -> list[tuple[float, Estimate]]:
    """Where each point of an arm lies, in rising order; what has no place is left out."""
    found = []
    for point in simulated.points:
        at = point.label.get(plan.x)
        x = _number(at) if at is not None else point.estimate(plan.x).value
        estimate = point.estimate(plan.y)
        if x is not None and estimate.value is not None:
            found.append((x, estimate))
    return found if plan.x not in ("users", *simulated.points[0].label) else sorted(found, key=lambda f: f[0])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _mark(label: str, x: float, estimate: Estimate, scale: Scale) -> Mark:
    text = shown(estimate, scale)
    low, high = estimate.low, estimate.high
    return Mark(
        x=x,
        y=None if estimate.value is None else estimate.value * scale.factor,
        low=None if low is None else low * scale.factor,
        high=None if high is None else high * scale.factor,
        shown=text,
        title=visible(f"{label or 'at'} {x:g}: {text} {scale.label}"),
    )


def scale_of(name: str, estimates: Sequence[Estimate]) -> Scale:
    """One scale for all values of a measure."""
    largest = max((abs(e.value) for e in estimates if e.value is not None), default=0.0)
    return scale_for(measure(name).unit, largest)


def shown(estimate: Estimate, scale: Scale) -> str:
    """A value ± half its interval."""
    if estimate.value is None:
        return "–"
    half = estimate.half_width
    return quantity(estimate.value * scale.factor, "", None if half is None else half * scale.factor)


def heading(name: str, scale: Scale) -> str:
    """A measure's words with the unit."""
    unit = "per s" if scale.label in ("transactions/s", "per second") else scale.label
    return f"{measure(name).words}, {unit}" if unit and unit != "users" else measure(name).words


def last(key: str) -> str:
    """The last part of a dotted key, as words."""
    return key.rpartition(".")[2].replace("_", " ")
