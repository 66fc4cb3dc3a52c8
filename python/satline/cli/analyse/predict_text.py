"""Predictions as text, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from satline.cli.analyse.lines import WIDTH, columns, items, wrapped
from satline.diagnosis import Estimate
from satline.prediction import Prediction, Row, Scenario
from satline.prediction.network_answer import NetworkAnswer
from satline.present import number, quantity, visible
from satline.reconcile import Story, weakened

LONGEST = 20
LEAST_SHOWN = 0.0005


def prediction_lines(answer: Prediction, told: Story | None = None) -> list[str]:
    """The answer of a recording: the verdict first, then what it rests on. `told`: what the other answers
    say; where what was measured says otherwise the verdict is one of the model only."""
    if answer.outcome == "cannot-tell" or answer.base is None:
        why = "; ".join(answer.reasons)
        return [*wrapped(f"Cannot tell: {why}."), *items(answer.advice)]
    weaker = "" if told is None else weakened(told)
    base, axis = answer.base, answer.load_axis.replace("_", " ")
    verdict = (
        f"aturates at {users_words(base.saturation_users)} [{ends(base.saturation_users)}]:"
        f" {resource_name(base.first)} first, which {_limits(base)}"
    )
    lines = wrapped(f"By the model it s{verdict}; but {weaker}." if weaker else f"S{verdict}.")
    # What differs from the diagnosis is in the verdict.
    for line in told.lines if told is not None else ():
        if not (weaker and line.startswith("Differs: satline diagnose")):
            lines += wrapped(visible(line))
    bend = base.bend_users
    lines += wrapped(
        f"That is where the asymptotes cross. Throughput bends near {number(bend.value)} users"
        f" [{ends(bend)}]; `satline diagnose` looks for this bend in measured throughput."
    )
    lines.append("")
    lines += wrapped(
        f"From {answer.observations} observations at {answer.classes} loads, {_load(answer.from_low)} to"
        f" {_load(answer.from_high)} {'users' if axis == 'users' else axis}, of {answer.recording}"
    )
    lines += ["", f"One {answer.unit} needs"]
    lines += _demands(answer)
    lines += ["", *_table(base, measured=True)]
    for scenario in answer.scenarios:
        lines += ["", *_scenario(scenario, base)]
    if answer.usl is not None:
        law, peak = answer.usl, answer.usl.peak
        said = f"its peak at {number(peak.value)} users" if peak is not None else "no peak"
        if peak is not None and not answer.usl.peak_in_range:
            said += ", beyond these loads: extrapolated"
        lines += [
            "",
            *wrapped(
                f"Universal scalability law at the same loads: contention {number(law.contention.value)},"
                f" coherency {number(law.coherency.value)}, {said}."
            ),
        ]
    if answer.warnings:
        lines += ["", "What weakens the answer", *items(answer.warnings)]
    lines += ["", *wrapped(f"Intervals: {answer.intervals}")]
    return lines


def _limits(scenario: Scenario) -> str:
    ceiling = scenario.ceiling
    rate = "of user time per second" if ceiling.unit == "processors" else "per second"
    return f"allows at most {number(ceiling.value)} [{ends(ceiling)}] {rate}"


def _demands(answer: Prediction) -> list[str]:
    rows = [("", "time", "95 % interval", "background")]
    for d in answer.demands:
        name = resource_name(d.name)
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
    for name, estimate in (("elsewhere, without queue", answer.elsewhere_s), ("think", answer.think_s)):
        if estimate is not None:
            shown = name if answer.unit == "transaction" or name != "think" else "pause between two"
            rows.append((shown, quantity(estimate.value, "s"), _span(estimate), ""))
    return columns(rows, left=1)


def _table(scenario: Scenario, *, measured: bool) -> list[str]:
    first = scenario.stations.index(scenario.first)
    head = ["users", "throughput/s", "response, s", "used"]
    with_measured = measured and any(r.measured_throughput for r in scenario.rows)
    rows: list[Sequence[str]] = [[*head, "measured/s", "s"] if with_measured else head]
    for r in scenario.rows:
        row = [
            f"{r.users}",
            with_ends(r.throughput),
            with_ends(r.response_s),
            f"{r.utilisation[first]:.0%}",
        ]
        rows.append([*row, *_seen(r)] if with_measured else row)
    caption = f"Predicted; used is the part of {resource_name(scenario.first)} that is in use"
    return [caption, *columns(rows)]


def _seen(row: Row) -> list[str]:
    rate, response = row.measured_throughput, row.measured_response_s
    return ["" if rate is None else number(rate.value), "" if response is None else number(response.value)]


def _scenario(scenario: Scenario, base: Scenario) -> list[str]:
    change = scenario.more_users
    more = (
        "" if change is None else f", {_signed(change.value)} [{_signed(change.low)}, {_signed(change.high)}]"
    )
    lines = wrapped(
        f"What if {scenario.name}: saturates at {users_words(scenario.saturation_users)}"
        f" [{ends(scenario.saturation_users)}]{more}: {resource_name(scenario.first)} first, which"
        f" {_limits(scenario)}."
    )
    rows: list[Sequence[str]] = [["users", "throughput/s", "was", "response, s", "was"]]
    for r, was in zip(scenario.rows, base.rows, strict=True):
        rows.append(
            [
                f"{r.users}",
                with_ends(r.throughput),
                number(was.throughput.value),
                with_ends(r.response_s),
                number(was.response_s.value),
            ]
        )
    return [*lines, *columns(rows)]


def network_lines(answer: NetworkAnswer) -> list[str]:
    """The answer for a network given by hand."""
    lines = [visible(answer.title or answer.file, longest=WIDTH), f"Solved: {answer.method}."]
    if answer.accuracy is not None:
        a = answer.accuracy
        lines += wrapped(
            f"Error of this approximation at such loads, on {a.networks} networks solved exactly too:"
            f" throughput {a.median:.1%} in the middle, {a.p95:.1%} for 95 of 100, {a.worst:.1%} at worst;"
            f" response {a.response_median:.1%}, {a.response_p95:.1%}, {a.response_worst:.1%}."
        )
    elif answer.method != "exact":
        lines += wrapped("The error of this approximation was not measured for such a network.")
    rows: list[Sequence[str]] = [["class", "users", "throughput/s", "response"]]
    rows += [
        [
            visible(c.name, longest=LONGEST),
            f"{c.users}",
            number(c.throughput, digits=5),
            quantity(c.response_s, "s"),
        ]
        for c in answer.classes
    ]
    lines += ["", *columns(rows, left=1)]
    rows = [["station", "used", "present", "residence"]]
    rows += [
        [
            visible(s.name, longest=LONGEST),
            f"{s.utilisation:.1%}",
            number(s.present),
            ", ".join(quantity(r, "s") for r in s.residence_s[:4]),
        ]
        for s in answer.stations
    ]
    lines += ["", *columns(rows, left=1)]
    if answer.bounds is not None:
        b = answer.bounds
        lines += [
            "",
            *wrapped(
                f"Saturation at N* = {number(b.saturation_users)} users. Bounds for {b.users}: throughput"
                f" {number(b.throughput_low)} to {number(b.throughput_high)} per second"
                + (
                    f", by balanced jobs {number(b.balanced_low)} to {number(b.balanced_high)}"
                    if b.balanced_low is not None and b.balanced_high is not None
                    else ""
                )
                + f"; response at least {quantity(b.response_low_s, 's')}."
            ),
        ]
    if answer.curve:
        rows = [["users", "throughput/s", "response, s", "busiest", "used"]]
        for point in answer.curve:
            k = max(range(len(point.utilisation)), key=point.utilisation.__getitem__)
            rows.append(
                [
                    f"{point.users}",
                    number(point.throughput, digits=4),
                    number(point.response_s, digits=4),
                    visible(answer.stations[k].name, longest=LONGEST),
                    f"{point.utilisation[k]:.0%}",
                ]
            )
        lines += ["", *(["Memory left aside"] if answer.mpl else []), *columns(rows)]
    if answer.mpl:
        lines += ["", *_storage(answer)]
    return lines


def _storage(answer: NetworkAnswer) -> list[str]:
    rows: list[Sequence[str]] = [["MPL", "throughput/s", "running time, s"]]
    shown = answer.mpl if len(answer.mpl) <= 12 else answer.mpl[:: -(-len(answer.mpl) // 12)]
    rows += [[f"{p.mpl}", number(p.throughput, digits=4), number(p.running_s, digits=4)] for p in shown]
    lines = ["Within admission: u(n) and running time n/u(n)", *columns(rows), ""]
    rows = [["users", "throughput/s", "response, s", "in queue", "eligible", "running, s", "waiting, s"]]
    rows += [
        [
            f"{p.users}",
            number(p.throughput, digits=4),
            *(_plain(v) for v in (p.response_s, p.mpl, p.eligible, p.running_s, p.waiting_s)),
        ]
        for p in answer.with_storage
    ]
    return [*lines, "With memory for so many", *columns(rows)]


def _plain(value: float) -> str:
    return number(value) if value >= LEAST_SHOWN else "0"


def resource_name(resource: str) -> str:
    kind, sign, name = resource.partition(":")
    return f"{kind} {visible(name, longest=LONGEST)}" if sign else resource


def _load(load: float | None) -> str:
    return "?" if load is None else number(load)


def users_words(estimate: Estimate) -> str:
    return f"{number(estimate.value)} users"


def ends(estimate: Estimate) -> str:
    return f"{number(estimate.low)}, {number(estimate.high)}"


def with_ends(estimate: Estimate) -> str:
    return f"{number(estimate.value)} [{ends(estimate)}]"


def _span(estimate: Estimate) -> str:
    return f"{quantity(estimate.low, 's')} to {quantity(estimate.high, 's')}"


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)
