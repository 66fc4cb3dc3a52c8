"""Recorded terminals as two streams of text with times; asciicast (versions 2 and 3) read.

References: asciicast v2 and v3 file formats of asciinema. A marker ``satline:secret`` says that something was
typed without echo; neither it nor its length is there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.outside import parse_json

SECRET = "satline:secret"
LARGEST_BYTES = 256 << 20
LONGEST_S = 10 * 366 * 86400.0
WIDEST = 10_000


@dataclass
class Terminal:
    """What went through one terminal; times in s from its beginning, never falling.

    aid
        What the shell's OSC 133 marks carry, where the recorder set them: marks with another are only output.
    notes
        What was left out, in words.
    """

    source: str
    columns: int = 80
    aid: str | None = None
    keys: list[tuple[float, str]] = field(default_factory=list)
    output: list[tuple[float, str]] = field(default_factory=list)
    secrets: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_text(path: Path) -> str:
    """A recording's file as text; bytes that are none are shown as the replacement character.

    Raises
    ------
    InputError
        It cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise InputError(
                f"{path}: larger than {LARGEST_BYTES >> 20} MiB", hint="record shorter sessions, or cut it"
            )
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a recorded session") from None


def is_asciicast(text: str) -> bool:
    """Does it begin as an asciicast of a version with one event a line?"""
    return text.lstrip("\ufeff").startswith("{")


def read_asciicast(path: Path, text: str) -> Terminal:
    """Read an asciicast; a last line that was cut is left out and told.

    Raises
    ------
    InputError
        The header or a line is not what the format says: file, line, remedy.
    """
    lines = text.lstrip("\ufeff").split("\n")
    header = _json(lines[0])
    version = header.get("version") if isinstance(header, dict) else None
    if not isinstance(header, dict) or version not in (2, 3):
        said = f"version {version!r}" if isinstance(header, dict) else "no header"
        raise InputError(
            f"{path}:1: {said}: not an asciicast of version 2 or 3",
            hint="`asciinema convert` brings version 1 to 2; `satline workload record` writes version 3",
        )
    terminal = Terminal(str(path), _columns(header))
    ours = header.get("satline")
    if isinstance(ours, dict) and isinstance(ours.get("aid"), str):
        terminal.aid = ours["aid"]
    now = 0.0
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or (version == 3 and line.startswith("#")):
            continue
        event = _json(line)
        wrong = _what_is_wrong(event)
        if wrong is not None:
            if number == len(lines):
                terminal.notes.append(f"line {number} is cut and was left out")
                break
            raise InputError(
                f"{path}:{number}: {wrong}",
                hint='an event is [seconds, "o" or "i", "text"]; cut the file before this line',
            )
        assert isinstance(event, list)
        now = max(now, float(event[0])) if version == 2 else now + float(event[0])
        if now > LONGEST_S:
            raise InputError(f"{path}:{number}: later than ten years", hint="correct the time in this line")
        _take(terminal, now, event[1], event[2])
    return terminal


def _take(terminal: Terminal, now: float, code: str, data: str) -> None:
    if code == "o":
        terminal.output.append((now, data))
    elif code == "i":
        terminal.keys.append((now, data))
    elif code == "m" and data == SECRET:
        terminal.secrets.append(now)
    elif code == "r" and (size := re.fullmatch(r"(\d{1,5})x\d{1,5}", data)):
        terminal.columns = max(terminal.columns, min(int(size[1]), WIDEST))


def _json(line: str) -> Any:
    try:
        return parse_json(line)
    except (ValueError, RecursionError):
        return None


def _columns(header: dict[str, Any]) -> int:
    term = header.get("term")
    columns = header.get("width") if not isinstance(term, dict) else term.get("cols")
    if isinstance(columns, int) and 0 < columns <= WIDEST:
        return columns
    return 80


def _what_is_wrong(event: Any) -> str | None:
    if not isinstance(event, list) or len(event) < 3:
        return "not an event"
    time, code, data = event[:3]
    try:
        seconds = float(time) if isinstance(time, int | float) and not isinstance(time, bool) else math.nan
    except OverflowError:
        seconds = math.inf
    if not 0 <= seconds <= LONGEST_S:
        return "the time is no number of seconds from 0 on"
    if not isinstance(code, str) or not isinstance(data, str):
        return "the event's kind or data is not a text"
    return None
