"""A host reached over SSH: the same code as for this host runs there, and is gone afterwards.

Here: connections, a local directory, a janitor. There: the bundle, an agent that has a ledger and a janitor
of its own, so that a run that is killed on either side, or a line that is cut, leaves nothing on either.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeGuard

from satline.errors import InputError, SatlineError
from satline.interruption import signals_held
from satline.outside import parse_toml
from satline.systems import Conditions, Configuration, Monitoring, Server
from satline.systems.binaries import find_binary
from satline.systems.janitor import JanitorProcess
from satline.systems.ledger import boot_id
from satline.systems.remote import RemoteSettings, clocks, copies, user_shell
from satline.systems.remote.calls import Agent
from satline.systems.remote.connection import Connection
from satline.systems.remote.copies import make_bundle

OWN_SESSIONS = 3
PROGRAMS = ("satline-monitor", "satline-thermometer")
CHECK_EVERY_S = 5.0
# An emulated processor takes seconds for what a user begins with.
LOG_ON_TIMEOUT_S = 120
FETCH_TIMEOUT_S = 600.0
_VARIABLES = ("SATLINE_RUN", "SATLINE_DATA", "SATLINE_SHARE")
_LEAVE = (
    'f=/etc/satline/allow-load; [ -e "$f" ] || f="$HOME/.config/satline/allow-load"; '
    'cat "$f" 2>/dev/null; printf "\\n#boot %s\\n" "$(cat /proc/sys/kernel/random/boot_id)"'
)
_LEAVE_HINT = (
    "its owner allows it with /etc/satline/allow-load there, the account with ~/.config/satline/allow-load: "
    "max_users, max_rate, max_seconds, until"
)


class OverSsh:
    """What a remote host and a guest have in common.

    Parameters
    ----------
    state
        Directory for the ledger; ``None``: the usual place.
    """

    kind = ""
    scratch: Path | None = None
    """Directory there for what is made; ``None``: that of the same name as here."""

    def __init__(self, *, state: Path | None = None) -> None:
        self._state = state
        self._janitor: JanitorProcess | None = None
        self._connections: list[Connection] = []
        self._agent: Agent | None = None
        self._recording: Path | None = None
        self._before: clocks.Offset | None = None
        self._checked_at = 0.0
        self._name = ""
        self._there = ""
        self._emulator_options = ["--logon-timeout", f"{LOG_ON_TIMEOUT_S}s"]
        self._sockets = Path()

    def reach(self, configuration: Configuration, directory: Path, mark: dict[str, str]) -> RemoteSettings:
        """Bring the host up, as far as it needs it; returns how it is reached."""
        raise NotImplementedError

    def allow(self, configuration: Configuration, connection: Connection) -> None:
        """Raise InputError unless the host may be driven."""

    def parts(self, directory: str) -> tuple[str, bytes | None]:
        """Where the run's parts are there, and the archive to be unpacked if they are not yet."""
        return directory, make_bundle(find_binary(name) for name in PROGRAMS)

    def set_up(self, agent: Agent, conditions: Conditions) -> None:
        """Settings of the host that are not the load's limits."""

    def prepare(self, configuration: Configuration) -> Conditions:
        with signals_held():  # a janitor of whom nobody knows would come when we have gone, or never
            self._janitor = JanitorProcess.start(configuration.run_id, self._state)
        mark = {"SATLINE_RUN": configuration.run_id}
        directory = self._directory(configuration.scratch, configuration.run_id, "")
        self._sockets = self._directory(Path(tempfile.gettempdir()), configuration.run_id, "-s")
        # Last, so that it is undone first: what still runs may write into the directories.
        self._janitor.ledger.add("processes", marker=f"SATLINE_RUN={configuration.run_id}")
        settings = self.reach(configuration, directory, mark)
        self._name = settings.name()
        # The run's own sessions are on the first; where it takes more, so are the users'.
        share = configuration.users + OWN_SESSIONS <= settings.sessions_per_connection
        count = 1 if share else 1 + math.ceil(configuration.users / settings.sessions_per_connection)
        for number in range(count):
            connection = Connection(settings, self._sockets, number, mark)
            self._connections.append(connection)
            connection.open()
            if number == 0:
                self.allow(configuration, connection)
        return self._bring_up(configuration, directory)

    def _directory(self, above: Path, run_id: str, suffix: str) -> Path:
        assert self._janitor is not None
        directory = (above / f"satline-{run_id}{suffix}").absolute()
        self._janitor.ledger.add("directory", path=str(directory))
        try:
            directory.mkdir(mode=0o700)
        except OSError as error:
            raise SatlineError(
                f"{directory} cannot be made: {error.strerror}",
                hint="name another directory on a local disk for scratch files",
            ) from None
        return directory

    def _bring_up(self, configuration: Configuration, directory: Path) -> Conditions:
        # An id of its own there: "there" may be this host, with its ledgers and directories.
        run_id = hashlib.sha256(configuration.run_id.encode()).hexdigest()[:32]
        scratch = self.scratch or configuration.scratch
        self._there, bundle = self.parts(f"{scratch}/satline-{run_id}-parts")
        self._agent = Agent(self._connections[0], self._there, run_id, bundle, directory / "agent.log")
        facts = self._agent.do("facts", programs=list(configuration.requires))
        self._check_facts(facts)
        told = self._agent.do(
            "prepare",
            configuration={
                "run_id": run_id,
                "limits": dataclasses.asdict(configuration.limits),
                "scratch": str(scratch),
                "delay_accounting": configuration.delay_accounting,
                "knobs": _plain(dataclasses.asdict(configuration.knobs)),
            },
        )
        environment = known_variables(told["environment"])
        environment["SATLINE_PYTHON"] = self._connections[0].settings.python
        conditions = Conditions(
            data=directory / "data",
            users=directory / "users",
            users_file=directory / "users.tsv",
            limits={
                str(name): float(value) if value % 1 else int(value) for name, value in told["limits"].items()
            },
            not_set={str(name): str(why) for name, why in told["not_set"].items()},
            knobs=told["knobs"],
            cgroup=None if told["cgroup"] is None else str(told["cgroup"]),
            environment={**environment, "SATLINE_RUN": configuration.run_id},
            host=facts["host"],
            described={"processors": told["processors"]} if told["processors"] else {},
        )
        for part in (conditions.data, conditions.users):
            part.mkdir()
        parameters = directory / "user_shell.json"
        parameters.write_text(
            json.dumps(
                {
                    "clients": [
                        one.client("-tt", "-e", "none") for one in self._connections[1:] or self._connections
                    ],
                    "enter": told["enter"],
                    "users": told["users"],
                    "environment": environment,
                }
            )
        )
        # The emulator sets prompts' marks for bash only, and goes by the name.
        shell = directory / "bash"
        words = shlex.join([sys.executable, "-I", "-S", user_shell.__file__, str(parameters)])
        shell.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        shell.chmod(0o700)
        conditions.shell_prefix = [str(shell)]
        conditions.emulator_options = self._emulator_options
        self.set_up(self._agent, conditions)
        return conditions

    def _check_facts(self, facts: dict[str, Any]) -> None:
        fails, host = facts["monitor_fails"], facts["host"]
        if fails is not None:
            system = f"{host.get('os', 'its system')}, {host.get('machine')}"
            hint = (
                "build satline-monitor for it (an older C library serves newer ones), and set SATLINE_BIN_DIR"
            )
            raise InputError(f"{self._name}: the monitor does not run there ({system})\n  {fails}", hint=hint)
        if facts["missing"]:
            raise InputError(
                f"{self._name}: the load needs programs that are not there: {', '.join(facts['missing'])}",
                hint="install them there, or take another workload",
            )

    def run_once(self, commands: Sequence[str], timeout_s: float) -> None:
        assert self._agent is not None
        for command in commands:
            self._agent.do("run_once", timeout_s + 60, commands=[command], timeout_s=timeout_s)

    def start(self, servers: Sequence[Server]) -> None:
        assert self._agent is not None
        for server in servers:
            self._agent.do("start", server.ready_timeout_s + 60, servers=[dataclasses.asdict(server)])

    def measure(self, monitoring: Monitoring) -> None:
        agent, self._recording = self._agent, monitoring.recording
        assert agent is not None
        self._before = clocks.measure(lambda: agent.do("clock"))
        agent.do(
            "measure",
            recording=f"{self._there}/recording.satline",
            interval_s=monitoring.interval_s,
            thermometers=list(monitoring.thermometers),
            every_s=monitoring.thermometer_every_s,
        )

    def check(self) -> None:
        """Ask now and then only: every question costs the host a little."""
        now = time.monotonic()
        if self._agent is None or now - self._checked_at < CHECK_EVERY_S:
            return
        self._checked_at = now
        for connection in self._connections:
            if not connection.lives():
                raise SatlineError(
                    f"the connection to {self._name} was lost",
                    hint="what is there restores itself; start the study again",
                )
        self._agent.do("check")

    def collect(self) -> None:
        agent, before, into = self._agent, self._before, self._recording
        if agent is None or before is None or into is None:
            return
        self._before = None
        place = agent.do("collect")
        after = clocks.measure(lambda: agent.do("clock"))
        if place is None:
            return
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=into) as directory:
            archive = Path(directory) / "tar"
            command = f"cd {shlex.quote(self._there)} && tar -cf - recording.satline"
            self._connections[0].run(command, FETCH_TIMEOUT_S, into=archive)
            copies.unpack(archive, Path(directory))
            copies.take_over(
                Path(directory) / "recording.satline", into, clocks.Shift(before, after), self._name
            )

    def client(self) -> list[str]:
        """Command that logs a person on to the prepared host, on a terminal."""
        return self._connections[-1].client("-t")

    def restore(self) -> list[str]:
        left: list[str] = []
        if self._agent is not None:
            try:
                left = [f"{self._name}: {problem}" for problem in self._agent.do("restore", 200.0)]
            except SatlineError as error:
                left = self.cannot_be_asked(error)
            self._agent.close()
        for connection in self._connections:
            connection.close()
        if self._janitor is None:
            return left
        try:
            return left + self._janitor.finish()
        except subprocess.TimeoutExpired:
            return [*left, f"the janitor did not end; {self._janitor.ledger.path} says what is left"]

    def cannot_be_asked(self, error: SatlineError) -> list[str]:
        """What may be left behind on a host that does not answer any more."""
        return [f"{error.message}: what is there undoes itself when it notices that"]


class RemoteHost(OverSsh):
    """A host that the study names with ``[remote]``."""

    kind = "remote"

    def reach(self, configuration: Configuration, directory: Path, mark: dict[str, str]) -> RemoteSettings:
        del directory, mark
        settings = configuration.target
        if not isinstance(settings, RemoteSettings):
            raise InputError(
                "there is no remote host to reach", hint='add [remote] host = "USER@HOST" to the study'
            )
        configuration.say(f"reaching {settings.name()} …")
        return settings

    def allow(self, configuration: Configuration, connection: Connection) -> None:
        said = connection.run(f"exec sh -c {shlex.quote(_LEAVE)}").decode(errors="replace")
        text, _, boot = said.rpartition("\n#boot ")
        if boot.strip() == boot_id():
            return  # this host itself
        refusal = judge_leave(text, configuration.users, configuration.seconds, datetime.now(UTC).date())
        if refusal:
            raise InputError(f"{connection.settings.name()} may not be driven: {refusal}", hint=_LEAVE_HINT)
        self._emulator_options += ["--max-rate", f"{parse_toml(text)['max_rate']:g}"]


def known_variables(told: Mapping[str, object]) -> dict[str, str]:
    """Of the variables that another host names those that users are to have: none that programs here heed."""
    return {name: str(told[name]) for name in _VARIABLES if name in told}


def judge_leave(text: str, users: int, seconds: float, today: date) -> str:
    """Why what a host's owner wrote into its allow-load does not allow such a run today; empty: it does."""
    if not text.strip():
        return "it has no allow-load"
    try:
        leave = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        return f"its allow-load cannot be read: {error}"
    most, until = leave.get("max_users"), leave.get("until")
    if not isinstance(most, int) or isinstance(most, bool):
        return "its allow-load does not say max_users"
    if not isinstance(until, date):
        return "its allow-load does not say until which day (until)"
    if users > most:
        return f"{users} users, its allow-load allows {most}"
    longest, rate = leave.get("max_seconds"), leave.get("max_rate")
    if not _is_amount(longest) or not _is_amount(rate):
        return "its allow-load does not say max_seconds and max_rate"
    if seconds > longest:
        return f"{seconds:.0f} seconds, its allow-load allows {longest:g}"
    last = until.date() if isinstance(until, datetime) else until
    return f"its allow-load ended on {last}" if today > last else ""


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _is_amount(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
