"""`satline analyse device`: one device in detail, with the users on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import argument, command, option
from satline.cli.filters import FILTERS
from satline.cli.options import RECORDING, opened_in_its_words
from satline.cli.outputs import json_option, print_json, print_text

if TYPE_CHECKING:
    from satline.present import Block
    from satline.present.device import DeviceDetail, Figure, Usage
    from satline.reduction import Filters


@command("""\b
Examples:
  satline report devices host.satline    all devices, busiest first
  satline analyse device vda host.satline
  satline analyse device vda host.satline --hours 9-17 --json
""")
def device(
    name: str = argument(),
    recording: Path = RECORDING,
    filters: Filters | None = FILTERS,
    top: int = option("Users of each kind shown.", type=click.IntRange(1), default=10),
    as_json: bool = json_option("Print JSON, with all users."),
) -> None:
    """Show the device NAME in detail: request rate, busy time, components of a request's time, queue, the
    areas on it, and the users.

    No source records which user's request went to which device. It shows each user's work on all devices, the
    share that would fall on this device if it were distributed as all work is, and bounds that hold for any
    distribution.
    """

    from satline.present.device import device_detail

    detail = device_detail(opened_in_its_words(recording), name, filters)
    if as_json:
        print_json("analyse-device", detail)
        return

    print_text(device_blocks(detail, top))


def device_blocks(detail: DeviceDetail, top: int) -> Iterator[Block]:
    """Figures, areas, users."""
    from satline.present import Headline, Note, Table, quantity

    facts = detail.facts
    said = [str(facts["kind"])] if facts["kind"] else []
    said += [quantity(float(facts["size_bytes"]), "bytes")] if facts["size_bytes"] else []
    said += [f"swap priority {facts['priority']}"] if facts["priority"] is not None else []
    yield Headline(f"Device {detail.name}" + (f": {', '.join(said)}" if said else ""), 1)
    if detail.selection:
        yield Note(f"Only {detail.selection}.")
    yield from (Note(f"On it: {area}.") for area in detail.areas)
    head = ["", "mean ± error", "median", "90 %", "largest", "n"]
    yield Table.of([head, *map(figure_row, detail.figures)])
    for work, part in detail.carried.items():
        yield Headline(
            f"{work[:1].upper()}{work[1:]}: this device carries {quantity(part, 'fraction')} of all"
        )
        users = [one for one in detail.users if one.work == work]
        if users:
            yield Table.of(usage_rows(users[:top]))
        if len(users) > top:
            yield Note(f"The {top} with the most are shown, of {len(users)} users.")
    by_reason: dict[str, list[str]] = {}
    for label, reason in detail.missing:
        by_reason.setdefault(reason, []).append(label)
    yield from (Note(f"Missing: {'; '.join(labels)} ({reason}).") for reason, labels in by_reason.items())
    if not detail.areas:
        yield Note("Areas on it: the recording tells of none.")
    yield from map(Note, detail.notes)


def usage_rows(users: Sequence[Usage]) -> list[list[str]]:
    """A heading with the unit, then a row for each user."""
    from satline.present import number, scale_for

    by = scale_for(users[0].unit, users[0].everywhere)
    rows = [["user", f"on all devices, {by.label}", "here if spread alike"]]
    bounded = any(one.least is not None for one in users)
    if bounded:
        rows[0] += ["here at least", "here at most"]
    for one in users:
        numbers = (one.everywhere, one.expected, *((one.least, one.most) if bounded else ()))
        rows.append([one.user, *("–" if n is None else number(n * by.factor) for n in numbers)])
    return rows


def figure_row(figure: Figure) -> list[str]:
    """Label and numbers, each with its unit."""
    from satline.present import quantity

    numbers = (figure.median, figure.p90, figure.largest)
    shown = [quantity(n, figure.unit) for n in numbers]
    return [figure.label, quantity(figure.mean, figure.unit, figure.error), *shown, f"{figure.n:,}"]
