"""Errors of the disk: the n-th call of a kind fails, by every task that writes a recording.

Whatever fails: the task ends, without a traceback; its error names the file; what is there afterwards is a
sound recording, from which nothing that was at rest is gone; and the task can be done again.
"""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import shim
from recovery import NAME, Rows, rows_of

from satline.errors import SatlineError
from satline.recording import Recording, check, compact

SERVER = Path(__file__).with_name("server.py")
WORK = Path(__file__).with_name("work.py")
HANGS_AFTER_S = 60.0

# Errors that a call of a kind can give; 0 is a short write. Those that pass are to be borne: a call that was
# interrupted, or wrote a part, is made again. Opening and reading are not interrupted on a local disk.
ERRORS: dict[str, tuple[int, ...]] = {
    "open": (errno.EIO, errno.ENOSPC, errno.EMFILE),
    "write": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR, 0),
    "sync": (errno.EIO, errno.ENOSPC, errno.EINTR),
    "rename": (errno.EIO, errno.ENOSPC),
    "link": (errno.EIO, errno.EPERM),
    "unlink": (errno.EIO, errno.EROFS),
    "mkdir": (errno.EIO, errno.ENOSPC),
    "truncate": (errno.EIO,),
    "read": (errno.EIO,),
}
PASSING = (errno.EINTR, 0)


@dataclass(frozen=True)
class Task:
    """Something that is done to a recording.

    Attributes
    ----------
    before
        What is done first, without a fault.
    words
        The command: of a task of work.py or of `satline`, in the server; None: the monitor's.
    keeps
        It adds no row, so that all that were there are there.
    """

    name: str
    before: tuple[str, ...]
    words: tuple[str, ...] | None
    keeps: bool = False


TASKS = (
    Task("writer", (), ("work", "write")),
    Task("descriptions", (), ("work", "descriptions"), keeps=True),
    Task("compaction", ("write",), ("recording", "compact"), keeps=True),
    Task("seal", ("write", "rest"), ("recording", "seal"), keeps=True),
    Task("resumed", ("write", "rest"), ("work", "go_on")),
    Task("check", ("write", "rest"), ("recording", "check"), keeps=True),
    Task("monitor", (), None),
)


@dataclass
class Done:
    """How a command ended: exit code (None: it hung), what it said, the faults that came."""

    code: int | None
    said: str
    faults: list[str] = field(default_factory=list)


class Server:
    """Runs tasks of this package under the shim, each in a fork of one process that has all loaded."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)], env=shim.environment(root), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, words: list[str], fault: str, said: Path) -> Done:
        """Run `satline WORDS` with this fault."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = said.with_suffix(".told")
        told.unlink(missing_ok=True)
        job = {"words": words, "fault": fault, "told": str(told), "said": str(said), "seconds": HANGS_AFTER_S}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        code = json.loads(self._process.stdout.readline())
        return Done(code, said.read_text(errors="replace"), _lines(told))


def _lines(told: Path) -> list[str]:
    return told.read_text(errors="replace").splitlines() if told.exists() else []


def _monitor(recording: Path, fault: str, said: Path) -> Done:
    told = said.with_suffix(".told")
    told.unlink(missing_ok=True)
    environment = shim.environment(recording.parent, fault=fault, told=told)
    try:
        done = shim.run(shim.monitor(recording, "400ms"), environment, HANGS_AFTER_S)
    except subprocess.TimeoutExpired:
        return Done(None, "", _lines(told))
    return Done(done.returncode, done.stdout + done.stderr, _lines(told))


class Bench:
    """One task, its template, and faults that come to copies of it.

    Parameters
    ----------
    place
        A directory for the copies, below the server's root; what is said comes beside the root.
    """

    def __init__(self, task: Task, place: Path, server: Server) -> None:
        self.task = task
        self._place = place
        self._server = server
        self._said = server.root.with_name(f"{server.root.name}.said")
        self._template = place / "template"
        self._template.mkdir(parents=True)
        for step in task.before:
            done = server.run(["work", step, str(self._template / NAME)], "", self._said)
            assert done.code == 0, done.said
        whole = self._copy("whole")
        self._before = _rows(whole)
        done = self._run(whole, "")
        assert done.code == 0, done.said
        self._after = _rows(whole)

    def calls(self, kind: str) -> int:
        """How many calls of a kind the task makes."""
        copy = self._copy("counted")
        done = self._run(copy, f"{kind}:0:5")
        shutil.rmtree(copy.parent)
        return max((int(line.split()[1]) for line in done.faults if line.startswith("calls ")), default=0)

    def attempt(self, kind: str, number: int, error: int, count: int) -> tuple[bool, list[str]]:
        """Whether the fault came, and what was wrong."""
        copy = self._copy(f"{kind}-{number}-{error}-{count}")
        done = self._run(copy, f"{kind}:{number}:{error}:{count}")
        found = [f for f in done.faults if not f.startswith("calls ")]
        problems = self._judge(copy, done, found, passing=error in PASSING) if found else []
        shutil.rmtree(copy.parent)
        return bool(found), problems

    def _run(self, recording: Path, fault: str) -> Done:
        if self.task.words is None:
            return _monitor(recording, fault, self._said)
        return self._server.run([*self.task.words, str(recording)], fault, self._said)

    def _copy(self, name: str) -> Path:
        target = self._place / name
        shutil.copytree(self._template, target)
        return target / NAME

    def _judge(self, recording: Path, done: Done, faults: list[str], *, passing: bool) -> list[str]:
        if done.code is None:
            return ["it hangs"]
        problems = []
        if "Traceback" in done.said or "panicked" in done.said:
            problems.append(f"traceback: {done.said[-600:]}")
        elif done.code not in (0, 1, 2):
            problems.append(f"exit code {done.code}: {done.said[-300:]}")
        elif done.code and not any(_named(done.said, fault, recording) for fault in faults):
            problems.append(f"the error does not name {faults[0]}: {done.said[-300:]!r}")
        if passing and done.code:
            problems.append(f"what passes was not borne: {done.said[-300:]}")
        try:
            problems += self._sound(recording, done)
        except SatlineError as error:
            problems.append(f"refused: {error.message}")
        return [p.replace(str(recording), NAME) for p in problems]

    def _sound(self, recording: Path, done: Done) -> list[str]:
        if not (recording / "recording.toml").exists():
            return [] if done.code else ["it says that it is done, and there is no recording"]
        problems = [f"check: {p}" for p in check(recording).problems]
        if problems:
            return problems
        rows = _rows(recording)
        if self._before - rows:
            problems.append(f"{sum((self._before - rows).values())} rows are gone")
        if self.task.words is not None and rows - self._after:
            problems.append("there are rows that nobody wrote, or some twice")
        if self.task.words is not None and done.code == 0 and rows != self._after:
            problems.append("it says that it is done, and rows are missing")
        compact(recording)
        problems += [f"check after compact: {p}" for p in check(recording).problems]
        if _rows(recording) != rows:
            problems.append("compact lost or doubled rows")
        if self.task.name in ("compaction", "seal", "check"):
            again = self._run(recording, "")
            if again.code:
                problems.append(f"it cannot be done again: {again.said[-300:]}")
        return problems


def _rows(recording: Path) -> Rows:
    return rows_of(Recording.open(recording)) if (recording / "recording.toml").exists() else Rows()


def _named(said: str, fault: str, recording: Path) -> bool:
    """Whether an error names a file, by the name that it was to get where it is a temporary one.

    Of a directory that cannot be made the recording's name will do.
    """
    kind, _, path = fault.partition(" ")
    name = path.removesuffix(" (deleted)").rpartition("/")[2]
    if name.startswith(".") and name.endswith(".tmp"):
        name = name.removeprefix(".").removesuffix(".tmp")
        head, _, tail = name.rpartition(".")
        name = name if tail in ("parquet", "toml", "jsonl") else head
    return name in said or (kind == "mkdir" and str(recording) in said)


def numbers(calls: int, most: int) -> Iterator[int]:
    """Call numbers to fail: all, or so many, evenly, the first and the last among them."""
    if calls <= most:
        yield from range(1, calls + 1)
    else:
        yield from sorted({round(1 + n * (calls - 1) / (most - 1)) for n in range(most)})


def faults(bench: Bench, most: int) -> Iterator[tuple[str, int, int, int]]:
    """Faults of a task: kind, number of the call, error, how many in a row (0: all from there)."""
    for kind, errors in ERRORS.items():
        for number in numbers(bench.calls(kind), most):
            for error in errors:
                yield kind, number, error, 1
                if error in (errno.EIO, errno.ENOSPC, 0):
                    yield kind, number, error, 0
