"""Undoing a ledger, backwards, as often as wanted: what is gone already counts as undone.

Standard library only: the janitor imports this.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from satline.systems import event_trace
from satline.systems.ledger import Entry, Ledger
from satline.systems.shared_switch import SharedSwitch
from satline.systems.undo_devices import undo_loop, undo_mount, undo_zram

KILL_TIMEOUT_S = 15.0
RUN_ID_LENGTH = 32


class NotUndoneError(Exception):
    """Says what is left behind, and why."""


def undo(ledger: Ledger, *, lock_timeout_s: float = 60.0, proc: Path = Path("/proc")) -> list[str]:
    """Undo everything in `ledger`, last first, then remove it.

    Two processes may do it at once: the second waits, and finds nothing left. The ledger stays when something
    could not be undone.

    Returns
    -------
    What is left behind and why; empty when all is gone.
    """
    try:
        descriptor = os.open(ledger.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{ledger.path}: {error.strerror}"]
    try:
        # Root must not do what another user's file says.
        owner = os.fstat(descriptor).st_uid
        if owner != os.geteuid():
            return [f"{ledger.path} belongs to user id {owner}, who can `satline experiment clean`"]
        if not _locked(descriptor, lock_timeout_s):
            return [f"{ledger.path}: another process has been undoing it for {lock_timeout_s:.0f} s"]
        problems = []
        booted_since = ledger.booted_since(proc)
        for entry in reversed(ledger.entries()):
            handler = _HANDLERS.get(entry["kind"])
            # Numbers and settings of an earlier boot mean nothing now, and might hit somebody else's.
            if handler is None or (booted_since and entry["kind"] not in _OUTLIVE_A_BOOT):
                continue
            try:
                handler(entry, proc)
            except (NotUndoneError, OSError) as error:
                problems.append(str(error))
            except (KeyError, TypeError, ValueError):  # the others are to be undone all the same
                problems.append(f"{ledger.path}: an entry {entry['kind']} that cannot be read")
        if not problems:
            ledger.path.unlink(missing_ok=True)
        return problems
    finally:
        os.close(descriptor)


def _locked(descriptor: int, timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)


def _kill_until_none(find: Callable[[], list[int]], what: str) -> None:
    """Kill what `find` finds until it finds nothing: new ones may start between a look and a kill."""
    end = time.monotonic() + KILL_TIMEOUT_S
    while pids := find():
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            except PermissionError as error:
                raise NotUndoneError(
                    f"process {pid} of {what} belongs to somebody else: {error.strerror}"
                ) from None
        if time.monotonic() > end:
            raise NotUndoneError(f"processes {pids} of {what} do not die")
        time.sleep(0.02)


def marked_processes(marker: str, proc: Path = Path("/proc")) -> list[int]:
    """Living processes, except this one, whose first environment holds `marker` (``NAME=value``)."""
    wanted = b"\0" + marker.encode() + b"\0"
    found = []
    for directory in proc.iterdir():
        if not directory.name.isdecimal() or int(directory.name) == os.getpid():
            continue
        try:
            environment = (directory / "environ").read_bytes()
        except OSError:
            continue  # ended, or another user's
        if wanted in b"\0" + environment + b"\0":
            found.append(int(directory.name))
    return found


def _undo_processes(entry: Entry, proc: Path) -> None:
    marker = str(entry["marker"])
    name, _, value = marker.partition("=")
    if not value:
        return  # an empty marker would match strangers
    if name != "SATLINE_RUN" or len(value) < RUN_ID_LENGTH:
        raise NotUndoneError(f"{marker} is not a marker that a run gives")
    _kill_until_none(lambda: marked_processes(marker, proc), "the run")


def _group_members(directory: Path) -> list[int]:
    """Processes in a control group and in the groups below it."""
    pids: list[int] = []
    for below, _, _ in os.walk(directory):
        try:
            pids += [int(line) for line in (Path(below) / "cgroup.procs").read_text().split()]
        except OSError:
            continue
    return [pid for pid in pids if pid not in (0, os.getpid())]


def _undo_cgroup(entry: Entry, _proc: Path) -> None:
    directories = [Path(name) for name in entry["directories"]]
    for directory in directories:
        _check_name(directory)
    for directory in directories:
        if (directory / "cgroup.kill").exists():
            with contextlib.suppress(OSError):  # its processes are killed one by one below
                (directory / "cgroup.kill").write_text("1")
    for directory in directories:
        _kill_until_none(lambda directory=directory: _group_members(directory), str(directory))  # type: ignore[misc]
    for directory in directories:
        for below, _, _ in os.walk(directory, topdown=False):
            _remove_group(Path(below))


def _remove_group(directory: Path) -> None:
    end = time.monotonic() + KILL_TIMEOUT_S
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            # Killed processes leave their group a moment after they left the list.
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise NotUndoneError(f"control group {directory}: {error.strerror}") from None
            time.sleep(0.02)
        else:
            return


def _undo_controllers(entry: Entry, _proc: Path) -> None:
    try:
        Path(entry["path"]).write_text(" ".join(f"-{name}" for name in entry["names"]))
    except OSError as error:
        # EBUSY: somebody else has begun to use them meanwhile, and they are theirs now.
        if error.errno not in (errno.EBUSY, errno.ENOENT):
            raise NotUndoneError(f"{entry['path']}: {error.strerror}") from None


def _undo_swap(entry: Entry, proc: Path) -> None:
    _undo_swapoff(entry, proc)
    Path(entry["path"]).unlink(missing_ok=True)


def _undo_swapoff(entry: Entry, proc: Path) -> None:
    path = Path(entry["path"])
    if swap_in_use(path, proc):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.swapoff(os.fsencode(path)) != 0:
            raise NotUndoneError(f"swap on {path} is still in use: {os.strerror(ctypes.get_errno())}")


def swap_in_use(path: Path, proc: Path = Path("/proc")) -> bool:
    """Is `path` an active swap file? The kernel writes blanks in names as \\040."""
    try:
        lines = (proc / "swaps").read_text().splitlines()[1:]
    except OSError:
        return False
    name = str(path.resolve()).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
    return any(line.startswith((name + " ", name + "\t")) for line in lines)


def _check_name(path: Path) -> None:
    """A ledger is a plain file: whatever it says, only what has a run's name is killed or removed."""
    if not path.name.startswith("satline-") or len(path.name) < len("satline-") + RUN_ID_LENGTH:
        raise NotUndoneError(f"{path} does not have a name that a run gives")


def _undo_directory(entry: Entry, _proc: Path) -> None:
    path = Path(entry["path"])
    _check_name(path)
    if path.is_symlink():
        raise NotUndoneError(f"{path} has become a symbolic link")
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        if path.exists():
            shutil.rmtree(path)  # something went away by itself during the first


def _undo_sysctl(entry: Entry, _proc: Path) -> None:
    path = Path(entry["path"])
    if path.exists() and path.read_text().strip() != entry["old"]:
        path.write_text(entry["old"])


def _undo_shared(entry: Entry, _proc: Path) -> None:
    SharedSwitch(Path(entry["setting"]), Path(entry["register"])).release(str(entry["name"]))


def _undo_tracer(entry: Entry, _proc: Path) -> None:
    path = Path(entry["path"])
    _check_name(path)
    event_trace.remove(path)


def _undo_tracefs(entry: Entry, _proc: Path) -> None:
    event_trace.unmount(Path(entry["path"]))


_HANDLERS: dict[str, Callable[[Entry, Path], None]] = {
    "processes": _undo_processes,
    "cgroup": _undo_cgroup,
    "controllers": _undo_controllers,
    "swap": _undo_swap,
    "swapoff": _undo_swapoff,
    "loop": undo_loop,
    "mount": undo_mount,
    "zram": undo_zram,
    "directory": _undo_directory,
    "sysctl": _undo_sysctl,
    "shared": _undo_shared,
    "tracer": _undo_tracer,
    "tracefs": _undo_tracefs,
}
_OUTLIVE_A_BOOT = ("swap", "directory")
