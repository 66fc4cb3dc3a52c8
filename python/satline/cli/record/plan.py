"""What `satline record` is asked for, as the monitor's options; checked before anything is started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from satline.errors import InputError

THERMOMETERS = ("trivial", "io", "compute", "paging", "mixed")


@dataclass(frozen=True)
class Plan:
    """One recording of this host.

    monitor, thermometer
        The programs; `thermometer` is needed with `thermometers` only.
    recording
        The directory.
    interval_ms
        Time between samples.
    users
        What a user is, in the monitor's words: uid, session, terminal, cgroup.
    thermometers, every_ms
        Probes that run beside the work, and the time between two runs of one.
    cgroup
        Path of the control group that is the load, from the root of its hierarchy; ``None``: none.
    probes_in_cgroup
        Whether the probes run in that group, where they feel its limits.
    duration_ms
        ``None``: until somebody ends it.
    tell_alarms
        Have the monitor print a line when a probe has become much slower than usual, and when it is over.
    waits
        Count at each context switch what users wait for.
    terminals
        Record how long users at terminals wait for each line.
    services
        Record how long those who ask services of this host wait for each request.
    command_names
        Of lines and requests: the names of commands and programs.
    budget_percent
        What the monitor may take of one processor; above it leaves out detail. ``None``: no bound.
    key
        The file of the key by which names are replaced before they are written. ``None``: they are written.
    keep_s, max_bytes
        What the recording keeps: days that ended no longer ago; so much. ``None``: all.
    """

    monitor: Path
    recording: Path
    interval_ms: int = 1000
    users: str = "uid"
    thermometers: tuple[str, ...] = ()
    every_ms: int = 30_000
    thermometer: Path | None = None
    cgroup: str | None = None
    probes_in_cgroup: bool = False
    duration_ms: int | None = None
    tell_alarms: bool = False
    waits: bool = False
    terminals: bool = False
    services: bool = False
    command_names: bool = False
    budget_percent: float | None = None
    key: Path | None = None
    keep_s: float | None = None
    max_bytes: int | None = None

    @property
    def lets_go(self) -> bool:
        """Is anything let go?"""
        return self.keep_s is not None or self.max_bytes is not None

    @property
    def alarms_told(self) -> bool:
        """Does the monitor print lines of alarms?"""
        return self.tell_alarms and bool(self.thermometers)

    def arguments(self) -> list[str]:
        """The monitor's command."""
        words = [str(self.monitor), "--recording", str(self.recording)]
        words += ["--interval", f"{self.interval_ms}ms", "--users", self.users]
        if self.cgroup is not None:
            words += ["--load-cgroup", self.cgroup]
        for name in self.thermometers:
            words += ["--thermometer", f"{name}@{self.every_ms}ms"]
        if self.thermometers and self.thermometer is not None:
            words += ["--thermometer-program", str(self.thermometer)]
        if self.thermometers and self.cgroup is not None and self.probes_in_cgroup:
            words += ["--thermometer-cgroup", self.cgroup]
        if self.alarms_told:
            words += ["--tell-alarms"]
        if self.waits:
            words += ["--waits"]
        if self.terminals:
            words += ["--terminals"]
        if self.services:
            words += ["--services"]
        if self.command_names:
            words += ["--command-names"]
        if self.budget_percent is not None:
            words += ["--budget", f"{self.budget_percent:g}"]
        if self.key is not None:
            words += ["--pseudonymise", str(self.key)]
        if self.duration_ms is not None:
            words += ["--duration", f"{self.duration_ms}ms"]
        return words


def thermometers_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of probes from ``trivial,io`` (several times, if wanted), each once, in that order.

    Raises
    ------
    InputError
        There is no such probe.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in THERMOMETERS:
            raise InputError(
                f"--thermometer {name!r}: there is no such probe",
                hint=f"write one of {', '.join(THERMOMETERS)}",
            )
    return tuple(dict.fromkeys(names))


def hierarchies(proc: Path = Path("/proc")) -> list[tuple[Path, bool]]:
    """Where control groups are mounted, and whether each is of version 2; the longest paths first."""
    found = []
    try:
        lines = (proc / "self/mounts").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 2 and fields[2] in ("cgroup", "cgroup2"):
            point = fields[1].encode("latin-1", "replace").decode("unicode_escape")  # blanks are \040
            found.append((Path(point), fields[2] == "cgroup2"))
    return sorted(found, key=lambda one: -len(str(one[0])))


def group_path(text: str, mounted: Sequence[tuple[Path, bool]], *, exists: bool = True) -> str:
    """A group's path from the root of its hierarchy; a path below a mount point is understood, too.

    Raises
    ------
    InputError
        It is no path of a group, or that of the whole host; with `exists`: there is no such group.
    """
    path = Path(text)
    for point, _ in mounted:
        if path.is_relative_to(point):
            path = Path("/") / path.relative_to(point)
            break
    if not path.is_absolute() or ".." in path.parts:
        raise InputError(
            f"--cgroup {text}: not a path from the root of the hierarchy",
            hint="write it as /proc/PID/cgroup has it: /system.slice/nginx.service",
        )
    if path == Path("/"):
        raise InputError(
            f"--cgroup {text}: this is the whole host",
            hint="leave --cgroup out to record the host as a whole",
        )
    if exists and not directories(str(path), mounted):
        raise InputError(
            f"--cgroup {text}: there is no such control group",
            hint="`systemd-cgls` shows them; the last field in /proc/PID/cgroup is the path of a process",
        )
    return str(path)


def directories(path: str, mounted: Sequence[tuple[Path, bool]]) -> list[tuple[Path, bool]]:
    """The group's directory in each hierarchy that has it."""
    places = ((point / path.lstrip("/"), second) for point, second in mounted)
    return [(place, second) for place, second in places if place.is_dir()]


def closed_to_probes(path: str, mounted: Sequence[tuple[Path, bool]]) -> str | None:
    """Why a probe cannot run in a group; ``None``: it can."""
    for place, second in directories(path, mounted):
        if not os.access(place / "cgroup.procs", os.W_OK):
            return f"{place}/cgroup.procs may not be written by this user"
        try:
            controls = (place / "cgroup.subtree_control").read_text().strip() if second else ""
        except OSError:
            controls = ""
        if controls:
            return f"{place} hands its controllers to groups below it, and takes no process itself"
    return None
