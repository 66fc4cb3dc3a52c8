"""Users one by one, where a terminal has room for them."""

from __future__ import annotations

from rich.text import Text

from satline.present import cell
from satline.simulation.watching._letters import IN_QUEUE_STATES, LOGGED_OFF, STATES, style
from satline.simulation.watching._room import Room
from satline.simulation.watching._stream import Frame, Machine

COLUMN = 38
BAR = 8


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
