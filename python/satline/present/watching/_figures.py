"""The figures of a picture: the processors' time, multiprogramming, paging, response, devices, users."""

from __future__ import annotations

from rich.text import Text

from satline.present._escape import cell
from satline.present.watching._letters import (
    IN_QUEUE_STATES,
    LOGGED_OFF,
    STATES,
    Room,
    rule,
    sparkline,
    style,
)
from satline.simulation.watching import Device, DeviceRates, Frame, History, Machine, Rates

LEAST_COLUMN = 38
# Cells for the place of an arm.
ARM = 5
SIGNS, PLAIN_SIGNS = " ▁▂▃▄▅▆▇█", " ._-=+*#@"
# Letter, name, style of a processor's time.
TIMES = (
    ("P", "problem", "black on green"),
    ("S", "supervisor", "black on yellow"),
    ("w", "page wait", "bold white on red"),
    ("i", "I/O wait", "white on blue"),
    (".", "idle", "dim"),
)
COLUMN = 38
BAR = 8


def processor_line(rates: Rates | None, room: Room) -> list[Text]:
    """All processors' time as a bar, and its parts as a legend."""
    shares = (
        (0.0,) * 5
        if rates is None
        else (rates.problem, rates.supervisor, rates.page_wait, rates.io_wait, rates.idle)
    )
    legend = Text()
    for (letter, name, colour), share in zip(TIMES, shares, strict=True):
        legend.append(letter, style=colour)
        legend.append(f" {name} {_percent(share).strip()} % ")
    width = room.width - 6
    beside = legend.cell_len + 20 <= width
    if beside:
        width -= legend.cell_len + 1
    line = Text(" CPU ")
    reached, drawn = 0.0, 0
    for (letter, _, colour), share in zip(TIMES, shares, strict=True):
        reached += share
        cells = round(reached * width) - drawn
        line.append(letter * cells, style=colour)
        drawn += cells
    line.append(" " * (width - drawn + 1))
    if beside:
        line.append_text(legend)
        return [line]
    return [line, Text("     ").append_text(legend)]


def figure_lines(history: History, room: Room) -> list[Text]:
    """Two columns of figures over the last seconds, each with its past."""
    rates = history.rates()
    points = list(history.points)

    def past(name: str) -> list[float]:
        return [getattr(point, name) or 0.0 for point in points]

    def now(name: str, unit: str = "") -> str:
        value = None if rates is None else getattr(rates, name)
        return short(value, room) + (unit if value is not None else "")

    left = [
        ("MPL", now("mpl"), past("mpl")),
        ("eligible", now("eligible"), past("eligible")),
        ("throughput", now("throughput_per_s", "/s"), past("throughput_per_s")),
        ("response, Q1", now("interactive_response_s", " s"), past("interactive_response_s")),
    ]
    right = [
        ("pages in", now("page_reads_per_s", "/s"), past("page_reads_per_s")),
        ("pages out", now("page_writes_per_s", "/s"), past("page_writes_per_s")),
        ("steals", now("steals_per_s", "/s"), past("steals_per_s")),
        ("response, all", now("response_s", " s"), past("response_s")),
    ]
    width = (room.width - 1) // 2
    lines = []
    for one, other in zip(left, right, strict=True):
        lines.append(
            Text(" ").append_text(_figure(*one, width, room)).append_text(_figure(*other, width, room))
        )
    return lines


def device_lines(frame: Frame, machine: Machine, rates: Rates | None, room: Room) -> list[Text]:
    """The heading, devices in columns, the busiest where there is no room for all, and the channels."""
    columns = max(1, room.width // LEAST_COLUMN)
    width = (room.width - 1) // columns
    known = rates.devices if rates else (DeviceRates(0, 0, 0, 0),) * len(machine.devices)
    arms = [one["arm"] for one in frame.devices]
    cells = [
        _device(device, of, arm, width, room)
        for device, of, arm in zip(machine.devices, known, arms, strict=True)
    ]
    most = columns * max(3, room.height // 5)
    order = sorted(range(len(cells)), key=lambda number: -known[number].busy)[:most]
    chosen = [cells[number] for number in sorted(order)]
    head = "devices: busy, requests there, pages and I/Os, arm"
    if len(chosen) < len(cells):
        head += f"; the busiest {len(chosen)} of {len(cells)}"
    lines = [rule(head, room)]
    rows = -(-len(chosen) // columns)
    for row in range(rows):
        line = Text(" ")
        for one in chosen[row::rows]:
            line.append_text(one)
        lines.append(line)
    busy = rates.channels if rates else (0.0,) * len(machine.channels)
    parts = [
        f"{number} {_percent(part).strip()} %" for number, part in zip(machine.channels, busy, strict=True)
    ]
    lines.append(Text(" channels busy: " + "  ".join(parts)))
    return lines


def _device(device: Device, rates: DeviceRates, arm: float | None, width: int, room: Room) -> Text:
    name = cell(device.name, encoding=room.encoding)
    bar = 4 if width < 46 else 8
    name.truncate(max(6, width - bar - 19 - ARM), overflow="crop" if room.plain else "ellipsis", pad=True)
    line = Text().append_text(name)
    full = round(min(1.0, rates.busy) * bar)
    filled, empty = ("#", ".") if room.plain else ("█", "░")
    hot = "red" if rates.busy > 0.8 else "yellow" if rates.busy > 0.5 else "green"
    line.append(" ")
    line.append(filled * full, style=hot)
    line.append(empty * (bar - full), style="dim")
    line.append(f"{_percent(rates.busy)}%")
    line.append(f" {short(rates.queue, room):>4}", style="bold red" if rates.queue > 2 else "")
    line.append(f" {short(rates.pages_per_s + rates.ios_per_s, room):>4}/s")
    if arm is not None and device.cylinders:
        line.append(_ruler(arm / device.cylinders, ARM, room), style="dim")
    line.truncate(width, pad=True)
    return line


def _ruler(part: float, cells: int, room: Room) -> str:
    """Where an arm is."""
    at = min(cells - 1, max(0, int(part * cells)))
    track, mark = ("-", "|") if room.plain else ("·", "▾")
    return " " + track * at + mark + track * (cells - 1 - at)


def _figure(name: str, value: str, past: list[float], width: int, room: Room) -> Text:
    cells = max(0, width - 25)
    line = Text(f"{name:<13} {value:>8}  ")
    line.append(sparkline(past, cells, PLAIN_SIGNS if room.plain else SIGNS), style="cyan")
    line.truncate(width, pad=True)
    return line


def _percent(part: float) -> str:
    return f"{100 * part:3.0f}"


def short(value: float | None, room: Room) -> str:
    """At most four characters up to 9,999; ``None``: a dash."""
    if value is None:
        return "-" if room.plain else "–"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def user_lines(frame: Frame, machine: Machine, room: Room, rows: int) -> list[Text]:
    """Of each user its number, state, class, and how many pages of its working set are in storage."""
    columns = max(1, room.width // COLUMN)
    there = [number for number, state in enumerate(frame.users) if state != LOGGED_OFF]
    if len(there) > rows * columns:
        # Who is in queue first, then who wants to be.
        rank = {number: _rank(frame.users[number]) for number in there}
        there = sorted(sorted(there, key=lambda number: rank[number])[: rows * columns])
    rows = min(rows, -(-len(there) // columns))
    lines = []
    for row in range(rows):
        line = Text(" ")
        for number in there[row::rows]:
            line.append_text(_user(number, frame, machine, room))
        lines.append(line)
    return lines


def _user(number: int, frame: Frame, machine: Machine, room: Room) -> Text:
    state = frame.users[number]
    resident, projected = frame.resident_pages[number], frame.projected_pages[number]
    line = Text(f"{number:>4} ")
    line.append(f"{state} ", style=style(state, STATES))
    kind = cell(machine.class_of[number], encoding=room.encoding)
    kind.truncate(10, overflow="crop" if room.plain else "ellipsis", pad=True)
    line.append(" ").append_text(kind)
    full = round(min(1.0, resident / max(1, projected)) * BAR)
    filled, empty = ("#", ".") if room.plain else ("█", "░")
    lacking = state.lower() in IN_QUEUE_STATES and resident < 0.75 * projected
    line.append(" " + filled * full, style="red" if lacking else "green")
    line.append(empty * (BAR - full), style="dim")
    line.append(f" {resident}/{projected}")
    line.truncate(COLUMN, pad=True)
    return line


def _rank(state: str) -> int:
    return 0 if state.lower() in IN_QUEUE_STATES else 1 if state in "eE" else 2
