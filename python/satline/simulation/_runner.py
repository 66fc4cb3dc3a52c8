"""One run of the simulated machine: a process of the program `satline-machine`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import signal
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from satline.errors import InputError, SatlineError
from satline.outside import parse_toml
from satline.simulation._measures import in_batches
from satline.systems.binaries import Called, failure, find_binary

PROGRAM = "satline-machine"
_STOPPED = (-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
Setting = bool | int | float | str


class Stopped(Exception):
    """The run was ended from outside before its end."""


@dataclass(frozen=True)
class Run:
    """All that decides what a run yields, besides the program.

    users
        Numbers of users, a step each; empty: as the workload says.
    step_seconds, warmup_seconds
        Simulated length of a step, and its part that is not measured.
    sets
        Keys of the files and the values that they get instead, as in ``--set``.
    schedule
        The workload's own population in place of `users`: for `schedule_seconds`, or for as long as it says.
    """

    machine: Path
    workload: Path
    users: tuple[int, ...] = ()
    step_seconds: float = 600.0
    warmup_seconds: float = 0.0
    sample_seconds: float = 10.0
    seed: int = 1
    replication: int = 0
    sets: tuple[tuple[str, str], ...] = ()
    schedule: bool = False
    schedule_seconds: float | None = None

    def arguments(self) -> list[str]:
        """Arguments of the program, without those that only say where its output goes."""
        words = ["run", str(self.machine), str(self.workload)]
        if self.schedule:
            words.append("--schedule")
            if self.schedule_seconds is not None:
                words += ["--seconds", f"{self.schedule_seconds:.12g}"]
        elif self.users:
            words += ["--users", ",".join(str(n) for n in self.users)]
        words += ["--step-seconds", f"{self.step_seconds:.12g}"]
        words += ["--warmup-seconds", f"{self.warmup_seconds:.12g}"]
        words += ["--sample-seconds", f"{self.sample_seconds:.12g}"]
        words += ["--seed", str(self.seed), "--replication", str(self.replication)]
        for key, value in self.sets:
            words += ["--set", f"{key}={value}"]
        return words


@dataclass(frozen=True)
class Result:
    """What a run yielded, the same on every machine.

    series
        Means of five samples each, by measure (see `satline.simulation.MEASURES`); ``None``: missing.
    steps
        Users and measures of each step, as the program gave them.
    unverified
        Figures of the machine without a known source.
    not_modelled
        What the machine leaves out of a multiprocessor; empty of one with one processor.
    """

    batch_s: float
    series: Mapping[str, list[float | None]]
    steps: list[dict[str, Any]]
    events: int
    unverified: tuple[str, ...]
    not_modelled: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """For JSON; `from_plain` reads it."""
        lists = {"unverified": list(self.unverified), "not_modelled": list(self.not_modelled)}
        return {**vars(self), "series": dict(self.series), **lists}

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> Result:
        """The result that `plain` wrote."""
        # Results that an earlier version stored have no not_modelled.
        tuples = {name: tuple(content.get(name, ())) for name in ("unverified", "not_modelled")}
        return Result(**{**content, **tuples})


class Program:
    """The program, found once. Its runs may be started from several threads.

    Raises
    ------
    SatlineError
        It is not there.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or find_binary(PROGRAM)
        self._living: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @cached_property
    def identity(self) -> dict[str, str]:
        """Version and digest: another build may give other results, and must not be taken for this one."""
        done = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=False)
        return {
            "version": done.stdout.strip(),
            "digest": hashlib.sha256(self.path.read_bytes()).hexdigest(),
        }

    def key(self, run: Run) -> str:
        """Digest of everything that decides what `run` yields: also of the text of every file it reads."""
        content = {
            "program": self.identity,
            "files": [digests(run.machine, run.sets), digests(run.workload, run.sets)],
            "users": "schedule" if run.schedule else run.users,
            "seconds": [run.step_seconds, run.warmup_seconds, run.sample_seconds],
            "random": [run.seed, run.replication],
            "sets": run.sets,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def run(
        self, run: Run, progress: Callable[[float], None] | None = None, record: Path | None = None
    ) -> Result:
        """Run it to its end.

        Parameters
        ----------
        progress
            Called with the part that is done, 0 to 1.
        record
            The recording to write as well.

        Raises
        ------
        InputError
            The program refuses its input: its message and hint.
        SatlineError
            It failed.
        Stopped
            `stop` was called, or the program was told to end.
        """
        command = [str(self.path), *run.arguments(), "--json", "--progress"]
        if record is not None:
            command += ["--record", str(record)]

        def part(said: Any) -> None:
            if progress is not None:
                progress(min(1.0, max(0.0, float(said["done"]))))

        with self._called(command) as called:
            try:
                found: Result = called.result(part, lambda content: _result(content, run))
            except SatlineError:
                if self._stopped or called.process.returncode in _STOPPED:
                    raise Stopped from None
                raise
            return found

    def tell(self, *arguments: str) -> str:
        """What the program prints for these arguments.

        Raises
        ------
        InputError, SatlineError
            As for `run`.
        """
        done = subprocess.run([str(self.path), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise failure(PROGRAM, done.returncode, done.stderr.splitlines(), shlex.join(done.args))
        return done.stdout

    def stop(self) -> None:
        """End every run under way, and let none begin."""
        with self._lock:
            self._stopped = True
            living = list(self._living)
        for process in living:
            process.terminate()

    @contextlib.contextmanager
    def _called(self, command: list[str]) -> Iterator[Called]:
        with self._lock:
            if self._stopped:
                raise Stopped
            called = Called(command)
            self._living.add(called.process)
        try:
            with called:
                yield called
        finally:
            with self._lock:
                self._living.discard(called.process)


def digests(path: Path, sets: tuple[tuple[str, str], ...] = ()) -> list[str]:
    """Digests of a machine or workload file and of those beside it that it names: devices, another machine.

    Raises
    ------
    InputError
        It cannot be read.
    """
    texts = [_bytes(path)]
    try:
        values = parse_toml(texts[0].decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        values = {}  # the program says what is wrong with it, better than can be said here
    names = {*_strings(values), *(value for _, value in sets)}
    beside = [path.parent / "processors.toml"]
    for name in sorted(names):
        if 0 < len(name) < 200 and "\0" not in name and "\n" not in name:
            beside += [path.parent / folder / f"{name}.toml" for folder in ("devices", "")]
            beside.append(path.parent / name)
    texts += [_bytes(file) for file in beside if file.suffix == ".toml" and file.is_file()]
    return [hashlib.sha256(text).hexdigest() for text in texts]


def setting_text(value: Setting) -> str:
    """A value as ``--set`` writes it.

    >>> setting_text(True), setting_text(0.5), setting_text("fifo")
    ('true', '0.5', 'fifo')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}", hint="`satline simulate --list` names those shipped"
        ) from None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _result(content: Any, run: Run) -> Result:
    return Result(
        batch_s=5.0 * run.sample_seconds,
        series=in_batches(content["series"]),
        steps=content["steps"],
        events=content["events"],
        unverified=tuple(content.get("unverified", ())),
        not_modelled=tuple(content.get("not_modelled", ())),
    )
