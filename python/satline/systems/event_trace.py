"""The detailed event trace of a step's window [AW79]: the kernel's own trace events, until the space is full.

An instance of the kernel's tracer with a name of the run's; what others trace is left alone. Times are of the
monotonic clock, as in the recording. Standard library only.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from satline.systems.cgroups import UnsettableError
from satline.systems.ledger import Ledger

ROOT = Path("/sys/kernel/tracing")
USUAL = (
    "sched:sched_switch",
    "exceptions:page_fault_user",
    "block:block_rq_issue",
    "block:block_rq_complete",
)
EVENT = r"^[a-z0-9_]+:[A-Za-z0-9_]+$"


@dataclass(frozen=True)
class Traced:
    """What a trace holds.

    seconds
        From its beginning to its end.
    events, lost
        Events kept, and events for which there was no space.
    bytes
        Size of the file.
    """

    seconds: float
    events: int
    lost: int
    bytes: int

    def in_words(self) -> str:
        full = f"; {self.lost:,} more had no space" if self.lost else ""
        return f"{self.events:,} events in {self.seconds:.1f} s{full}"


class EventTrace:
    """An instance of the tracer, made and idle until `begin`.

    Parameters
    ----------
    events
        ``subsystem:event``, as the kernel names them.
    space_bytes
        Main storage for all processors together; it is taken at once.
    load
        Files that list the load's processes; empty: the whole host is traced.

    Raises
    ------
    UnsettableError
        This kernel or this user cannot trace, or there is no such event: says which.
    """

    def __init__(
        self,
        name: str,
        events: Sequence[str],
        space_bytes: int,
        load: Sequence[Path],
        ledger: Ledger,
        root: Path = ROOT,
    ) -> None:
        self._directory = root / "instances" / name
        self._load = [file for file in load if file.name == "cgroup.procs"][:1]
        self._begun_s = self._ended_s = 0.0
        if not (root / "instances").is_dir():
            _mount(root, ledger)
        if not os.access(root / "instances", os.W_OK):
            raise UnsettableError(f"this user may not use the kernel's tracer in {root}")
        for event in events:
            if not (root / "events" / event.replace(":", "/")).is_dir():
                raise UnsettableError(f"this kernel has no event {event}; {root}/available_events lists them")
        ledger.add("tracer", path=str(self._directory))
        try:
            self._directory.mkdir()
            self._write("tracing_on", "0")
            self._write("trace_clock", "mono")
            # What comes first is kept: the trace ends when its space is full.
            self._write("options/overwrite", "0")
            processors = os.cpu_count() or 1
            self._write("buffer_size_kb", str(max(space_bytes // processors // 1024, 4)))
            for event in events:
                self._write(f"events/{event.replace(':', '/')}/enable", "1")
        except OSError as error:
            raise UnsettableError(f"{self._directory}: {error.strerror}") from None

    def _write(self, name: str, value: str) -> None:
        (self._directory / name).write_text(value)

    @property
    def begun(self) -> bool:
        return self._begun_s > 0

    def begin(self) -> None:
        """Start tracing the load's processes, and those that they will start."""
        threads = _threads(self._load)
        if self._load:
            self._write("options/event-fork", "1")
            self._write("set_event_pid", " ".join(map(str, threads)) or "0")
        self._begun_s = time.monotonic()
        self._write("tracing_on", "1")

    def end(self) -> None:
        """Stop; what was traced stays in main storage until `keep`."""
        if self.begun and not self._ended_s:
            self._write("tracing_on", "0")
            self._ended_s = time.monotonic()

    def keep(self, file: Path) -> Traced:
        """Write the trace to `file`, compressed text that `trace-cmd` and Perfetto read too.

        Raises
        ------
        OSError
            The disk is full, say.
        """
        self.end()
        file.parent.mkdir(exist_ok=True)
        events = 0
        unfinished = file.with_name(f".{file.name}")
        try:
            with (
                (self._directory / "trace").open("rb") as source,
                gzip.open(unfinished, "wb", compresslevel=1) as kept,
            ):
                for line in source:
                    events += not line.startswith(b"#")
                    kept.write(line)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
        return Traced(self._ended_s - self._begun_s, events, self._lost(), file.stat().st_size)

    def _lost(self) -> int:
        lost = 0
        for stats in self._directory.glob("per_cpu/cpu*/stats"):
            for line in stats.read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("overrun", "dropped events"):
                    lost += int(value)
        return lost


def _mount(root: Path, ledger: Ledger) -> None:
    """Few hosts have it mounted where nobody has used it yet."""
    ledger.add("tracefs", path=str(root))
    try:
        made = subprocess.run(["mount", "-t", "tracefs", "tracefs", root], capture_output=True, text=True)
    except OSError as error:
        raise UnsettableError(f"the kernel's tracer is not mounted on {root}: {error.strerror}") from None
    if made.returncode != 0:
        raise UnsettableError(f"the kernel's tracer cannot be mounted on {root}: {made.stderr.strip()}")


def _threads(files: Sequence[Path]) -> list[int]:
    """Threads of the control groups at and below those of the files."""
    found: set[int] = set()
    for file in files:
        for below, _, names in os.walk(file.parent):
            # The second is what the first version of control groups calls it.
            for name in ("cgroup.threads", "tasks"):
                if name in names:
                    found.update(map(int, (Path(below) / name).read_text().split()))
                    break
    return sorted(found)


def remove(directory: Path) -> None:
    """Undo what `EventTrace` made; what is gone already counts as undone.

    Raises
    ------
    OSError
        Somebody reads it just now.
    """
    if directory.is_dir():
        if directory.parent.name != "instances":  # no tracer: somebody's file said so
            raise OSError(f"{directory} is no instance of a tracer")
        directory.rmdir()


def unmount(root: Path) -> None:
    """Undo `_mount`, unless somebody has come to use it.

    Raises
    ------
    OSError
        It cannot be unmounted.
    """
    if root != ROOT or not root.is_mount() or any((root / "instances").iterdir()):
        return
    done = subprocess.run(["umount", root], capture_output=True, text=True)
    if done.returncode != 0 and root.is_mount() and "busy" not in done.stderr:
        raise OSError(done.stderr.strip())
