"""What runs on the host under test: this host's own code there, driven over a pipe.

Usage: python3 -m satline.systems.remote.agent DIRECTORY      DIRECTORY: where the bundle was unpacked

It reads requests and writes answers, one JSON object a line. When the pipe ends, for whatever reason, it
restores the host and ends; its janitor does so when it is killed. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satline.errors import InputError, SatlineError
from satline.outside import parse_json
from satline.systems import Configuration, Knobs, Limits, Monitoring, Server, resources
from satline.systems.cgroups import UnsettableError
from satline.systems.janitor import clean_stale
from satline.systems.this_host import ThisHost

GREETING = "satline-agent 1"
_ENTER = """#!/bin/sh
# A user's way in: known to the monitor, inside the limits, in a directory of its own; then what it was given.
mkdir -p "$SATLINE_WORK" && cd "$SATLINE_WORK" || exit 125
export HOME="$SATLINE_WORK" PWD="$SATLINE_WORK" HISTFILE=/dev/null INPUTRC=/dev/null
{limits}printf '%s\\t%s\\n' "$$" "$SATLINE_USER" >> {users_file}
exec "$@"
"""


class _Stop(Exception):
    """The run is to end while a request is carried out."""


class Agent:
    """Carries out requests on this host.

    Parameters
    ----------
    directory
        Where the bundle was unpacked.
    host
        The system under test that does the work.
    root
        Where the kernel's files are, for settings.
    """

    def __init__(self, directory: Path, host: ThisHost, root: Path = Path("/")) -> None:
        self._directory = directory
        self._host = host
        self._root = root
        self._recording: Path | None = None

    def do(self, name: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request; returns its answer."""
        known: dict[str, Callable[..., Any]] = {
            "facts": self.facts,
            "clock": self.clock,
            "set_clock": self.set_clock,
            "prepare": self.prepare,
            "swap_on": self.swap_on,
            "set": self.set,
            "run_once": self.run_once,
            "start": self.start,
            "measure": self.measure,
            "check": self._host.check,
            "collect": self.collect,
            "restore": self._host.restore,
        }
        return known[name](**arguments)

    def facts(self, programs: list[str]) -> dict[str, Any]:
        """What this host is, whether the monitor runs here, and which programs are missing."""
        monitor = subprocess.run(
            [str(self._directory / "bin/satline-monitor"), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        release = {}
        with contextlib.suppress(OSError):
            release = platform.freedesktop_os_release()
        facts = {
            "name": platform.node(),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "os": release.get("PRETTY_NAME"),
            "processors": os.cpu_count(),
            "memory_bytes": resources.memory_bytes(),
            "page_bytes": os.sysconf("SC_PAGESIZE"),
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        }
        return {
            "host": {key: value for key, value in facts.items() if value is not None},
            "monitor_fails": monitor.stderr.strip() if monitor.returncode else None,
            "missing": [name for name in programs if shutil.which(name) is None],
        }

    def clock(self) -> list[int]:
        """The two clocks, ns."""
        return [time.time_ns(), time.monotonic_ns()]

    def set_clock(self, time_ns: int) -> None:
        """Set the clock of this machine, which is nobody else's."""
        time.clock_settime_ns(time.CLOCK_REALTIME, time_ns)

    def prepare(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """Bring this host up; returns the conditions."""
        undone, _, _ = clean_stale()
        limits = Limits(**configuration["limits"])
        conditions = self._host.prepare(
            Configuration(
                run_id=configuration["run_id"],
                limits=limits,
                scratch=Path(configuration["scratch"]),
                delay_accounting=configuration["delay_accounting"],
                knobs=_knobs(configuration["knobs"]),
            )
        )
        directory = conditions.data.parent
        enter = directory / "enter"
        procs = "".join(
            f"echo 0 > {shlex.quote(str(path))} || exit 125\n" for path in conditions.cgroup_procs
        )
        if conditions.affinity:
            processors = ",".join(map(str, conditions.affinity))
            procs += f'taskset -p -c {processors} "$$" > /dev/null || exit 125\n'
        enter.write_text(_ENTER.format(limits=procs, users_file=shlex.quote(str(conditions.users_file))))
        told = {key: _plain(value) for key, value in vars(conditions).items()}
        return {**told, "enter": str(enter), "undone": undone}

    def swap_on(self, devices: list[str], size_bytes: int) -> str | None:
        """Use block devices for paging, in turn; returns why it cannot be, if it cannot."""
        for device in devices:
            page = os.sysconf("SC_PAGE_SIZE")
            try:
                with Path(device).open("r+b") as file:
                    file.write(resources.swap_header(size_bytes // page, page))
                    file.flush()
                    os.fsync(file.fileno())
                resources.swap_on(Path(device))
            except UnsettableError as error:
                return str(error)
            except OSError as error:
                return f"{device}: {error.strerror}"
        return None

    def set(self, files: dict[str, str]) -> dict[str, str]:
        """Write settings of the kernel; returns file → why it could not be."""
        not_set = {}
        for name, value in files.items():
            try:
                (self._root / name).write_text(value)
            except OSError as error:
                not_set[name] = f"/{name} does not take {value}: {error.strerror}"
        return not_set

    def run_once(self, commands: list[str], timeout_s: float) -> None:
        """Run the study's preparing commands."""
        self._host.run_once(commands, timeout_s)

    def start(self, servers: list[dict[str, Any]]) -> None:
        """Start the servers."""
        self._host.start([Server(**{**server, "command": tuple(server["command"])}) for server in servers])

    def measure(self, recording: str, interval_s: float, thermometers: list[str], every_s: float) -> None:
        """Start the monitor."""
        self._recording = Path(recording)
        programs = self._directory / "bin"
        self._host.measure(
            Monitoring(
                program=programs / "satline-monitor",
                recording=self._recording,
                interval_s=interval_s,
                thermometers=tuple(thermometers),
                thermometer_every_s=every_s,
                thermometer_program=programs / "satline-thermometer" if thermometers else None,
            )
        )

    def collect(self) -> str | None:
        """Stop the monitor; returns where its recording is."""
        self._host.collect()
        return str(self._recording) if self._recording is not None and self._recording.exists() else None


def _knobs(values: dict[str, Any]) -> Knobs:
    device = values["swap_device"]
    return Knobs(**{**values, "swap_device": None if device is None else Path(device)})


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def serve(
    agent: Agent, requests: queue.Queue[bytes], answer: Callable[[bytes], None], busy: threading.Event
) -> None:
    """Carry out requests until an empty one: the end of the pipe."""
    while line := requests.get():
        said: dict[str, Any] = {}
        try:
            request = parse_json(line)
            said["id"] = request["id"]
            busy.set()
            said["answer"] = agent.do(request["do"], request["with"])
        except SatlineError as error:
            said["error"] = [error.message, error.hint, isinstance(error, InputError)]
        except _Stop:
            said["error"] = ["stopped", "", False]
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
            said["error"] = [f"{type(error).__name__}: {error}", "", False]
        finally:
            busy.clear()
        answer(json.dumps(said).encode() + b"\n")


def _listen(requests: queue.Queue[bytes], busy: threading.Event) -> None:
    """Read requests; one to restore, and the end, interrupt what is being done."""
    for line in sys.stdin.buffer:
        if busy.is_set() and b'"do": "restore"' in line:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        requests.put(line)
    if busy.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
    requests.put(b"")


def _answer(data: bytes) -> None:
    with contextlib.suppress(OSError):  # who asked has gone; the end of the pipe follows
        os.write(sys.stdout.fileno(), data)


def main(arguments: list[str]) -> int:
    """Greet, serve, restore."""
    busy = threading.Event()

    def stop(*_: object) -> None:
        if busy.is_set():
            raise _Stop

    signal.signal(signal.SIGUSR1, stop)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, lambda *_: None)  # ignored here, but not by the programs that it starts
    host = ThisHost()
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests, busy), daemon=True).start()
    _answer(GREETING.encode() + b"\n")
    try:
        serve(Agent(Path(arguments[0]), host), requests, _answer, busy)
    finally:
        host.restore()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
