"""The ledger of a run: what it made, written and synced before it is made, so that anyone can undo it.

One JSON object a line. The first, ``owner``, says whose the run is; each further one is a resource:

==============  =================================================================================
kind            what undoing means
==============  =================================================================================
processes       kill every process whose environment holds `marker`
cgroup          kill what is in `directories`, remove them
controllers     switch `names` off again in `path` (a cgroup.subtree_control)
swap            swapoff and remove `path`
swapoff         swapoff `path`, which is its owner's and stays
loop            let go of `backing`, which `path` is on
mount           unmount `path`
zram            empty `path`; remove it too where `control` says that it was made for the run
directory       remove `path` and all in it; its name holds the run's id
sysctl          write `old` to `path`
shared          `name` lets go of `setting`; who is the last in `register` puts it back
==============  =================================================================================

Standard library only: the janitor imports this.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from satline.outside import parse_json

Entry = dict[str, Any]


def state_directory(environment: dict[str, str] | None = None, euid: int | None = None) -> Path:
    """Where ledgers are: $XDG_STATE_HOME/satline, root's /var/lib/satline, else ~/.local/state/satline."""
    variables = dict(os.environ) if environment is None else environment
    if variables.get("XDG_STATE_HOME"):
        return Path(variables["XDG_STATE_HOME"]) / "satline"
    if (os.geteuid() if euid is None else euid) == 0:
        return Path("/var/lib/satline")
    return Path(variables.get("HOME") or "/nonexistent") / ".local/state/satline"


def start_ticks(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Start of process `pid` in clock ticks after boot, which tells it from a later one of its number.

    ``None`` when there is no such process, or it is dead and only waits to be collected.
    """
    try:
        text = (proc / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The command's name may hold blanks and brackets: fields count from the last bracket.
    fields = text[text.rfind(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def boot_id(proc: Path = Path("/proc")) -> str:
    """The kernel's name for this boot, or empty."""
    try:
        return (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Ledger:
    """Append-only list of what a run made.

    Parameters
    ----------
    path
        The file; made by `create`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, directory: Path, run_id: str, pid: int | None = None) -> Ledger:
        """A new ledger owned by process `pid` (this one by default)."""
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        ledger = cls(directory / f"{run_id}.ledger")
        owner = os.getpid() if pid is None else pid
        # It gets its name with its owner in it: without, `experiment clean` would take it for a dead run's.
        begun = cls(directory / f".{run_id}.new")
        try:
            begun.add("owner", pid=owner, start_ticks=start_ticks(owner), boot_id=boot_id(), run_id=run_id)
            begun.path.rename(ledger.path)
        except BaseException:
            begun.path.unlink(missing_ok=True)
            raise
        _sync(directory)
        return ledger

    def add(self, kind: str, **values: Any) -> None:
        """Write an entry; it is on disk when this returns."""
        line = json.dumps({"kind": kind, **values}, default=str).encode() + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entries(self) -> list[Entry]:
        """All whole entries; a line that was cut by a crash is left out: nothing was made for it yet."""
        found: list[Entry] = []
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return found
        for line in lines[:-1]:
            try:
                entry = parse_json(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and "kind" in entry:
                found.append(entry)
        return found

    def owner(self) -> Entry | None:
        """The ``owner`` entry, or ``None`` when it was cut."""
        return next((entry for entry in self.entries() if entry["kind"] == "owner"), None)

    def owner_lives(self, proc: Path = Path("/proc")) -> bool:
        """Does the process that made this ledger still run: same boot, same number, same start time?"""
        owner = self.owner()
        if owner is None or owner.get("boot_id") != boot_id(proc):
            return False
        return (
            owner.get("start_ticks") is not None
            and start_ticks(owner.get("pid", 0), proc) == owner["start_ticks"]
        )

    def booted_since(self, proc: Path = Path("/proc")) -> bool:
        """Was the host started again since? Processes, groups, swap and sysctls are gone then; files stay."""
        owner = self.owner()
        return owner is not None and owner.get("boot_id") != boot_id(proc)


def ledgers(directory: Path) -> Iterator[Ledger]:
    """All ledgers in a state directory."""
    for path in sorted(directory.glob("*.ledger")):
        yield Ledger(path)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
