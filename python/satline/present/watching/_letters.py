"""The letters of a frame's map and of users' states: names, order, colours; the room there is for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.text import Text


class Letter(NamedTuple):
    name: str
    style: str


IN_QUEUE, OUT_OF_QUEUE, SHARED = "black on green", "black on cyan", "white on blue"

# Without its capital: that is a frame that was referenced.
FRAMES = {
    "q": Letter("in queue", IN_QUEUE),
    "w": Letter("same, changed", IN_QUEUE),
    "o": Letter("out of queue", OUT_OF_QUEUE),
    "d": Letter("same, changed", OUT_OF_QUEUE),
    "s": Letter("shared", SHARED),
    "t": Letter("same, changed", SHARED),
    "k": Letter("kept: swapped logically", "black on white"),
    "f": Letter("flush list", "black on yellow"),
    ".": Letter("free", "dim"),
    "<": Letter("coming in", "bold white on red"),
    ">": Letter("going out", "bold white on magenta"),
}
# In the order in which the bar shows them; capitals are in Q2, or candidates for it.
STATES = {
    "r": Letter("running", "black on green"),
    "c": Letter("CPU wait", "black on yellow"),
    "p": Letter("page wait", "bold white on red"),
    "i": Letter("I/O wait", "white on blue"),
    "e": Letter("eligible", "black on magenta"),
    "d": Letter("dormant", "dim"),
}
IN_QUEUE_STATES = "rcpi"
LOGGED_OFF = "-"
_ORDER = {letter: number for number, both in enumerate(STATES) for letter in (both, both.upper())}


def counts(letters: str) -> Counter[str]:
    """How many of each, capitals with their small letters."""
    return Counter(letters.lower())


def style(letter: str, of: dict[str, Letter]) -> str:
    """How a letter is drawn; a capital stands out."""
    known = of.get(letter.lower())
    if known is None:
        return ""
    return f"bold {known.style}" if letter.isupper() else known.style


def thinned(letters: str, group: int) -> str:
    """One letter for every `group`, the most frequent of them; of equally frequent ones the first."""
    if group <= 1:
        return letters
    parts = (letters[at : at + group] for at in range(0, len(letters), group))
    return "".join(Counter(part).most_common(1)[0][0] for part in parts)


def by_state(users: str) -> str:
    """Users logged on, sorted by what they do."""
    return "".join(sorted((one for one in users if one in _ORDER), key=lambda one: (_ORDER[one], one)))


def shrunk(letters: str, cells: int) -> str:
    """A sorted bar in at most so many cells, in proportion.

    >>> shrunk("aaaaaabb", 4)
    'aaab'
    """
    if len(letters) <= cells:
        return letters
    return "".join(letters[(2 * cell + 1) * len(letters) // (2 * cells)] for cell in range(cells))


def sparkline(values: Iterable[float], cells: int, signs: Sequence[str], least_top: float = 1.0) -> str:
    """The last values as heights, from 0 to their largest or `least_top`; the newest is at the right."""
    last = list(values)[-cells:] if cells > 0 else []
    top = max([least_top, *last])
    steps = len(signs) - 1
    drawn = (signs[min(steps, max(0, round(value / top * steps)))] for value in last)
    return "".join(drawn).rjust(max(cells, 0))


@dataclass(frozen=True)
class Room:
    """Where a picture is drawn. `encoding` is the terminal's: names and signs that it lacks are replaced."""

    width: int
    height: int
    encoding: str = "utf-8"

    @property
    def plain(self) -> bool:
        """Letters and signs of ASCII only."""
        return not self.encoding.lower().replace("-", "").startswith("utf")


def rule(text: str, room: Room, style: str = "bold") -> Text:
    """A heading with a line to the right."""
    line = Text(" ")
    line.append(text, style=style)
    line.append(" " + ("-" if room.plain else "─") * max(0, room.width - len(text) - 3), style="dim")
    return line
