"""Predictions: of a recording, by class of transactions, and of a network that a file describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from satline.diagnosis import Estimate
from satline.prediction import ByClass, ClassScenario, Prediction, Row, Scenario
from satline.prediction.network_answer import NetworkAnswer
from satline.present._escape import visible
from satline.present._numbers import number, quantity
from satline.present.blocks import Block, Headline, Note, Table, listed
from satline.reconcile import Story, weakened

_LONGEST = 20
_LEAST_SHOWN = 0.0005
_MOST_STATIONS = 2
_MOST_LEVELS = 12
Rows = list[Sequence[str]]


def prediction_blocks(answer: Prediction, told: Story | None = None) -> Iterator[Block]:
    """The answer of a recording: the verdict first, then what it rests on. `told`: what the other answers
    say; where what was measured says otherwise the verdict is one of the model only."""
    if answer.outcome == "cannot-tell" or answer.base is None:
        yield Note(f"Cannot tell: {'; '.join(answer.reasons)}.")
        yield from listed("", answer.advice)
        return
    weaker = "" if told is None else weakened(told)
    base, axis = answer.base, answer.load_axis.replace("_", " ")
    verdict = f"aturates at {_first(base)}, which {_limits(base)}"
    yield Note(f"By the model it s{verdict}; but {weaker}." if weaker else f"S{verdict}.", "strong")
    for line in told.lines if told is not None else ():
        # What differs from the diagnosis is in the verdict.
        if not (weaker and line.startswith("Differs: satline diagnose")):
            yield Note(line)
    yield Note(
        f"That is where the asymptotes cross. Throughput bends near {_users(base.bend_users)}; `satline"
        " diagnose` looks for this bend in measured throughput."
    )
    loads = " to ".join("?" if load is None else number(load) for load in (answer.from_low, answer.from_high))
    yield Note(
        f"From {answer.observations} observations at {answer.classes} loads, {loads} {axis}, of"
        f" {answer.recording}"
    )
    yield Headline(f"One {answer.unit} needs")
    yield _demands(answer)
    yield Headline(f"Predicted; used is the part of {_resource(base.first)} that is in use")
    yield _predicted(base)
    for scenario in answer.scenarios:
        change = scenario.more_users
        more = (
            ""
            if change is None
            else ", {} [{}, {}]".format(
                *(
                    ("+" if value > 0 else "") + number(value)
                    for value in (change.value, change.low, change.high)
                )
            )
        )
        yield Headline(f"What if {scenario.name}")
        yield Note(f"Saturates at {_first(scenario, more)}, which {_limits(scenario)}.")
        rows: Rows = [("users", "throughput/s", "was", "response, s", "was")]
        for r, was in zip(scenario.rows, base.rows, strict=True):
            rows.append(
                (
                    *(f"{r.users}", _with_ends(r.throughput), number(was.throughput.value)),
                    *(_with_ends(r.response_s), number(was.response_s.value)),
                )
            )
        yield Table.of(rows, text=())
    if answer.usl is not None:
        law, peak = answer.usl, answer.usl.peak
        said = f"its peak at {number(peak.value)} users" if peak is not None else "no peak"
        if peak is not None and not law.peak_in_range:
            said += ", beyond these loads: extrapolated"
        yield Note(
            f"Universal scalability law at the same loads: contention {number(law.contention.value)},"
            f" coherency {number(law.coherency.value)}, {said}."
        )
    yield from listed("What weakens the answer", answer.warnings)
    yield Headline("Intervals")
    yield Note(answer.intervals)
    if answer.by_class is not None:
        yield from _class_blocks(answer.by_class)


def _first(found: Scenario | ClassScenario, more: str = "") -> str:
    return f"{_users(found.saturation_users)}{more}: {_resource(found.first)} first"


def _limits(scenario: Scenario) -> str:
    rate = "of user time per second" if scenario.ceiling.unit == "processors" else "per second"
    return f"allows at most {_with_ends(scenario.ceiling)} {rate}"


def _demands(answer: Prediction) -> Table:
    rows: Rows = [("", "time", "95 % interval", "background")]
    for d in answer.demands:
        name = _resource(d.name)
        if d.name == "processors":
            name = f"{number(d.capacity)} {'processor' if d.capacity == 1 else 'processors'}"
            if answer.supervisor_part is not None:
                name += f" ({answer.supervisor_part:.0%} system time)"
        if d.name == "quota":
            name = f"quota of {number(d.capacity)} processors"
        used = number(d.background.value) if d.capacity != 1 else f"{number(100 * d.background.value)} %"
        rows.append((name, quantity(d.demand_s.value, "s"), _span(d.demand_s), used))
        if d.page_share is not None and d.page_share >= 0.005:
            rows.append((f"  of it paging {d.page_share:.0%}", "", "", ""))
    pause = "think" if answer.unit == "transaction" else "pause between two"
    for name, estimate in (("elsewhere, without queue", answer.elsewhere_s), (pause, answer.think_s)):
        if estimate is not None:
            rows.append((name, quantity(estimate.value, "s"), _span(estimate), ""))
    return Table.of(rows)


def _predicted(scenario: Scenario) -> Table:
    first = scenario.stations.index(scenario.first)
    measured = any(r.measured_throughput for r in scenario.rows)

    def row(r: Row) -> tuple[str, ...]:
        figures = (f"{r.users}", _with_ends(r.throughput), _with_ends(r.response_s))
        seen = (_value(r.measured_throughput), _value(r.measured_response_s)) if measured else ()
        return (*figures, f"{r.utilisation[first]:.0%}", *seen)

    head = ("users", "throughput/s", "response, s", "used", *(("measured/s", "s") if measured else ()))
    return Table.of([head, *map(row, scenario.rows)], text=())


def _class_blocks(answer: ByClass) -> Iterator[Block]:
    """The answer by class: who there is, what each class needs, and what becomes of it."""
    base = answer.base
    yield Headline("By class")
    if answer.outcome == "cannot-tell" or base is None:
        yield Note(f"Cannot tell: {'; '.join(answer.reasons)}.")
        yield from listed("", answer.advice)
        return
    yield Note(f"Saturates at {_first(base)}. Throughput bends near {_users(base.bend_users)}.", "strong")
    yield _chains(answer)
    yield _needs(answer)
    if answer.interactive_first:
        yield Note("Work in Q1 goes before work in Q2.")
    told = [
        f"{number(100 * part.value)} % of the time that devices are busy {what}"
        for part, what in ((answer.waited_page, "paging"), (answer.waited_io, "with other I/O"))
        if part is not None
    ]
    if told:
        yield Note(f"Transactions wait for {' and for '.join(told)}.")
    yield Headline("Predicted by class, and measured where the load was recorded")
    yield _levels(answer, base)
    for scenario in answer.scenarios:
        yield Headline(f"What if {scenario.name}, by class")
        yield Note(f"Saturates at {_first(scenario)}.")
        yield _levels(answer, scenario)
    yield from listed("What the answer by class takes for granted", answer.warnings)


def _chains(answer: ByClass) -> Table:
    rows: Rows = [("users", "part", "think", "of their transactions")]
    for chain in answer.chains:
        parts = zip(chain.mix, answer.classes, strict=True)
        mix = ", ".join(f"{part:.0%} {_name(kind.name)}" for part, kind in parts if part >= 0.005)
        rows.append((_name(chain.name), f"{chain.part:.0%}", quantity(chain.think_s.value, "s"), mix))
    return Table.of(rows, text=(0, -1))


def _needs(answer: ByClass) -> Table:
    """What a transaction of each class needs of the stations that the mean one needs most, and of the others
    together."""

    def mean(k: int) -> float:
        return sum(kind.part * kind.demand_s[k].value for kind in answer.classes)

    order = sorted(range(len(answer.stations)), key=mean, reverse=True)
    shown, rest = order[:_MOST_STATIONS], order[_MOST_STATIONS:]
    delayed = any(kind.elsewhere_s.value > 0 for kind in answer.classes)
    head = ["one needs", "part", *(_resource(answer.stations[k]) for k in shown)]
    head += [f"{len(rest)} more"] if rest else []
    rows: Rows = [[*head, *(["elsewhere"] if delayed else [])]]
    for kind in answer.classes:
        needs = [kind.demand_s[k].value for k in shown]
        needs += [sum(kind.demand_s[k].value for k in rest)] if rest else []
        cells = [_name(kind.name), f"{kind.part:.1%}", *(quantity(value, "s") for value in needs)]
        delay = quantity(kind.elsewhere_s.value, "s") if kind.elsewhere_s.value > 0 else ""
        rows.append([*cells, delay] if delayed else cells)
    return Table.of(rows)


def _levels(answer: ByClass, scenario: ClassScenario) -> Table:
    seen = any(level.measured_response_s for row in scenario.rows for level in (row.total, *row.classes))
    rows: Rows = [("users", "class", "per second", "response, s", *(("measured", "s") if seen else ()))]
    names = ["all", *(_name(kind.name) for kind in answer.classes)]
    for row in scenario.rows:
        for place, (name, level) in enumerate(zip(names, (row.total, *row.classes), strict=True)):
            users = "" if place else f"{row.users}"
            found = (number(level.throughput.value), _with_ends(level.response_s))
            measured = (_value(level.measured_throughput), _value(level.measured_response_s)) if seen else ()
            rows.append((users, name, *found, *measured))
    return Table.of(rows, text=(0, 1))


def network_blocks(answer: NetworkAnswer) -> Iterator[Block]:
    """The answer for a network given by hand."""
    yield Headline(answer.title or answer.file, 1)
    yield Note(f"Solved: {answer.method}.")
    if answer.accuracy is not None:
        a = answer.accuracy
        yield Note(
            f"Error of this approximation at such loads, on {a.networks} networks solved exactly too:"
            f" throughput {a.median:.1%} in the middle, {a.p95:.1%} for 95 of 100, {a.worst:.1%} at worst;"
            f" response {a.response_median:.1%}, {a.response_p95:.1%}, {a.response_worst:.1%}."
        )
    elif answer.method != "exact":
        yield Note("The error of this approximation was not measured for such a network.")
    rows: Rows = [("class", "users", "throughput/s", "response")]
    for c in answer.classes:
        found = (number(c.throughput, digits=5), quantity(c.response_s, "s"))
        rows.append((_name(c.name), f"{c.users}", *found))
    yield Table.of(rows)
    rows = [("station", "used", "present", "residence")]
    for s in answer.stations:
        residence = ", ".join(quantity(r, "s") for r in s.residence_s[:4])
        rows.append((_name(s.name), f"{s.utilisation:.1%}", number(s.present), residence))
    yield Table.of(rows)
    if answer.bounds is not None:
        b = answer.bounds
        balanced = (
            f", by balanced jobs {number(b.balanced_low)} to {number(b.balanced_high)}"
            if b.balanced_low is not None and b.balanced_high is not None
            else ""
        )
        yield Note(
            f"Saturation at N* = {number(b.saturation_users)} users. Bounds for {b.users}: throughput"
            f" {number(b.throughput_low)} to {number(b.throughput_high)} per second{balanced}; response at"
            f" least {quantity(b.response_low_s, 's')}."
        )
    if answer.curve:
        if answer.mpl:
            yield Headline("Memory left aside")
        rows = [("users", "throughput/s", "response, s", "busiest", "used")]
        for point in answer.curve:
            k = max(range(len(point.utilisation)), key=point.utilisation.__getitem__)
            busiest = (_name(answer.stations[k].name), f"{point.utilisation[k]:.0%}")
            rows.append((f"{point.users}", *_four(point.throughput, point.response_s), *busiest))
        yield Table.of(rows, text=(3,))
    if answer.mpl:
        yield Headline("Within admission: u(n) and running time n/u(n)")
        rows = [("MPL", "throughput/s", "running time, s")]
        shown = answer.mpl[:: -(-len(answer.mpl) // _MOST_LEVELS)]
        rows += [(f"{p.mpl}", *_four(p.throughput, p.running_s)) for p in shown]
        yield Table.of(rows, text=())
        yield Headline("With memory for so many")
        rows = [("users", "throughput/s", "response, s", "in queue", "eligible", "running, s", "waiting, s")]
        for q in answer.with_storage:
            values = (q.response_s, q.mpl, q.eligible, q.running_s, q.waiting_s)
            plain = (number(value) if value >= _LEAST_SHOWN else "0" for value in values)
            rows.append((f"{q.users}", *_four(q.throughput), *plain))
        yield Table.of(rows, text=())


def _four(*values: float) -> tuple[str, ...]:
    return tuple(number(value, digits=4) for value in values)


def _name(text: str) -> str:
    return visible(text, longest=_LONGEST)


def _resource(resource: str) -> str:
    kind, sign, name = resource.partition(":")
    return f"{kind} {_name(name)}" if sign else resource


def _value(estimate: Estimate | None) -> str:
    return "" if estimate is None else number(estimate.value)


def _with_ends(estimate: Estimate) -> str:
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def _users(estimate: Estimate) -> str:
    return f"{number(estimate.value)} users [{number(estimate.low)}, {number(estimate.high)}]"


def _span(estimate: Estimate) -> str:
    return f"{quantity(estimate.low, 's')} to {quantity(estimate.high, 's')}"
