"""Connections to a host: OpenSSH clients that others share (ControlMaster), with private sockets."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from satline.errors import InputError, SatlineError
from satline.systems.binaries import end
from satline.systems.remote import RemoteSettings

OPEN_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0
_LONGEST_SOCKET = 90

_REMEDIES = {
    "Host key verification failed": "get its key from its owner into ~/.ssh/known_hosts, or name "
    "[remote] known_hosts",
    "REMOTE HOST IDENTIFICATION HAS CHANGED": "its key is not the one that is known: ask its owner why",
    "Permission denied": "name a key that it knows with [remote] identity, or load it into your SSH agent",
    "Could not resolve": "see [remote] host",
    "Connection refused": "does an SSH server run there? see [remote] host and port",
    "timed out": "is the host up, and does a firewall let you in?",
    "No route to host": "is the host up?",
}


class Connection:
    """One shared connection.

    Parameters
    ----------
    directory
        Private; the socket and the client's log are in it. Its name must be short: sockets' names are.
    environment
        Variables beside those inherited; the run's mark is one of them.
    """

    def __init__(
        self, settings: RemoteSettings, directory: Path, number: int, environment: Mapping[str, str]
    ) -> None:
        self.settings = settings
        self.socket = directory / f"{number}"
        self._log = directory / f"{number}.log"
        self._environment = {**os.environ, **environment}
        self._master: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Connect; the host's key is checked.

        Raises
        ------
        InputError
            It cannot be reached, is not known, or does not let us in.
        """
        if shutil.which("ssh") is None:
            raise InputError(
                "there is no OpenSSH client (ssh) on the PATH",
                hint="install it: `apt-get install openssh-client`",
            )
        if len(str(self.socket)) > _LONGEST_SOCKET:
            raise InputError(
                f"{self.socket}: too long a name for a socket", hint="set TMPDIR to a shorter one"
            )
        command = [
            *self.settings.client(),
            "-M",
            "-S",
            str(self.socket),
            "-o",
            "ControlPersist=no",
            "-N",
            "-T",
        ]
        with self._log.open("wb") as log:
            self._master = subprocess.Popen(
                [*command, "--", self.settings.host],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + OPEN_TIMEOUT_S
        while not self.socket.exists():
            if self._master.poll() is not None:
                raise self._refused()
            if time.monotonic() > end:
                self.close()
                raise InputError(
                    f"{self.settings.name()} does not let us in within {OPEN_TIMEOUT_S:.0f} s",
                    hint="try `ssh` to it by hand",
                )
            time.sleep(0.02)

    def _refused(self) -> InputError:
        said = self._log.read_text(errors="replace").strip()
        remedy = next((text for words, text in _REMEDIES.items() if words in said), "try `ssh` to it by hand")
        lines = "".join(f"\n  {line}" for line in said.splitlines()[-4:])
        return InputError(f"{self.settings.name()} cannot be reached over SSH{lines}", hint=remedy)

    def client(self, *options: str) -> list[str]:
        """A client's command that uses this connection, and fails when it is gone, not open another."""
        shared = ["-S", str(self.socket), "-o", "ControlMaster=no", "-o", "ProxyCommand=false"]
        return [*self.settings.client(), *shared, *options, "--", self.settings.host]

    def run(self, command: str, timeout_s: float = 60.0, into: Path | None = None) -> bytes:
        """What a command there prints; nothing where it goes into a file.

        Raises
        ------
        SatlineError
            It failed; with what it said.
        """
        try:
            with contextlib.ExitStack() as files:
                done = subprocess.run(
                    [*self.client("-T"), command],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if into is None else files.enter_context(into.open("wb")),
                    stderr=subprocess.PIPE,
                    timeout=timeout_s,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise SatlineError(
                f"{self.settings.name()}: not done after {timeout_s:.0f} s: {command}"
            ) from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise SatlineError(f"{self.settings.name()}: exit code {done.returncode}: {command}\n  {said}")
        return done.stdout or b""

    def start(self, command: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a command there with pipes to its standard input and output."""
        with log.open("wb") as errors:
            return subprocess.Popen(
                [*self.client("-T"), command],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def lives(self) -> bool:
        """Whether the connection stands."""
        return self._master is not None and self._master.poll() is None

    def close(self) -> None:
        """Disconnect."""
        if self._master is not None:
            end(self._master, STOP_TIMEOUT_S)
        with contextlib.suppress(OSError):
            self.socket.unlink()
