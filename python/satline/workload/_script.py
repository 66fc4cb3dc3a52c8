"""Recordings of util-linux `script`: a file of times beside files of what was typed and shown.

Classic times: ``delay bytes`` on each line, all of it output. Advanced (`--log-in`, `--log-io`, `-T`): ``O``,
``I``, ``S`` or ``H`` before it, with the names of the files in its header. Reference: script(1),
scriptreplay(1).
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from satline.errors import InputError
from satline.workload._events import LARGEST_BYTES, LONGEST_S, WIDEST, Terminal

_CLASSIC = re.compile(r"(\d[\d.]*) (\d+)")
_ADVANCED = re.compile(r"([IOSH]) (\d[\d.]*) (.*)")


@dataclass
class _Stream:
    """A file of data, taken in pieces."""

    path: Path
    data: bytes
    at: int
    decoders: dict[str, codecs.IncrementalDecoder] = field(default_factory=dict)

    def take(self, count: int, kind: str) -> str | None:
        """The next bytes as text; None where the file is over."""
        piece = self.data[self.at : self.at + count]
        self.at += count
        if not piece and count:
            return None
        if kind not in self.decoders:
            self.decoders[kind] = codecs.getincrementaldecoder("utf-8")("replace")
        return self.decoders[kind].decode(piece)


def is_timing(text: str) -> bool:
    """Does it begin as a file of times?"""
    first = text.split("\n", 1)[0]
    return bool(_CLASSIC.fullmatch(first) or _ADVANCED.fullmatch(first))


def read_script(path: Path, text: str, typescript: Path | None) -> Terminal:
    """Read a file of times and the files it speaks of; what was cut at the end is left out and told.

    Parameters
    ----------
    typescript
        The output's file, where the times do not name it.

    Raises
    ------
    InputError
        A line is wrong, or a file is missing: file, line, remedy.
    """
    lines = text.split("\n")
    terminal = Terminal(str(path))
    streams: dict[str, _Stream] = {}
    names = {
        found[1]: found[2]
        for line in lines[:40]
        if (found := re.fullmatch(r"H [\d.]+ (OUTPUT_LOG|INPUT_LOG|IO_LOG) (.+)", line))
    }
    if typescript is None:
        stated = names.get("OUTPUT_LOG") or names.get("IO_LOG")
        typescript = path.parent / (stated or "typescript")
    now = 0.0
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            kind, delay, rest = _parse(line)
        except ValueError as error:
            if number == len(lines):
                terminal.notes.append(f"line {number} is cut and was left out")
                break
            raise InputError(
                f"{path}:{number}: {error}",
                hint="a line is `delay bytes`, or I, O, S or H, a delay and the rest",
            ) from None
        now += delay
        if now > LONGEST_S:
            raise InputError(f"{path}:{number}: later than ten years", hint="correct the delay in this line")
        if kind == "S" and (size := re.search(r"COLS=(\d{1,5})", rest)):
            terminal.columns = max(terminal.columns, min(int(size[1]), WIDEST))
        if kind == "H" and (size := re.fullmatch(r"COLUMNS (\d{1,5})", rest)):
            terminal.columns = min(max(int(size[1]), 1), WIDEST)
        if kind not in ("I", "O"):
            continue
        file = typescript
        if kind == "I" and "INPUT_LOG" in names:
            file = path.parent / names["INPUT_LOG"]
        if str(file) not in streams:
            streams[str(file)] = _open(file, path)
        data = streams[str(file)].take(int(rest), kind)
        if data is None:
            terminal.notes.append(f"{file} ends before what line {number} of the times speaks of")
            break
        (terminal.keys if kind == "I" else terminal.output).append((now, data))
    return terminal


def _parse(line: str) -> tuple[str, float, str]:
    """Kind, delay and rest of a line; ValueError says what is wrong."""
    classic = _CLASSIC.fullmatch(line)
    advanced = _ADVANCED.fullmatch(line)
    if classic:
        kind, delay_text, rest = "O", classic[1], classic[2]
    elif advanced:
        kind, delay_text, rest = advanced[1], advanced[2], advanced[3]
    else:
        raise ValueError("not a line of times")
    try:
        delay = float(delay_text)
    except ValueError:
        delay = math.nan
    if not 0 <= delay <= LONGEST_S:
        raise ValueError("the delay is no number of seconds")
    if kind in ("I", "O") and not (re.fullmatch(r"\d{1,10}", rest) and int(rest) <= LARGEST_BYTES):
        raise ValueError("the count is no number of bytes")
    return kind, delay, rest


def _open(file: Path, timing: Path) -> _Stream:
    try:
        if not file.is_file():
            raise InputError(
                f"{file}: no such file, and {timing} speaks of it", hint="name it: --typescript FILE"
            )
        if file.stat().st_size > LARGEST_BYTES:
            raise InputError(f"{file}: larger than {LARGEST_BYTES >> 20} MiB", hint="record shorter sessions")
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}", hint="name the output's file: --typescript FILE") from None
    # `script` writes a line of its own first, which no time counts.
    start = data.find(b"\n") + 1 if data.startswith(b"Script started on ") else 0
    return _Stream(file, data, start)
