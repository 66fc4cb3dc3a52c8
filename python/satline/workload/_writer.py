"""What of a recorded session goes into its file, and what must not.

What is typed without echo is never stored, and neither is its length:

- With echo off and lines on (getpass, sudo, ssh, passwd) nothing is, but that a secret was typed.
- With both off a program echoes by hand (readline, editors), or stars, or nothing. A key is stored once the
  terminal has answered with just that key, at once; once a key was not, none is until the next line, and
  stars shown meanwhile are left out too.
- Of lines typed or pasted ahead in one piece only the first is stored: the rest may go to a program that
  turns echo off.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TextIO

from satline.workload._events import SECRET
from satline.workload._screen import ESCAPE

SHOWN_WITHIN_S = 1.0
SHOWN_BEFORE_NEXT_S = 0.1
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_STARS = re.compile(r"[ \b]*[*•●·][*•●·\b ]*")


@dataclass
class _Entry:
    """An event that is not yet written; ``held``: keys that the terminal has not shown."""

    time_us: int
    code: str
    data: str
    held: bool = False


class Writer:
    """Events into a file, in order, those that must wait held back.

    Parameters
    ----------
    file
        Open for writing; the header is there.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._queue: list[_Entry] = []
        self._written_us = 0
        self._secret_told = False
        self._pasting = False
        self._blind = False

    def output(self, now_us: int, text: str) -> None:
        """The terminal shows `text`."""
        self.settle(now_us)
        shown = ESCAPE.sub("", text)
        self._release(shown)
        unseen = self._blind or any(entry.held for entry in self._queue)
        if unseen and _STARS.fullmatch(shown):
            return
        if "\n" in shown or "\x1b]133;" in text:
            self._drop_unseen(now_us, 0.0)
            self._blind = False
        self._queue.append(_Entry(now_us, "o", text))
        self._write()

    def keys(self, now_us: int, text: str, *, echo: bool, lines: bool) -> None:
        """`text` is typed while the terminal's echo and line discipline are as said."""
        self.settle(now_us)
        if lines and not echo:
            self._secret(now_us)
            return
        text = self._first_line(text)
        if echo:
            self._secret_told = False
            self._queue.append(_Entry(now_us, "i", text))
        else:
            self._drop_unseen(now_us, SHOWN_BEFORE_NEXT_S)
            pieces = re.findall(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO?.|.", text, re.DOTALL)
            for piece in pieces:
                if not piece.isprintable():
                    self._blind = False
                    waits = any(entry.held for entry in self._queue)
                    self._queue.append(_Entry(now_us, "i", piece, held=waits))
                elif self._blind:
                    self._secret(now_us)
                else:
                    self._queue.append(_Entry(now_us, "i", piece, held=True))
        self._write()

    def event(self, now_us: int, code: str, data: str) -> None:
        """Anything else: a size, an exit status."""
        self._queue.append(_Entry(now_us, code, data))
        self._write()

    def settle(self, now_us: int, *, end: bool = False) -> None:
        """Let go of what was held long enough: keys that nobody saw are left out, other keys stay."""
        self._drop_unseen(now_us, 0.0 if end else SHOWN_WITHIN_S)
        self._write()

    def _release(self, shown: str) -> None:
        """Keys that the terminal has shown: the first few and nothing else, or all and what follows."""
        held = [entry for entry in self._queue if entry.held]
        run = list(itertools.takewhile(lambda entry: entry.data.isprintable(), held))
        text = "".join(entry.data for entry in run)
        seen = run if shown.startswith(text) else run[: len(shown)] if text.startswith(shown) else []
        if not shown or not text:
            return
        for entry in seen:
            entry.held = False
        self._free_controls()

    def _free_controls(self) -> None:
        """Keys that are no text wait only for text before them."""
        for entry in self._queue:
            if entry.held and entry.data.isprintable():
                break
            entry.held = False

    def _drop_unseen(self, now_us: int, after_s: float) -> None:
        late = [
            entry
            for entry in self._queue
            if entry.held and entry.data.isprintable() and now_us - entry.time_us >= after_s * 1e6
        ]
        if late:
            self._blind = True
            at = next(index for index, entry in enumerate(self._queue) if entry is late[0])
            self._queue = [entry for entry in self._queue if not any(entry is one for one in late)]
            self._secret(late[0].time_us, at)
            self._free_controls()

    def _first_line(self, text: str) -> str:
        """Up to the first line end, unless the terminal marks it as one paste."""
        if self._pasting or _PASTE_BEGINS in text:
            self._pasting = (
                text.rfind(_PASTE_ENDS) < text.rfind(_PASTE_BEGINS)
                if (_PASTE_BEGINS in text)
                else _PASTE_ENDS not in text
            )
            return text
        found = re.search(r"\r\n?|\n", text)
        return text[: found.end()] if found else text

    def _secret(self, time_us: int, at: int | None = None) -> None:
        """Told once, however much is typed: until something is typed with echo."""
        if not self._secret_told:
            self._secret_told = True
            self._queue.insert(len(self._queue) if at is None else at, _Entry(time_us, "m", SECRET))
        self._write()

    def _write(self) -> None:
        while self._queue and not self._queue[0].held:
            entry = self._queue.pop(0)
            if entry.code == "i":
                self._secret_told = False
            after = max(entry.time_us - self._written_us, 0)
            self._written_us += after
            line = json.dumps([round(after / 1e6, 6), entry.code, entry.data], ensure_ascii=False)
            self._file.write(line.encode("utf-8", "replace").decode() + "\n")
