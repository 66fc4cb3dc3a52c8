"""A frame and its history as lines of text, for any size of terminal."""

from __future__ import annotations

from itertools import groupby

from rich.text import Text

from satline.experiment.progress import clock
from satline.present._escape import cell
from satline.present.watching._figures import device_lines, figure_lines, processor_line, short, user_lines
from satline.present.watching._keys import Pace
from satline.present.watching._letters import (
    FRAMES,
    IN_QUEUE_STATES,
    LOGGED_OFF,
    STATES,
    Letter,
    Room,
    by_state,
    counts,
    rule,
    shrunk,
    style,
    thinned,
)
from satline.simulation.watching import Frame, History, Machine, Rates

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
KEYS = "space pause  . step  + - faster, slower  U u one user more, fewer  q quit"


def picture(
    machine: Machine, history: History, pace: Pace, room: Room, keys: bool | None = True
) -> list[Text]:
    """All lines, at most as many as there is room for, none longer than its width.

    `keys`: whether there are any; ``None``: nobody can do anything any more, and empty lines are left out.
    """
    if room.width < LEAST_WIDTH or room.height < LEAST_HEIGHT:
        return [Text(f"make the terminal {LEAST_WIDTH} x {LEAST_HEIGHT} or larger"[: room.width])]
    frame = history.now
    rates = history.rates()
    title = _title(machine, history, pace, room)
    storage = _legend(_frame_counts(frame.map), room)
    bar = _cells(shrunk(by_state(frame.users), room.width - 1), STATES, room.width - 1)[:1]
    states = _legend(_state_counts(frame.users), room)
    figures = [
        rule(f"users: {_queues(frame.users)}; means over {_window(rates, room)} s", room),
        *bar,
        *states,
        *processor_line(rates, room),
        *figure_lines(history, room),
    ]
    devices = device_lines(frame, machine, rates, room)
    last = [_keys(bool(keys), room)]
    # Of what is left the map gets what it can use, and users one by one the rest.
    left = room.height - 2 - len(storage) - len(figures) - len(last)
    most_devices = max(0, left - 3)
    devices = devices[:most_devices]
    map_ = map_lines(frame.map, room.width - 1, max(2, left - len(devices)))
    left -= len(devices) + len(map_)
    users = user_lines(frame, machine, room, left - 1) if left >= 3 else []
    heads = [rule("users one by one: pages in storage of the working set", room)] if users else []
    group = -(-len(frame.map) // max(1, sum(_width(line) for line in map_)))
    wanted = wanted_in_queue(frame)
    over = wanted > len(frame.map)
    name = f"storage: {len(frame.map)} frames, working sets in queue {wanted}" + ("!" if over else "")
    name += f"; a letter is {group} frames" if group > 1 else ""
    lines = [
        title,
        rule(name, room, "bold red" if over else "bold"),
        *map_,
        *storage,
        *figures,
        *devices,
        *heads,
        *users,
    ]
    lines = lines[: room.height - 1]
    if keys is not None:
        lines += [Text("")] * (room.height - 1 - len(lines)) + last
    for line in lines:
        line.truncate(room.width)
    return lines


def map_lines(letters: str, width: int, rows: int) -> list[Text]:
    """Storage in order of address: a cell for each frame as wide as fits, or for several."""
    group = max(1, -(-len(letters) // (width * rows)))
    return _cells(thinned(letters, group), FRAMES, width, rows)


def wanted_in_queue(frame: Frame) -> int:
    """Projected working sets of those in queue, pages; more than there are frames: overcommitment [Bard]."""
    pairs = zip(frame.projected_pages, frame.users, strict=True)
    return sum(pages for pages, state in pairs if state.lower() in IN_QUEUE_STATES)


def _cells(letters: str, of: dict[str, Letter], width: int, rows: int = 1) -> list[Text]:
    """Letters in rows, each on its colour and followed by as much of it as there is room for."""
    wide = next((cells for cells in (3, 2) if -(-len(letters) // max(1, width // cells)) <= rows), 1)
    in_row = max(1, width // wide)
    lines = []
    for at in range(0, len(letters), in_row):
        line = Text(" ")
        # Together what looks the same: a tenth of what goes to the terminal otherwise.
        for look, run in groupby(letters[at : at + in_row], lambda letter: style(letter, of)):
            line.append("".join(letter.ljust(wide) for letter in run), style=look)
        lines.append(line)
    return lines or [Text("")]


def _width(line: Text) -> int:
    """Letters of a row of cells."""
    return len(line.plain.replace(" ", ""))


def _frame_counts(map_: str) -> list[tuple[str, str, str]]:
    found, capitals = counts(map_), sum(letter.isupper() for letter in map_)
    shown = []
    for owner, changed in (("q", "w"), ("o", "d"), ("s", "t")):
        name = FRAMES[owner].name
        letters = f"{owner}{changed}" if owner != "s" or found[changed] else owner
        shown.append((letters, f"{name} {found[owner] + found[changed]}", FRAMES[owner].style))
    for letter in "kf<>.":
        # These two are not on every machine.
        if letter not in "kf" or found[letter]:
            shown.append((letter, f"{FRAMES[letter].name} {found[letter]}", FRAMES[letter].style))
    changes = sum(found[letter] for letter in "wdt")
    return [*shown, ("wd", f"changed {changes}", ""), ("QWODS", f"referenced {capitals}", "bold")]


def _state_counts(users: str) -> list[tuple[str, str, str]]:
    found = counts(users)
    return [(letter, f"{known.name} {found[letter]}", known.style) for letter, known in STATES.items()]


def _queues(users: str) -> str:
    both = (IN_QUEUE_STATES, IN_QUEUE_STATES.upper())
    q1, q2 = (sum(users.count(one) for one in letters) for letters in both)
    return f"{len(users) - users.count(LOGGED_OFF)}, Q1 {q1}, Q2 {q2} (capitals)"


def _window(rates: Rates | None, room: Room) -> str:
    return short(None if rates is None else rates.seconds, room)


def _legend(parts: list[tuple[str, str, str]], room: Room) -> list[Text]:
    """Letters with their meanings, in as many lines as they need."""
    lines = [Text(" ")]
    for letters, text, look in parts:
        if lines[-1].cell_len + len(letters) + len(text) + 1 > room.width and lines[-1].cell_len > 1:
            lines.append(Text(" "))
        lines[-1].append(letters, style=look)
        lines[-1].append(f" {text} ")
    return lines


def _title(machine: Machine, history: History, pace: Pace, room: Room) -> Text:
    frame = history.now
    users = f"{frame.users_wanted} users"
    sign = "x" if room.plain else "×"
    time = f"{clock(frame.time_s)} of {clock(machine.end_s)}"
    if pace.interval_s < 1:
        time = (
            f"{clock(int(frame.time_s))}{frame.time_s % 1:.3f}".replace("0.", ".")
            + f" of {clock(machine.end_s)}"
        )
    right = f"{users}  {time}  {sign}{pace.pace:g} "
    right += "PAUSED" if pace.paused else "      "
    line = Text(" ")
    names = cell(f"{machine.name}  {machine.workload}", "bold", encoding=room.encoding)
    names.truncate(
        max(8, room.width - len(right) - 3), overflow="crop" if room.plain else "ellipsis", pad=True
    )
    line.append_text(names)
    line.append("  ")
    line.append(right, style="bold reverse" if pace.paused else "bold")
    return line


def _keys(keys: bool, room: Room) -> Text:
    return Text(" " + (KEYS if keys else "Ctrl-C ends")[: room.width - 2], style="dim")
