"""Many runs on all cores, kept durably, so that a killed sweep goes on where it was."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from satline.errors import InputError
from satline.outside import parse_json
from satline.simulation._runner import Program, Result, Run, Stopped

VERSION = 1
_HEAD = b'{"satline_sweep":'


@dataclass(frozen=True)
class Progress:
    """How a sweep stands: runs done, runs in all, and the part of all that is done, 0 to 1."""

    done: int
    runs: int
    part: float


class Store:
    """Results by key in a file of JSON lines; without a file, only in memory.

    A line is appended and made durable when its run ends. What a kill tore off is the last line at most;
    it is cut away at the next opening. One process at a time.

    Raises
    ------
    InputError
        The file cannot be used, holds something else, or is in use.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lines: dict[str, bytes] = {}
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _locked(path)
        except BlockingIOError:
            raise InputError(
                f"{path} is in use by another sweep", hint="wait for it, or name another file"
            ) from None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}", hint="name a file that may be written") from None
        self._load()

    def _load(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        good = 0
        lines = self._file.readlines()
        for number, line in enumerate(lines, start=1):
            try:
                content = parse_json(line)
                if not line.endswith(b"\n") or content["satline_sweep"] != VERSION:
                    raise ValueError
                self._lines[content["key"]] = line
            except (ValueError, KeyError, TypeError):
                torn = number == len(lines) and not line.endswith(b"\n")
                if torn and (line.startswith(_HEAD) or _HEAD.startswith(line)):
                    break
                raise InputError(
                    f"{self.path}:{number}: not a result of a sweep",
                    hint="name another file, or remove this one",
                ) from None
            good += len(line)
        if good < sum(map(len, lines)):
            self._file.truncate(good)

    def get(self, key: str) -> Result | None:
        """The result of that key, if it was had before."""
        line = self._lines.get(key)
        return None if line is None else Result.from_plain(parse_json(line)["result"])

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def put(self, key: str, run: Run, result: Result) -> None:
        """Keep a result; it is durable when this returns."""
        content = {"satline_sweep": VERSION, "key": key, "arguments": _said(run), "result": result.plain()}
        line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._lines[key] = line
            if self._file is not None:
                self._file.write(line)
                self._file.flush()
                os.fdatasync(self._file.fileno())

    def order(self, keys: Sequence[str]) -> None:
        """Put the lines of these keys into this order, in one step: they do not show who ended when."""
        if self._file is None or self.path is None:
            return
        wanted = {key: None for key in keys if key in self._lines}
        first = next((place for place, key in enumerate(self._lines) if key in wanted), 0)
        others = [key for key in self._lines if key not in wanted]
        sorted_keys = [*others[:first], *wanted, *others[first:]]
        if sorted_keys == list(self._lines):
            return
        self._lines = {key: self._lines[key] for key in sorted_keys}
        new = self.path.with_name(f".{self.path.name}.new")
        new.unlink(missing_ok=True)
        file = new.open("a+b")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.writelines(self._lines.values())
        file.flush()
        os.fsync(file.fileno())
        new.replace(self.path)
        self._file.close()
        self._file = file

    def close(self) -> None:
        """Let others use the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _locked(path: Path) -> IO[bytes]:
    """The file, opened to append, for this process alone."""
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()  # another process put its lines in order meanwhile: this is the old file


def sweep(
    runs: Sequence[Run],
    program: Program,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Result]:
    """The results of `runs`, in their order, whatever the number of workers.

    Runs whose result is in `store` are not made again. A thread waits for each process and does nothing
    else.

    Raises
    ------
    InputError, SatlineError
        A run failed; those under way are ended.
    KeyboardInterrupt
        Ctrl-C; the runs under way are ended, and what is done is in the store.
    """
    store = store if store is not None else Store()
    keys = [program.key(run) for run in runs]
    own = Program(program.path)  # a stopped one starts nothing more
    todo = {key: run for key, run in zip(keys, runs, strict=True) if key not in store}
    news: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()

    def one(key: str, run: Run) -> None:
        store.put(key, run, own.run(run, lambda part: news.put((key, part))))
        news.put((key, 1.0))

    parts = {key: 0.0 if key in todo else 1.0 for key in keys}
    with ThreadPoolExecutor(max(1, workers or os.cpu_count() or 1)) as pool:
        waiting = {pool.submit(one, key, run) for key, run in todo.items()}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.25, return_when=FIRST_EXCEPTION)
                _raise(done)
                for key, part in _all(news):
                    parts[key] = part
                if progress is not None:
                    progress(_state(keys, parts))
        except BaseException as error:
            for future in waiting:
                future.cancel()
            own.stop()
            if isinstance(error, Stopped):
                raise KeyboardInterrupt from None
            raise
    store.order(keys)
    found = [store.get(key) for key in keys]
    return [result for result in found if result is not None]


def _raise(done: set[Future[None]]) -> None:
    """The first failure that says something; that a run was stopped says least."""
    errors = [error for future in done if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, Stopped)):
        raise error


def _all(news: queue.SimpleQueue[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    with contextlib.suppress(queue.Empty):
        while True:
            yield news.get_nowait()


def _state(keys: Sequence[str], parts: dict[str, float]) -> Progress:
    shown = [parts[key] for key in keys]
    return Progress(sum(part >= 1.0 for part in shown), len(keys), sum(shown) / max(1, len(shown)))


def _said(run: Run) -> list[str]:
    """The arguments without directories, which differ from machine to machine."""
    words = run.arguments()
    return [words[0], run.machine.name, run.workload.name, *words[3:]]
