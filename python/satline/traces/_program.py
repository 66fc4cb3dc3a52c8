"""The program `satline-traces`: started, heard, ended."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.errors import InputError, SatlineError
from satline.outside import parse_json
from satline.systems.binaries import end as end_process
from satline.systems.binaries import find_binary, message_and_hint

PROGRAM = "satline-traces"
PATIENCE_S = 10.0


@dataclass(frozen=True)
class Progress:
    """How far the program is.

    doing
        ``"reading"`` or ``"replaying"``.
    part
        0 to 1; ``None``: how much there is to do is not known.
    count
        Bytes read, for ``"reading"``.
    """

    doing: str
    part: float | None
    count: float


class Program:
    """The program, found once.

    Raises
    ------
    SatlineError
        It is not there.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or find_binary(PROGRAM)

    def run(
        self,
        arguments: Sequence[str],
        progress: Callable[[Progress], None] | None = None,
        *,
        stdin: int = subprocess.DEVNULL,
    ) -> Any:
        """Run it to its end; what it printed, from JSON. The first argument is its command.

        Raises
        ------
        InputError
            It refuses its input: its message and hint.
        SatlineError
            It failed.
        """
        told = [] if progress is None else ["--progress"]
        running = self.start([arguments[0], "--json", *told, *arguments[1:]], stdin=stdin)
        try:
            return self.finish(running, progress)
        finally:
            end(running)

    def start(
        self, arguments: Sequence[str], *, stdin: int = subprocess.DEVNULL, apart: bool = False
    ) -> Running:
        """Start it; `apart`: the terminal's Ctrl-C does not reach it."""
        output = tempfile.TemporaryFile()  # noqa: SIM115
        command = [str(self.path), *arguments]
        process = subprocess.Popen(
            command, stdin=stdin, stdout=output, stderr=subprocess.PIPE, start_new_session=apart
        )
        return Running(process, output, shlex.join(command))

    def finish(self, running: Running, progress: Callable[[Progress], None] | None = None) -> Any:
        """Hear it to its end.

        Raises
        ------
        InputError, SatlineError
            As for `run`.
        """
        words = _heard(running, progress)
        status = running.process.wait()
        if status != 0:
            raise _failure(status, words, running.command)
        running.output.seek(0)
        try:
            return parse_json(running.output.read())
        except ValueError as error:
            raise SatlineError(
                f"{PROGRAM} printed something else than its result: {error}",
                hint=f"run it by hand: {running.command}",
            ) from None


@dataclass(frozen=True)
class Running:
    """The program under way."""

    process: subprocess.Popen[bytes]
    output: Any
    command: str


def end(running: Running) -> None:
    """Whatever happened, the process is gone afterwards."""
    end_process(running.process, PATIENCE_S)
    if running.process.stderr is not None:
        running.process.stderr.close()
    running.output.close()


def _heard(running: Running, progress: Callable[[Progress], None] | None) -> list[str]:
    words = []
    assert running.process.stderr is not None
    for line in running.process.stderr:
        text = line.decode("utf-8", "replace").rstrip("\n")
        if not text.startswith("{"):
            words.append(text)
        elif progress is not None:
            try:
                told = parse_json(text)
                progress(Progress(str(told["doing"]), told["done"], float(told["count"])))
            except (ValueError, KeyError, TypeError):
                continue
    return words


def _failure(status: int, words: list[str], command: str) -> SatlineError:
    message, hint = message_and_hint(words)
    if status == 2:
        return InputError(message or f"{PROGRAM} refused its input", hint=hint)
    message = f"{PROGRAM} ended with status {status}: {message or 'it said nothing'}"
    return SatlineError(f"{message}\n  {command}", hint=hint or "see free memory")
