"""An SSH server of the tests' own: its keys, its configuration and its log in a directory."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest


class SshServer:
    """sshd in the foreground on a port of 127.0.0.1, or of `address` in the network namespace `netns`."""

    def __init__(self, directory: Path, address: str = "127.0.0.1", netns: str | None = None) -> None:
        program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if program is None or shutil.which("ssh-keygen") is None:
            pytest.skip("needs sshd (openssh-server) and ssh-keygen (openssh-client)")
        if os.geteuid() != 0:
            pytest.skip("needs root: sshd's own directory /run/sshd")
        Path("/run/sshd").mkdir(exist_ok=True)
        directory.mkdir(mode=0o700)
        self.address = address
        for name in ("host_key", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True
            )
        self.identity = directory / "key"
        self.known_hosts = directory / "known_hosts"
        self.home = directory / "home"
        self.home.mkdir()
        # Somebody else may take the port before sshd does: then another.
        for _ in range(20):
            self.port = _free_port()
            if self._listens(directory, [] if netns is None else ["ip", "netns", "exec", netns], program):
                return
        raise AssertionError((directory / "log").read_text())

    def _listens(self, directory: Path, inside: list[str], program: str) -> bool:
        """Start it on its port; False: it has ended."""
        address = self.address
        kind, key, *_ = (directory / "host_key.pub").read_text().split()
        self.known_hosts.write_text(f"[{address}]:{self.port} {kind} {key}\n")
        config = directory / "config"
        config.write_text(
            f"Port {self.port}\nListenAddress {address}\nHostKey {directory}/host_key\n"
            f"AuthorizedKeysFile {directory}/key.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
            f"PasswordAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME={self.home}\n"
        )
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*inside, program, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stderr=log
            )
        end = time.monotonic() + 120
        while not self._answers():
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < end, "sshd does not answer"
            time.sleep(0.05)
        return True

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=60) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def table(self, **changes: object) -> str:
        """The study's ``[remote]``."""
        keys = {
            "host": f"root@{self.address}",
            "port": self.port,
            "identity": str(self.identity),
            "known_hosts": str(self.known_hosts),
            **changes,
        }
        lines = "".join(
            f"{k} = {v if isinstance(v, int) else chr(34) + str(v) + chr(34)}\n" for k, v in keys.items()
        )
        return f"[remote]\n{lines}"

    def sessions(self) -> list[int]:
        """Processes of its connections."""
        return list(_children(self.process.pid))

    def drop_all(self) -> None:
        """Cut every connection."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
