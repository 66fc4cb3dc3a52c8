"""An sshd of our own on a port of loopback, with keys and configuration in a temporary place."""

from __future__ import annotations

import getpass
import json
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

PROGRAM = Path("/usr/sbin/sshd")

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/accounts
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
MaxStartups 10:30:100
MaxSessions 10
SetEnv HOME={place}/home
"""


class Sshd:
    """Runs as a context; its limits are OpenSSH's defaults."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.user = getpass.getuser()
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]

    @staticmethod
    def is_here() -> bool:
        """True if there is one on this host."""
        return PROGRAM.exists()

    def __enter__(self) -> Sshd:
        # An empty home: what the account's own start-up files cost is no affair of the bench.
        (self.place / "home").mkdir(parents=True)
        Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("host", "key"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.place / name)]
            subprocess.run(make, check=True)
        (self.place / "accounts").write_text((self.place / "key.pub").read_text())
        (self.place / "known").write_text(f"[127.0.0.1]:{self.port} {(self.place / 'host.pub').read_text()}")
        (self.place / "config").write_text(CONFIG.format(port=self.port, place=self.place))
        command = [str(PROGRAM), "-D", "-f", str(self.place / "config"), "-E", str(self.place / "log")]
        self.process = subprocess.Popen(command)
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise RuntimeError(f"sshd does not listen: see {self.place}/log")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait()

    def line(self, per_connection: int, client: str) -> str:
        """`[line]` of a workload."""
        keys = {
            "client": client,
            "to": f"ssh:{self.user}@127.0.0.1:{self.port}",
            "identity": str(self.place / "key"),
            "known_hosts": str(self.place / "known"),
            "sessions_per_connection": per_connection,
        }
        return "line = { " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in keys.items()) + " }"
