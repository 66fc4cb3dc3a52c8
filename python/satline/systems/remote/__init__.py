"""A remote host as the system under test: over OpenSSH's own client, with nothing left there afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PYTHON = "python3"
SESSIONS_PER_CONNECTION = 8


@dataclass(frozen=True)
class RemoteSettings:
    """A remote host, in OpenSSH's terms.

    host
        ``HOST`` or ``USER@HOST``, or a name of the user's own SSH configuration.
    port, identity, known_hosts
        ``None``: as that configuration says.
    sessions_per_connection
        Users that share a connection; a server takes 10 sessions by default (its MaxSessions).
    options
        Further ``-o`` options.
    config
        ``False``: the user's configuration is left out.
    python
        The host's Python, 3.11 or later.
    """

    host: str
    port: int | None = None
    identity: Path | None = None
    known_hosts: Path | None = None
    sessions_per_connection: int = SESSIONS_PER_CONNECTION
    options: tuple[str, ...] = ()
    config: bool = True
    python: str = PYTHON
    where: str = field(default="", compare=False)

    def client(self) -> list[str]:
        """The client's command up to its options; the host's key is always checked, nothing is ever asked."""
        command = ["ssh"] if self.config else ["ssh", "-F", "none"]
        for option in (
            "StrictHostKeyChecking=yes",
            "BatchMode=yes",
            "ConnectTimeout=20",
            "ServerAliveInterval=15",
            "ServerAliveCountMax=4",
            "ForwardAgent=no",
            "ForwardX11=no",
            "ClearAllForwardings=yes",
            "LogLevel=ERROR",
            *self.options,
        ):
            command += ["-o", option]
        if self.port is not None:
            command += ["-p", str(self.port)]
        if self.identity is not None:
            command += ["-i", str(self.identity), "-o", "IdentitiesOnly=yes"]
        if self.known_hosts is not None:
            command += [
                "-o",
                f"UserKnownHostsFile={self.known_hosts}",
                "-o",
                "GlobalKnownHostsFile=/dev/null",
            ]
        return command

    def name(self) -> str:
        """As messages call it."""
        return self.where or (self.host if self.port is None else f"{self.host}, port {self.port}")
