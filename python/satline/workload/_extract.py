"""From a recorded terminal to its session: where prompts stand, where lines end, where answers are over."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from satline.errors import InputError
from satline.workload._classes import Mapping
from satline.workload._events import Terminal, is_asciicast, read_asciicast, read_text
from satline.workload._screen import ESCAPE, plain, typed_line
from satline.workload._script import is_timing, read_script
from satline.workload._session import Line, Session

PROMPT = r"[$#%] "
_MARK = re.compile(r"\x1b\]133;([ABCD])((?:;[^\x07\x1b]*)?)(?:\x07|\x1b\\)")
_FULL_SCREEN = "\x1b[?1049h"
_LINE_END = re.compile(r"[\r\n]")
_LONGEST_SEEN = 2000
_LONGEST_PROMPT = 100


@dataclass
class _Command:
    """Places in the output's text.

    After the prompt, where the line's echo is over, the answer's end, the next prompt.
    """

    ready: int
    begun: int
    over: int
    next: int | None
    status: int | None = None
    column: int = 0


class _Output:
    """All output as one text, and when each place in it was shown."""

    def __init__(self, terminal: Terminal) -> None:
        self.text = "".join(text for _, text in terminal.output)
        self.starts: list[int] = []
        self._times = [time for time, _ in terminal.output]
        at = 0
        for _, text in terminal.output:
            self.starts.append(at)
            at += len(text)

    def time(self, place: int) -> float:
        """When the character before this place was shown."""
        return self._times[max(bisect.bisect_right(self.starts, max(place - 1, 0)) - 1, 0)]

    def after(self, place: int) -> float | None:
        """When the next character was."""
        return self.time(place + 1) if place < len(self.text) else None

    def place(self, time: float) -> int:
        """How much had been shown before this time."""
        index = bisect.bisect_left(self._times, time)
        return self.starts[index] if index < len(self.starts) else len(self.text)


def open_terminal(path: Path, typescript: Path | None = None) -> Terminal:
    """Read a recording of any known form.

    Raises
    ------
    InputError
        It is of none, or damaged: file, line, remedy.
    """
    text = read_text(path)
    if is_asciicast(text):
        return read_asciicast(path, text)
    if is_timing(text):
        return read_script(path, text, typescript)
    raise InputError(
        f"{path}:1: neither an asciicast nor a file of times of `script`",
        hint="for `script` name the file that -T or --timing wrote, not the typescript",
    )


def extract(terminal: Terminal, mapping: Mapping, prompt: str | None = None) -> Session:
    """The session in a recording: by prompt marks (OSC 133), else by the prompt's pattern.

    Parameters
    ----------
    prompt
        Regular expression of a prompt's end; given, marks are not looked for.

    Raises
    ------
    InputError
        No prompt is found, or the pattern is none.
    """
    output = _Output(terminal)
    notes = list(terminal.notes)
    commands = [] if prompt is not None else _by_marks(output, terminal.aid)
    if not commands:
        commands = _by_pattern(output, prompt)
        if prompt is None and commands:
            notes.append(f"no prompt marks: prompts taken by the pattern {PROMPT}")
    if not commands:
        raise InputError(
            f"{terminal.source}: no prompt with a line typed at it",
            hint=r"give the prompt's pattern: --prompt '\$ ' (a regular expression of how it ends)",
        )
    lines: list[Line] = []
    for before, command in zip([None, *commands], commands, strict=False):
        lines += _lines(terminal, output, before, command, mapping)
    screens = sum(_FULL_SCREEN in output.text[c.begun : c.over] for c in commands)
    if screens:
        notes.append(f"{screens} full-screen programs: what was typed in them is not told apart")
    keys: Literal["typed", "echo"] = "typed" if terminal.keys else "echo"
    return Session(source=Path(terminal.source).name, keys=keys, lines=lines, notes=notes)


def _by_marks(output: _Output, aid: str | None) -> list[_Command]:
    commands: list[_Command] = []
    ready: int | None = None
    running: _Command | None = None
    start = column = 0
    for mark in _MARK.finditer(output.text):
        if aid is not None and f"aid={aid}" not in mark[2].split(";"):
            continue
        kind = mark[1]
        if kind == "A":
            start = mark.end()
        if kind == "B":
            ready = mark.end()
            column = len(plain(output.text[start : mark.start()]).split("\n")[-1])
            if running is not None and running.next is None:
                running.next = ready
        elif kind == "C" and ready is not None:
            running = _Command(ready, mark.end(), len(output.text), None, column=column)
            commands.append(running)
            ready = None
        elif kind in "DA" and running is not None and running.over == len(output.text):
            running.over = mark.start()
            status = re.match(r";(\d{1,3})(?:;|$)", mark[2])
            running.status = int(status[1]) if kind == "D" and status else None
    return commands


def _by_pattern(output: _Output, prompt: str | None) -> list[_Command]:
    """Prompts.

    What stands on a line at the end of something shown, and matches; typed lines: from there to the line's
    end.
    """
    try:
        pattern = re.compile(rf"(?:{prompt or PROMPT})\Z")
    except re.error as error:
        raise InputError(f"--prompt: not a regular expression: {error}", hint=r"for example '\$ '") from None
    commands: list[_Command] = []
    text = output.text
    at = 0
    for start in [*output.starts[1:], len(text)]:
        if start < at or start == 0:
            continue
        line_start = max(text.rfind("\n", 0, start) + 1, at, start - _LONGEST_SEEN)
        shown = plain(text[line_start:start]).split("\n")[-1]
        if not pattern.search(shown):
            continue
        if commands and commands[-1].next is None:
            commands[-1].over, commands[-1].next = line_start, start
        end = text.find("\n", start)
        if end < 0:
            break
        if typed_line(text[start:end], 10_000):
            commands.append(_Command(start, end + 1, len(text), None, column=len(shown)))
        at = end + 1
    return commands


def _lines(
    terminal: Terminal, output: _Output, before: _Command | None, command: _Command, mapping: Mapping
) -> list[Line]:
    ready_s, begun_s = output.time(command.ready), output.time(command.begun)
    text = typed_line(output.text[command.ready : command.begun], terminal.columns, command.column)
    if not text:
        return []
    first, last = _typing(terminal, output, command.ready, ready_s, begun_s)
    over_s = output.time(command.next) if command.next is not None else None
    secret = any(begun_s <= time and (over_s is None or time <= over_s) for time in terminal.secrets)
    klass = mapping.of(text)
    inner = _inner(terminal, output, command, last, klass)
    end = inner[0][1] if inner else over_s
    answer = output.text[command.begun : inner[0][0] if inner else command.over]
    lines = [
        Line.model_validate(
            {
                "class": klass,
                "text": text,
                "think_s": None if before is None or first is None else max(first - ready_s, 0.0),
                "typing_s": None if first is None else max(last - first, 0.0),
                "response_s": None if end is None else max(end - last, 0.0),
                "characters": len(text) + 1,
                "output_bytes": len(answer.encode("utf-8", "replace")),
                "status": command.status,
                "secret": secret,
                "full_screen": _FULL_SCREEN in output.text[command.begun : command.over],
            }
        )
    ]
    return lines + [line for _, _, line in inner]


def _typing(
    terminal: Terminal, output: _Output, ready: int, ready_s: float, begun_s: float
) -> tuple[float | None, float]:
    """When the first key and the line's end of the line typed at a prompt were, s.

    None: it began before the prompt.
    """
    if not terminal.keys:
        return output.after(ready), begun_s
    low = bisect.bisect_left(terminal.keys, (ready_s, ""))
    keys = []
    for time, key in terminal.keys[low:]:
        if time > begun_s:
            break
        keys.append((time, key))
    ends = [time for time, key in keys if _LINE_END.search(key)]
    return (keys[0][0] if keys else None), (ends[-1] if ends else begun_s)


def _inner(
    terminal: Terminal, output: _Output, command: _Command, sent_s: float, klass: str
) -> list[tuple[int, float, Line]]:
    """Lines that the command's program read: where the one before was answered, when, and the line."""
    stop_s = output.time(command.over)
    if _FULL_SCREEN in output.text[command.begun : command.over]:
        return []
    found: list[tuple[int, float, Line]] = []
    first: float | None = None
    low = bisect.bisect_right(terminal.keys, (sent_s, "\U0010ffff"))
    ready = command.begun
    for time, key in terminal.keys[low:]:
        if time >= stop_s and command.next is not None and output.place(time) >= command.over:
            break
        if first is None:
            first, ready = time, max(output.place(time), command.begun)
        if not _LINE_END.search(key):
            continue
        # The echo's end: the next line end shown.
        end = output.text.find("\n", ready)
        end = command.over if end < 0 or end > command.over else end
        line_start = max(output.text.rfind("\n", 0, ready) + 1, command.begun, ready - _LONGEST_SEEN)
        shown = ESCAPE.sub("", output.text[line_start:ready]).replace("\r", "")
        text = typed_line(output.text[ready:end], terminal.columns, len(shown) % terminal.columns)
        ready_s = max(output.time(ready), sent_s)
        line = Line.model_validate(
            {
                "class": f"input to {klass}",
                "text": text.split("\n")[0],
                "think_s": max(first - ready_s, 0.0),
                "typing_s": time - first,
                "characters": len(text) + 1,
                "program": klass,
                "prompt": shown[-_LONGEST_PROMPT:],
                "secret": not text and any(first - 1 <= at <= time + 1 for at in terminal.secrets),
            }
        )
        found.append((line_start, ready_s, line))
        first, sent_s, ready = None, time, end
    return _answered(found, output, command)


def _answered(
    found: list[tuple[int, float, Line]], output: _Output, command: _Command
) -> list[tuple[int, float, Line]]:
    """The same with each line's response and answer's length, which only the next line or the command's end
    tells."""
    done = []
    for index, (start, ready_s, line) in enumerate(found):
        after = found[index + 1] if index + 1 < len(found) else None
        over, over_s = (after[0], after[1]) if after else (command.over, output.time(command.over))
        sent_s = ready_s + (line.think_s or 0.0) + (line.typing_s or 0.0)
        echo = output.text.find("\n", start + len(line.prompt or "")) + 1
        answer = output.text[echo:over] if 0 < echo <= over else ""
        changes = {
            "response_s": max(over_s - sent_s, 0.0),
            "output_bytes": len(answer.encode("utf-8", "replace")),
        }
        done.append((start, ready_s, line.model_copy(update=changes)))
    return done
