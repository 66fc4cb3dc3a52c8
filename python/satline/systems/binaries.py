"""Satline's own programs: where they are; as children that are told to end, and never left behind."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from satline.errors import InputError, SatlineError
from satline.outside import parse_json

STOP_TIMEOUT_S = 30.0
PATIENCE_S = 10.0


def find_binary(
    name: str, environment: Mapping[str, str] = os.environ, executable: str = sys.executable
) -> Path:
    """The program `name` in $SATLINE_BIN_DIR, else beside the Python interpreter, else on the PATH.

    Raises
    ------
    SatlineError
        It is in none of them.
    """
    stated = environment.get("SATLINE_BIN_DIR")
    beside = [Path(stated)] if stated else [Path(executable).parent]
    for directory in beside:
        if os.access(directory / name, os.X_OK):
            return (directory / name).absolute()
    found = None if stated else shutil.which(name, path=environment.get("PATH"))
    if found is None:
        places = stated or f"{beside[0]} or on the PATH"
        raise SatlineError(
            f"the program {name} is not in {places}",
            hint="`pip install .` builds it; or build with cargo and set SATLINE_BIN_DIR=target/release",
        )
    return Path(found).absolute()


def message_and_hint(lines: Sequence[str]) -> tuple[str, str]:
    """What a program that failed wrote on standard error: what is wrong, and the first remedy, or empty."""
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), "")
    message = "\n".join(line.removeprefix("error: ") for line in lines if not line.startswith("hint: "))
    return message, hint


def failure(name: str, status: int, lines: Sequence[str], command: str) -> SatlineError:
    """The error of a program that failed: its own words, and how it can be run by hand.

    lines
        What it wrote on standard error.
    """
    message, hint = message_and_hint(lines)
    if status == 2:
        return InputError(message or f"{name} refused its input", hint=hint)
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    words = f"{name} {how}: {message or 'it said nothing'}\n  {command}"
    return SatlineError(words, hint=hint or ("see free memory" if status < 0 else ""))


class Called:
    """A program of ours that prints a result as JSON, and its progress on standard error, an object a line.

    A context: the process is gone afterwards.

    Parameters
    ----------
    apart
        The terminal's Ctrl-C does not reach it.
    """

    def __init__(
        self, words: Sequence[str | Path], *, stdin: int = subprocess.DEVNULL, apart: bool = False
    ) -> None:
        self.command = shlex.join(map(str, words))
        self.name = Path(words[0]).name
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)
        self.process = subprocess.Popen(
            words, stdin=stdin, stdout=self._output, stderr=subprocess.PIPE, start_new_session=apart
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        end(self.process, PATIENCE_S)
        if self.process.stderr is not None:
            self.process.stderr.close()
        self._output.close()

    def result(
        self,
        progress: Callable[[Any], None] | None = None,
        make: Callable[[Any], Any] = lambda content: content,
    ) -> Any:
        """What `make` makes of its result, once it has ended.

        Parameters
        ----------
        progress
            Gets each object of progress; one that it cannot read is passed over.

        Raises
        ------
        InputError
            It refuses its input: its message and hint.
        SatlineError
            It failed, or printed something else.
        """
        words = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.decode("utf-8", "replace").rstrip("\n")
            if not text.startswith("{"):
                words.append(text)
            elif progress is not None:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    progress(parse_json(text))
        if status := self.process.wait():
            raise failure(self.name, status, words, self.command)
        self._output.seek(0)
        try:
            return make(parse_json(self._output.read()))
        except (ValueError, KeyError, TypeError) as error:
            raise SatlineError(
                f"{self.name} printed something else than its result: {error!r}",
                hint=f"run it by hand: {self.command}",
            ) from None


def end(process: subprocess.Popen[bytes], timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Have it finish, as a monitor its part of the recording; kill it when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_with_parent() -> Callable[[], None]:
    """For `preexec_fn`: SIGTERM when this process dies, so that no monitor stays behind.

    Call it in the thread that starts the child, and that lives as long as the child is to.
    """
    import ctypes

    pr_set_pdeathsig = 1
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def in_child() -> None:
        prctl(pr_set_pdeathsig, int(signal.SIGTERM))
        if os.getppid() != parent:  # it died before it was asked for
            os._exit(1)

    return in_child
