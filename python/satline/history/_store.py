"""A history: a directory that keeps recordings under rules.

```
history.toml                       the rules, and what is said of days; replaced atomically
recordings/<name>-<id>/
    full.satline/                  every reading, day by day, until the rules let a day go
    hourly.satline/                one reading an hour: a recording for every analysis
    hours/YYYY-MM-DD.parquet       figures of each hour of every series: n, mean, sd, percentiles
```

All three are made when a recording is added, in a directory whose name begins with a dot, and get their
name in one step. So pruning only ever deletes, and only what the other two stand in for: a kill loses
nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from satline.errors import InputError, SatlineError
from satline.problems import read_toml
from satline.recording import DISK_FULL, MANIFEST, Recording, describe, locked, sync_directory
from satline.recording.describe import write_toml_atomically

Mark = Literal["good", "bad"]
FORMAT = 1
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_HINT = "docs/guides/history.md shows a whole file"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rules(_Model):
    """How long what is kept, in days from the day itself; annotations and events are kept for ever.

    hourly_days
        Of hourly readings and figures; 0: for ever.
    """

    full_days: int = Field(default=30, ge=1)
    hourly_days: int = Field(default=1096, ge=0)


class DayNote(_Model):
    """What is said of a day: was it a good one, is it kept at full detail whatever the rules."""

    mark: Mark | None = None
    keep: bool = False
    note: str = ""


class _File(_Model):
    format: Literal[1] = 1
    keep: Rules = Rules()
    day: dict[str, DayNote] = {}
    hosts: list[str] = []


@dataclass(frozen=True)
class Kept:
    """One recording of a history.

    full, hourly, hours
        Days of which there is every reading, hourly readings, figures.
    """

    directory: Path
    name: str
    full: tuple[date, ...]
    hourly: tuple[date, ...]
    hours: tuple[date, ...]


@dataclass
class History:
    """A history on disk.

    hosts
        Other names of its host, which was renamed.
    """

    path: Path
    rules: Rules = field(default_factory=Rules)
    days: dict[date, DayNote] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path | str, *, make: bool = False) -> History:
        """The history at `path`.

        Raises
        ------
        InputError
            There is none and `make` is false; history.toml is wrong.
        """
        path = Path(path)
        file = path / "history.toml"
        if not file.exists():
            if not make:
                raise InputError(f"{path}: no history", hint="`satline history add RECORDING` begins one")
            try:
                (path / "recordings").mkdir(parents=True, exist_ok=True)
            except OSError as error:
                hint = "name a directory of the history where you may write"
                raise InputError(f"{path}: {error.strerror}", hint=hint) from error
            made = cls(path)
            made.save()
            return made
        _, content = read_toml(file, _File, kind="history", name_one="name a history", hint=_HINT)
        days = {parse_day(name, f"{file}: day"): note for name, note in content.day.items()}
        return cls(path, content.keep, days, tuple(content.hosts))

    def save(self) -> None:
        """Write history.toml, in one step."""
        content: dict[str, Any] = {"format": FORMAT, "keep": self.rules.model_dump()}
        if self.hosts:
            content["hosts"] = list(self.hosts)
        content["day"] = {
            day.isoformat(): {k: v for k, v in note.model_dump().items() if v}
            for day, note in sorted(self.days.items())
            if note != DayNote()
        }
        with told_when_full(self.path):
            write_toml_atomically(self.path / "history.toml", content)

    def note(self, day: date, **changes: Any) -> None:
        """Say something of a day, and keep it."""
        with locked(self.path):
            fresh = History.open(self.path)
            fresh.days[day] = fresh.days.get(day, DayNote()).model_copy(update=changes)
            fresh.save()
        self.days = fresh.days

    def recordings(self) -> tuple[Kept, ...]:
        """The recordings, those with the earliest days first."""
        found = [kept(d) for d in _directories(self.path / "recordings") if not d.name.startswith(".")]
        return tuple(sorted(found, key=lambda k: (min(k.hours, default=date.max), k.name)))

    def of_day(self, day: date) -> list[Path]:
        """The files of a day's figures, one for each recording that has the day."""
        return [k.directory / "hours" / f"{day}.parquet" for k in self.recordings() if day in k.hours]

    def all_days(self) -> list[date]:
        """Every day with figures."""
        return sorted({day for k in self.recordings() for day in k.hours})


def kept(directory: Path) -> Kept:
    """What is kept of the recording in `directory`."""
    return Kept(
        directory,
        directory.name,
        table_days(directory / "full.satline"),
        table_days(directory / "hourly.satline"),
        tuple(sorted(parse_day(f.stem) for f in _entries(directory / "hours") if _DAY.fullmatch(f.stem))),
    )


def table_days(recording: Path) -> tuple[date, ...]:
    """Days of which the recording has samples of table system; events of a day alone are no readings."""
    days = _directories(recording / "tables" / "system")
    names = [d.name.removeprefix("day=") for d in days]
    return tuple(sorted(parse_day(n) for n in names if _DAY.fullmatch(n)))


def parse_day(text: str, place: str = "") -> date:
    """A day written as 2026-11-02.

    Raises
    ------
    InputError
        It is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        where = f"{place} " if place else ""
        raise InputError(f"{where}{text!r} is no day", hint="write it as 2026-11-02") from None


def today(now: datetime | None = None) -> date:
    """The day of now in UTC: days of a recording are UTC's."""
    return (now or datetime.now(UTC)).astimezone(UTC).date()


def used_bytes(path: Path) -> int:
    """Bytes of all files under `path`."""
    total = 0
    for directory, _, files in os.walk(path):
        for name in files:
            total += Path(directory, name).lstat().st_size
    return total


def copy_tree(source: Path, target: Path) -> None:
    """Copy a recording, durable; links are not followed out of it, special files and reserves left out.

    A file that compaction takes away meanwhile is not missed: what covers it is copied in a second look, and
    the manifest last of all.
    """
    for _ in range(2):
        for directory, names, files in os.walk(source):
            inside = target / Path(directory).relative_to(source)
            inside.mkdir(parents=True, exist_ok=True)
            names[:] = [n for n in names if not Path(directory, n).is_symlink()]
            for name in files:
                file = Path(directory, name)
                if file.is_symlink() or not file.is_file() or (inside / name).exists():
                    continue
                if name.endswith((".tmp", ".reserve")) or name == "reserve":
                    continue
                if name == MANIFEST:
                    continue
                try:
                    shutil.copyfile(file, inside / name)
                except FileNotFoundError:
                    continue
                sync_file(inside / name)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(source / MANIFEST, target / MANIFEST)
        sync_file(target / MANIFEST)


def sync_file(file: Path) -> None:
    """Make a file durable."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def sync_tree(path: Path) -> None:
    """Make every name under `path` durable."""
    for directory, _, _ in os.walk(path, topdown=False):
        sync_directory(Path(directory))


class told_when_full:
    """Turn a full disk into an error that says what became of the history: nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            message = f"{self._path}: no space left; the history is as it was"
            raise SatlineError(message, hint="make space: `satline history prune` frees what the rules allow")


def _directories(parent: Path) -> list[Path]:
    return [p for p in _entries(parent) if p.is_dir() and not p.is_symlink()]


def _entries(parent: Path) -> Iterator[Path]:
    try:
        yield from sorted(parent.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return


def host_of(description: Mapping[str, Any]) -> str:
    """Name of the host that a recording is of, by its description; empty where it does not say."""
    return str(description.get("host", {}).get("name") or "")


def known_hosts(history: History) -> set[str]:
    """Names of the hosts whose recordings it has; what cannot be read, or does not say, is left out."""
    found = set()
    for kept in history.recordings():
        try:
            found.add(host_of(describe.read(kept.directory / "hourly.satline")))
        except InputError:
            continue
    return found - {""}


def check_host(history: History, known: set[str], recording: Recording, path: Path | str) -> None:
    """InputError where the recording is of another host than those of the history, `known_hosts`."""
    own = host_of(recording.description)
    if own and known and own not in known | set(history.hosts):
        raise InputError(
            f"{path}: is of host {own}, the history {history.path} of {' and '.join(sorted(known))}",
            hint="keep each host's history in a directory of its own. If it is the same under another name,"
            f" put hosts = [{json.dumps(own)}] at the top of {history.path / 'history.toml'}",
        )


def mixed(history: History, known: set[str]) -> str:
    """A note where recordings of several hosts are in it and history.toml does not say that they are one."""
    foreign = known - set(history.hosts)
    if len(foreign) < 2:
        return ""
    return f"recordings of {' and '.join(sorted(foreign))} are in it: rows of one name are taken for one"
