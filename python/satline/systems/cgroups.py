"""Control groups, version 1 and 2, behind one face: plan the directories, make them, set limits.

Nothing here undoes: the caller writes `directories` (and `borrowed`) into the ledger before `make`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

PERIOD_US = 100_000


class Group(Protocol):
    """A control group for the load.

    path
        Relative to the root of each hierarchy, with a leading slash.
    directories
        All directories that `make` makes.
    borrowed
        ``(file, names)``: controllers that `make` switches on for the group in a shared file, if any.
    """

    path: str
    directories: list[Path]
    borrowed: tuple[Path, list[str]] | None

    def make(self) -> None: ...

    def procs_files(self) -> list[Path]: ...

    def set_processors(self, processors: Iterable[int]) -> None: ...

    def set_cpu_quota(self, processors: float) -> None: ...

    def set_memory(self, limit_bytes: int, swap_bytes: int | None) -> None: ...

    def set_swappiness(self, value: int) -> None: ...

    def set_read_iops(self, device: str, limit: int) -> None: ...

    def set_read_bytes(self, device: str, limit: int) -> None: ...


class UnsettableError(Exception):
    """A limit that cannot be set, and why."""


def _write(path: Path, text: str) -> None:
    """Write to a control file; whatever goes wrong becomes a reason a person understands."""
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CLOEXEC
        )  # never creates: a missing file is a missing controller
    except FileNotFoundError:
        raise UnsettableError(
            f"{path} does not exist: the kernel or the parent group lacks this controller"
        ) from None
    except OSError as error:
        raise UnsettableError(f"{path}: {error.strerror}") from None
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise UnsettableError(f'{path} does not take "{text}": {error.strerror}') from None
    finally:
        os.close(descriptor)


def format_processors(processors: Iterable[int]) -> str:
    """``[0, 1, 2, 5]`` → ``0-2,5``, as cpuset files have it."""
    runs: list[list[int]] = []
    for number in sorted(set(processors)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


class GroupV1:
    """Version 1: the same path in each controller's hierarchy, and in the unified one for its pressures."""

    CONTROLLERS = ("cpu", "cpuset", "memory", "blkio", "cpuacct")
    SWAPPINESS = 60

    def __init__(self, root: Path, name: str) -> None:
        self.path = f"/{name}"
        self.borrowed: tuple[Path, list[str]] | None = None
        self._of: dict[str, Path] = {}
        for hierarchy in (*self.CONTROLLERS, "unified"):
            directory = root / hierarchy
            if (directory / "cgroup.procs").exists() and os.access(directory, os.W_OK):
                # cpu and cpuacct are often one directory with two names.
                self._of[hierarchy] = directory.resolve() / name
        self.directories = list(dict.fromkeys(self._of.values()))

    def make(self) -> None:
        for directory in self.directories:
            try:
                directory.mkdir()
            except OSError as error:
                raise UnsettableError(f"control group {directory} cannot be made: {error.strerror}") from None
        if "cpuset" in self._of:  # without both of these no process can enter
            for name in ("cpuset.cpus", "cpuset.mems"):
                _write(self._of["cpuset"] / name, (self._of["cpuset"].parent / name).read_text().strip())

    def procs_files(self) -> list[Path]:
        return [directory / "cgroup.procs" for directory in self.directories]

    def _in(self, controller: str) -> Path:
        if controller not in self._of:
            raise UnsettableError(f"no writable control group hierarchy with the controller {controller}")
        return self._of[controller]

    def set_processors(self, processors: Iterable[int]) -> None:
        _write(self._in("cpuset") / "cpuset.cpus", format_processors(processors))

    def set_cpu_quota(self, processors: float) -> None:
        _write(self._in("cpu") / "cpu.cfs_period_us", str(PERIOD_US))
        _write(self._in("cpu") / "cpu.cfs_quota_us", str(round(processors * PERIOD_US)))

    def set_memory(self, limit_bytes: int, swap_bytes: int | None) -> None:
        memory = self._in("memory")
        _write(memory / "memory.limit_in_bytes", str(limit_bytes))
        if swap_bytes is not None and (memory / "memory.memsw.limit_in_bytes").exists():
            _write(memory / "memory.memsw.limit_in_bytes", str(limit_bytes + swap_bytes))
        if (memory / "memory.swappiness").exists():
            _write(memory / "memory.swappiness", str(self.SWAPPINESS))

    def set_swappiness(self, value: int) -> None:
        """A group of version 1 has its own; it is not always there."""
        if (path := self._in("memory") / "memory.swappiness").exists():
            _write(path, str(value))

    def set_read_iops(self, device: str, limit: int) -> None:
        _write(self._in("blkio") / "blkio.throttle.read_iops_device", f"{device} {limit}")

    def set_read_bytes(self, device: str, limit: int) -> None:
        _write(self._in("blkio") / "blkio.throttle.read_bps_device", f"{device} {limit}")


class GroupV2:
    """Version 2: one directory; controllers that the parent does not yet hand down are borrowed."""

    CONTROLLERS = ("cpu", "cpuset", "memory", "io")

    def __init__(self, root: Path, parent: Path, name: str) -> None:
        self._directory = parent / name
        self.path = "/" + str(self._directory.relative_to(root))
        self.directories = [self._directory]
        control = parent / "cgroup.subtree_control"
        handed_down = _words(control)
        wanted = [
            c for c in self.CONTROLLERS if c in _words(parent / "cgroup.controllers") and c not in handed_down
        ]
        self.borrowed = (control, wanted) if wanted else None

    def make(self) -> None:
        if self.borrowed:
            for name in self.borrowed[1]:
                try:
                    _write(self.borrowed[0], f"+{name}")
                except UnsettableError:
                    continue  # the limits that need it will say so
        try:
            self._directory.mkdir()
        except OSError as error:
            raise UnsettableError(
                f"control group {self._directory} cannot be made: {error.strerror}"
            ) from None

    def procs_files(self) -> list[Path]:
        return [self._directory / "cgroup.procs"]

    def set_processors(self, processors: Iterable[int]) -> None:
        _write(self._directory / "cpuset.cpus", format_processors(processors))

    def set_cpu_quota(self, processors: float) -> None:
        _write(self._directory / "cpu.max", f"{round(processors * PERIOD_US)} {PERIOD_US}")

    def set_memory(self, limit_bytes: int, swap_bytes: int | None) -> None:
        _write(self._directory / "memory.max", str(limit_bytes))
        if swap_bytes is not None and (self._directory / "memory.swap.max").exists():
            _write(self._directory / "memory.swap.max", str(swap_bytes))

    def set_swappiness(self, value: int) -> None:
        """A group of version 2 has none: the host's holds for it."""

    def set_read_iops(self, device: str, limit: int) -> None:
        _write(self._directory / "io.max", f"{device} riops={limit}")

    def set_read_bytes(self, device: str, limit: int) -> None:
        _write(self._directory / "io.max", f"{device} rbps={limit}")


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def plan_group(name: str, root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> Group:
    """The group that a run can have on this host; nothing is made yet.

    Version 2: directly below the root for root, else below the nearest group above this process that this
    user may write (delegated by the service manager). Version 1: in every hierarchy that may be written.

    Raises
    ------
    UnsettableError
        There are no control groups, or none that this user may make.
    """
    if (root / "cgroup.controllers").exists():
        for parent in _candidate_parents(root, proc):
            if os.access(parent, os.W_OK | os.X_OK) and os.access(parent / "cgroup.procs", os.W_OK):
                return GroupV2(root, parent, name)
        raise UnsettableError(f"no control group under {root} may be written by this user")
    if not root.is_dir():
        raise UnsettableError(f"control groups are not mounted at {root}")
    group = GroupV1(root, name)
    if not group.directories:
        raise UnsettableError(f"no control group hierarchy under {root} may be written by this user")
    return group


def _candidate_parents(root: Path, proc: Path) -> list[Path]:
    """The root, then the groups above this process's own, nearest first.

    Its own is none: a group that holds processes can hand no controllers down.
    """
    parents = [root]
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return parents
    for line in lines:
        if line.startswith("0::"):
            own = root / line[3:].lstrip("/")
            above = [
                directory for directory in own.parents if directory != root and directory.is_relative_to(root)
            ]
            parents += above
    return parents
