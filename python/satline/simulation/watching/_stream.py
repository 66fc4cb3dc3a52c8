"""The program `satline-machine watch`, told to go on a little at a time."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Self

from satline.errors import SatlineError
from satline.outside import parse_json
from satline.simulation._runner import PROGRAM
from satline.systems.binaries import PATIENCE_S, end, failure

FORMAT = 1


@dataclass(frozen=True)
class Device:
    """A device of the machine; `cylinders` of one with an arm."""

    name: str
    role: str
    cylinders: int | None


@dataclass(frozen=True)
class Machine:
    """What does not change in a run.

    users
        The most that there can be; `class_of` has them and, after them, the background programs.
    """

    name: str
    workload: str
    frames: int
    processors: int
    users: int
    class_of: tuple[str, ...]
    devices: tuple[Device, ...]
    channels: tuple[int, ...]
    end_s: float
    unverified: int

    @staticmethod
    def from_line(line: dict[str, Any]) -> Machine:
        """From the program's first line."""
        classes = line["classes"]
        return Machine(
            line["machine"],
            line["workload"],
            line["frames"],
            line["processors"],
            line["users"],
            tuple(classes[number] for number in line["class_of"]),
            tuple(Device(one["name"], one["role"], one["cylinders"]) for one in line["devices"]),
            tuple(line["channels"]),
            line["end_s"],
            line["unverified"],
        )


@dataclass(frozen=True)
class Frame:
    """What is where at a time; `counters` add up from the start. docs/reference/watching.md has all of it."""

    time_s: float
    users_wanted: int
    map: str
    users: str
    resident_pages: tuple[int, ...]
    projected_pages: tuple[int, ...]
    counters: dict[str, float]
    devices: tuple[dict[str, float | None], ...]
    channels_busy_ns: tuple[float, ...]

    @staticmethod
    def from_line(line: dict[str, Any]) -> Frame:
        """From a line of the program."""
        return Frame(
            line["time_s"],
            line["users_wanted"],
            line["map"],
            line["users"],
            tuple(line["resident_pages"]),
            tuple(line["projected_pages"]),
            {name: value for name, value in line.items() if isinstance(value, int | float)},
            tuple(line["devices"]),
            tuple(line["channels_busy_ns"]),
        )


class Watched:
    """A run under way; nothing happens in it but what `go` asks for. A context: it is gone afterwards.

    Raises
    ------
    InputError, SatlineError
        By all methods: the program refuses its input, or fails.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = shlex.join(command)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Ctrl-C is for the one who watches, who ends the run.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._buffer = bytearray()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe in (self._input, self._output):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        end(self._process, PATIENCE_S)
        self._errors.close()

    def fileno(self) -> int:
        """What becomes readable when a line comes, or the end."""
        return self._output.fileno()

    def go(self, seconds: float) -> None:
        """Simulate so long; a frame's line will come."""
        self._tell(f"go {seconds:.9f}")

    def want(self, users: int) -> None:
        """So many users from now on, up to the next step."""
        self._tell(f"users {users}")

    def line(self, wait: bool = True) -> bytes | None:
        """The next line. ``None``: there is none yet, or with `wait`, none any more."""
        while b"\n" not in self._buffer and not self._closed:
            if not wait and not select.select([self], [], [], 0)[0]:
                return None
            part = os.read(self.fileno(), 1 << 16)
            self._closed = not part
            self._buffer += part
        if b"\n" not in self._buffer:
            self._check_end()
            return None
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        return bytes(line)

    @property
    def ended(self) -> bool:
        """There will be no line any more."""
        return self._closed and b"\n" not in self._buffer

    def machine(self) -> Machine:
        """The first line."""
        line = self.line()
        if line is None:
            raise SatlineError(f"{PROGRAM} ended before its first line", hint=f"by hand: {self._command}")
        content = self.content(line)
        if content.get("kind") != "machine" or content.get("format") != FORMAT:
            raise SatlineError(
                f"{PROGRAM} prints lines of format {content.get('format')!r}, not {FORMAT}",
                hint="install satline and its programs of one version",
            )
        return Machine.from_line(content)

    def content(self, line: bytes) -> dict[str, Any]:
        """A line's object."""
        try:
            content = parse_json(line)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise SatlineError(
                f"{PROGRAM} printed something else than its lines: {line[:80]!r}",
                hint=f"run it by hand: {self._command}",
            )
        return content

    def _tell(self, text: str) -> None:
        try:
            self._input.write(text.encode() + b"\n")
            self._input.flush()
        except BrokenPipeError:
            self._check_end()

    def _check_end(self) -> None:
        status = self._process.wait()
        if status != 0:
            self._errors.seek(0)
            words = self._errors.read().decode("utf-8", "replace").splitlines()
            raise failure(PROGRAM, status, words, self._command)
