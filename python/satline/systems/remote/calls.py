"""This side of the agent: copies the bundle, starts it, asks it, hears when it has gone."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import shlex
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from satline.errors import InputError, SatlineError
from satline.outside import parse_json
from satline.systems.remote.connection import Connection

GREETING = b"satline-agent 1"
START_TIMEOUT_S = 180.0
ANSWER_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
# One session carries the bundle and then the requests, so that a connection that drops leaves nothing behind.
_SCRIPT = """umask 077; d={directory}
[ -n "{furnished}" ] || {{
mkdir "$d" || exit 91
trap 'rm -rf "$d"' EXIT; trap 'exit 129' HUP INT TERM
head -c {size} | tar -xf - -C "$d" || exit 92
}}
cd / || exit; export PYTHONPATH="$d/python" PYTHONDONTWRITEBYTECODE=1
{python} -S -m satline.systems.remote.agent "$d" {mark}"""


class Agent:
    """A running agent.

    Parameters
    ----------
    connection
        Open.
    directory
        To be made there for the bundle; its name holds the run's id.
    bundle
        ``None``: the directory is there already, and stays.
    log
        File for what it prints to standard error.

    Raises
    ------
    InputError
        It does not start there; says why.
    """

    def __init__(
        self, connection: Connection, directory: str, run_id: str, bundle: bytes | None, log: Path
    ) -> None:
        self._name = connection.settings.name()
        self._log = log
        self._ids = itertools.count()
        self._rest = b""
        python = shlex.quote(connection.settings.python)
        script = _SCRIPT.format(
            directory=shlex.quote(directory),
            furnished="" if bundle is not None else "yes",
            size=len(bundle or b""),
            python=python,
            mark=shlex.quote(run_id),
        )
        self._process: subprocess.Popen[bytes] = connection.start(f"exec sh -c {shlex.quote(script)}", log)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        feeder = threading.Thread(target=self._feed, args=(bundle or b"",), daemon=True)
        feeder.start()
        # What the account prints at log-on comes first.
        end = time.monotonic() + START_TIMEOUT_S
        try:
            while self._line(end) != GREETING:
                continue
        except SatlineError:
            self.close()
            raise self._not_started() from None
        feeder.join()

    def _feed(self, bundle: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(bundle)
            self._process.stdin.flush()
        except (OSError, ValueError):
            return  # it has gone; whoever reads from it is told

    def _not_started(self) -> InputError:
        said = self._log.read_text(errors="replace").strip()
        status = self._process.poll()
        hint = "see what it said"
        if "SyntaxError" in said or "python" in said.lower():
            hint = "Python 3.11 or later must be there; name it with [remote] python"
        elif status in (91, 92):
            hint = "name another directory there for scratch files"
        lines = "".join(f"\n  {line}" for line in said.splitlines()[-4:])
        return InputError(f"{self._name}: the run's part there does not start{lines}", hint=hint)

    def do(self, name: str, wait_s: float = ANSWER_TIMEOUT_S, /, **arguments: Any) -> Any:
        """Have it do something; returns its answer.

        Raises
        ------
        InputError, SatlineError
            As it was raised there; or the connection has gone.
        """
        number = next(self._ids)
        request = json.dumps({"id": number, "do": name, "with": arguments}).encode() + b"\n"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None
        end = time.monotonic() + wait_s
        while True:
            try:
                answer = parse_json(self._line(end))
            except ValueError:
                continue
            # An answer to a request whose wait was interrupted may still come.
            if isinstance(answer, dict) and answer.get("id") == number:
                break
        if "error" in answer:
            message, hint, wrong_input = answer["error"]
            raise (InputError if wrong_input else SatlineError)(f"{self._name}: {message}", hint=hint)
        return answer.get("answer")

    def _line(self, end: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = end - time.monotonic()
                if left <= 0:
                    raise SatlineError(f"{self._name} does not answer")
                if selector.select(left):
                    chunk = os.read(descriptor, 65536)
                    if not chunk:
                        raise self._gone()
                    self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.rstrip(b"\r")

    def _gone(self) -> SatlineError:
        return SatlineError(
            f"the connection to {self._name} was lost",
            hint="the run's part there restores the host by itself; start the study again",
        )

    def lives(self) -> bool:
        """Whether it still runs, as far as can be seen from here."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Be rid of this end at once."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End it: it restores the host when its pipe ends."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
