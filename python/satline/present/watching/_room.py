"""Where a picture is drawn: how much room there is, and what signs the terminal has."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text


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
