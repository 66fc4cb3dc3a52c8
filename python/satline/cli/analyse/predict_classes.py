"""Predictions by class of transactions as text, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from satline.cli.analyse.lines import WIDTH, columns, items, wrapped
from satline.cli.analyse.predict_text import LONGEST, ends, resource_name, users_words, with_ends
from satline.prediction import ByClass, ClassScenario
from satline.present import number, quantity, visible

MOST_STATIONS = 4
LEAST_NAME = 7


def class_lines(answer: ByClass) -> list[str]:
    """The answer by class: who there is, what each class needs, and what becomes of it."""
    base = answer.base
    if answer.outcome == "cannot-tell" or base is None:
        return [*wrapped(f"By class: cannot tell: {'; '.join(answer.reasons)}."), *items(answer.advice)]
    lines = wrapped(
        f"By class: saturates at {users_words(base.saturation_users)} [{ends(base.saturation_users)}]:"
        f" {resource_name(base.first)} first. Throughput bends near {number(base.bend_users.value)} users"
        f" [{ends(base.bend_users)}]."
    )
    lines += ["", *_chains(answer), "", *_needs(answer)]
    lines += [*_waits(answer), "", "Predicted, and measured where the load was recorded"]
    lines += _table(answer, base)
    for scenario in answer.scenarios:
        saturation = scenario.saturation_users
        lines += [
            "",
            *wrapped(
                f"What if {scenario.name}, by class: saturates at {users_words(saturation)}"
                f" [{ends(saturation)}]: {resource_name(scenario.first)} first."
            ),
        ]
        lines += _table(answer, scenario)
    if answer.warnings:
        lines += ["", "What the answer by class takes for granted", *items(answer.warnings)]
    return lines


def _chains(answer: ByClass) -> list[str]:
    rows: list[Sequence[str]] = [["users", "part", "think", "of their transactions"]]
    for chain in answer.chains:
        mix = [
            f"{part:.0%} {visible(kind.name, longest=LONGEST)}"
            for part, kind in zip(chain.mix, answer.classes, strict=True)
            if part >= 0.005
        ]
        rows.append(
            [
                visible(chain.name, longest=LONGEST),
                f"{chain.part:.0%}",
                quantity(chain.think_s.value, "s"),
                ", ".join(mix),
            ]
        )
    return _wide(rows)


def _wide(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns, of which the last goes on in lines of its own."""
    head = columns([row[:-1] for row in rows], left=1)
    width = max(map(len, head)) + 2
    lines = []
    for start, row in zip(head, rows, strict=True):
        parts = textwrap.wrap(row[-1], max(20, WIDTH - width), break_on_hyphens=False) or [""]
        lines.append(f"{start.ljust(width)}{parts[0]}".rstrip())
        lines += [" " * width + part for part in parts[1:]]
    return lines


def _needs(answer: ByClass) -> list[str]:
    """What a transaction of each class needs, as many stations by name as there is room for, those first of
    which the mean transaction needs most; the others together."""
    mean = [
        sum(kind.part * kind.demand_s[k].value for kind in answer.classes)
        for k in range(len(answer.stations))
    ]
    order = sorted(range(len(mean)), key=lambda k: -mean[k])
    for named in range(min(MOST_STATIONS, len(order)), 0, -1):
        lines = columns(_need_rows(answer, order[:named], order[named:]), left=1)
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def _need_rows(answer: ByClass, shown: Sequence[int], rest: Sequence[int]) -> list[Sequence[str]]:
    delayed = any(kind.elsewhere_s.value > 0 for kind in answer.classes)
    head = ["one needs", "part", *(resource_name(answer.stations[k]) for k in shown)]
    head += [f"{len(rest)} more"] if rest else []
    rows: list[Sequence[str]] = [[*head, *(["elsewhere"] if delayed else [])]]
    for kind in answer.classes:
        needs = [kind.demand_s[k].value for k in shown]
        needs += [sum(kind.demand_s[k].value for k in rest)] if rest else []
        delay = quantity(kind.elsewhere_s.value, "s") if kind.elsewhere_s.value > 0 else ""
        cells = [visible(kind.name, longest=LONGEST), f"{kind.part:.1%}", *(quantity(v, "s") for v in needs)]
        rows.append([*cells, delay] if delayed else cells)
    return rows


def _waits(answer: ByClass) -> list[str]:
    lines = []
    if answer.interactive_first:
        lines.append("Work in Q1 goes before work in Q2.")
    told = [
        f"{number(100 * part.value)} % of the time that devices are busy {what}"
        for part, what in ((answer.waited_page, "paging"), (answer.waited_io, "with other I/O"))
        if part is not None
    ]
    if told:
        lines.append(f"Transactions wait for {' and for '.join(told)}.")
    return ["", *wrapped(" ".join(lines))] if lines else []


def _table(answer: ByClass, scenario: ClassScenario) -> list[str]:
    """With names as long as there is room for."""
    for longest in range(LONGEST, LEAST_NAME, -1):
        lines = columns(_rows(answer, scenario, longest), left=2)
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def _rows(answer: ByClass, scenario: ClassScenario, longest: int) -> list[Sequence[str]]:
    seen = any(level.measured_response_s for row in scenario.rows for level in (row.total, *row.classes))
    head = ["users", "class", "per second", "response, s"]
    rows: list[Sequence[str]] = [[*head, "measured", "s"] if seen else head]
    names = ["all", *(visible(kind.name, longest=longest) for kind in answer.classes)]
    for row in scenario.rows:
        for place, (name, level) in enumerate(zip(names, (row.total, *row.classes), strict=True)):
            cells = [
                f"{row.users}" if place == 0 else "",
                name,
                number(level.throughput.value),
                with_ends(level.response_s),
            ]
            measured = (level.measured_throughput, level.measured_response_s)
            rows.append(
                [*cells, *("" if m is None else number(m.value) for m in measured)] if seen else cells
            )
    return rows
