"""The programs of a run on this host: preparing commands, servers inside the limits, the monitor outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from string import Template

from satline import share
from satline.errors import InputError, SatlineError
from satline.systems import Conditions, Monitoring, Server
from satline.systems.binaries import end, end_with_parent
from satline.systems.lock import inherited_locks

STOP_TIMEOUT_S = 15.0
FEW_LINES = 6


class Programs:
    """Starts and stops what runs beside the emulated users.

    Parameters
    ----------
    conditions
        Of the prepared system: directories, environment, group, processors.
    """

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._directory = conditions.data.parent
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._monitor: subprocess.Popen[bytes] | None = None
        conditions.environment.setdefault("SATLINE_SHARE", str(share.path("workloads")))
        conditions.environment.setdefault("SATLINE_PYTHON", sys.executable)
        # The run itself is not a user; neither is what the monitor finds under it without a nearer name.
        conditions.users_file.write_text(f"{os.getpid()}\t_satline\n")

    def run_once(self, command: str, timeout_s: float) -> None:
        """Run a shell command in the data directory, outside the limits.

        Raises
        ------
        InputError
            It failed, or took longer than `timeout_s`.
        """
        log = self._directory / "prepare.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["sh", "-c", command],
                cwd=self._conditions.data,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise InputError(
                    f"prepare.commands: not done after {timeout_s:g} s: {command}",
                    hint="raise prepare.timeout_seconds, or have it do less",
                ) from None
            finally:
                _kill_group(process)
        if status != 0:
            raise InputError(
                f"prepare.commands: {_ended(status)}: {command}{_said(log)}",
                hint="run it by hand; SATLINE_DATA is the directory it runs in",
            )

    def start_server(self, server: Server) -> None:
        """Start a server inside the limits, and wait for its ready file.

        Raises
        ------
        InputError
            It cannot be started, ended, or was not ready in time.
        """
        command = [expand(word, self._conditions.environment) for word in server.command]
        log = self._log(server.name)
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command,
                    cwd=self._conditions.data,
                    env={**self._environment(), "SATLINE_SERVER": server.name},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=self._enter_limits,
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f'server "{server.name}": {command[0]} cannot be started: {error}',
                hint="see its `command` in the study",
            ) from None
        self._servers[server.name] = process
        with self._conditions.users_file.open("a") as file:
            file.write(f"{process.pid}\t{server.name}\n")
        if server.ready_file is not None:
            self._wait_for(server, process, log)

    def _wait_for(self, server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
        assert server.ready_file is not None
        ready = self._conditions.data / server.ready_file
        end = time.monotonic() + server.ready_timeout_s
        while not ready.exists():
            if process.poll() is not None:
                raise InputError(
                    f'server "{server.name}" {_ended(process.returncode)} before it was ready{_said(log)}',
                    hint="see its `command` in the study",
                )
            if time.monotonic() > end:
                late = f"has not made {server.ready_file} after {server.ready_timeout_s:g} s"
                raise InputError(
                    f'server "{server.name}" {late}{_said(log)}',
                    hint="raise its ready_timeout_seconds, or see why it does not become ready",
                )
            time.sleep(0.02)

    def start_monitor(self, monitoring: Monitoring) -> None:
        """Start the monitor, on a processor outside the load's where there is one."""
        conditions = self._conditions
        command = [str(monitoring.program), "--recording", str(monitoring.recording)]
        command += ["--interval", f"{round(monitoring.interval_s * 1000)}ms"]
        command += ["--users", f"emulated:{conditions.users_file}"]
        if conditions.cgroup is not None:
            command += ["--cgroup", f"load={conditions.cgroup}"]
            if monitoring.thermometers:  # they are to feel what the users feel
                command += ["--thermometer-cgroup", conditions.cgroup]
        if conditions.other_processors:
            command += ["--processor", str(conditions.other_processors[0])]
        for name in monitoring.thermometers:
            command += ["--thermometer", f"{name}@{round(monitoring.thermometer_every_s * 1000)}ms"]
        if monitoring.thermometer_program is not None:
            command += ["--thermometer-program", str(monitoring.thermometer_program)]
        with self._log("satline-monitor").open("wb") as output:
            self._monitor = subprocess.Popen(
                command,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=end_with_parent(),
                # While it measures no other study may begin, whatever became of this process.
                pass_fds=inherited_locks(),
            )

    def check(self) -> None:
        """Raise when the monitor or a server has ended by itself."""
        if self._monitor is not None and self._monitor.poll() is not None:
            log = self._log("satline-monitor")
            raise SatlineError(
                f"the monitor {_ended(self._monitor.returncode)} during the run{_said(log)}",
                hint="what was recorded so far is kept; start the study again",
            )
        for name, process in self._servers.items():
            if process.poll() is not None:
                raise SatlineError(
                    f'server "{name}" {_ended(process.returncode)} during the run{_said(self._log(name))}',
                    hint="if it was killed, limits.memory may be too small for it",
                )

    def stop_monitor(self) -> None:
        """End the monitor so that it finishes its part of the recording."""
        process, self._monitor = self._monitor, None
        if process is not None:
            end(process, STOP_TIMEOUT_S)

    def stop_all(self) -> None:
        """End the monitor and the servers; the janitor ends what they leave."""
        self.stop_monitor()
        for process in self._servers.values():
            _kill_group(process)
        self._servers.clear()

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._conditions.environment}

    def _enter_limits(self) -> None:
        """In the child, before its program: into the control group, onto the load's processors."""
        for path in self._conditions.cgroup_procs:
            descriptor = os.open(path, os.O_WRONLY)
            os.write(descriptor, b"0")
            os.close(descriptor)
        if self._conditions.processors is not None:
            os.sched_setaffinity(0, self._conditions.processors)


def expand(word: str, environment: Mapping[str, str]) -> str:
    """Replace $SATLINE_… in a word of a server's command; every other $ stays as it is."""
    names = {name: value for name, value in environment.items() if name.startswith("SATLINE_")}
    return Template(word).safe_substitute(names)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that was started in a session of its own, with what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _said(log: Path) -> str:
    """The last lines that a program printed, indented below the message."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()[-FEW_LINES:]
    except OSError:
        return ""
    return "".join(f"\n  {line}" for line in lines)
