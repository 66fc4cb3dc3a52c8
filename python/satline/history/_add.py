"""Bring recordings into a history, and let go what its rules do not keep."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from satline.errors import InputError
from satline.history._hours import hour_figures, recorded_days, write_hourly, write_hours
from satline.history._store import (
    DayNote,
    History,
    check_host,
    copy_tree,
    kept,
    known_hosts,
    sync_tree,
    told_when_full,
    used_bytes,
)
from satline.outside import parse_toml, read_text
from satline.recording import Recording, compact, let_go, locked, sync_directory, take_over
from satline.recording.describe import write_toml_atomically

_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Added:
    """What became of one recording: ``added``, ``renewed`` (it has grown since), ``there already``."""

    name: str
    outcome: str
    days: tuple[date, ...]
    damaged: int


def add(history: History, path: Path, *, on_step: Callable[[str], None] = lambda _: None) -> Added:
    """Bring a copy of the recording at `path` into the history; it may still be written.

    A recording that the history has is renewed where it has grown; what of it was pruned meanwhile stays as
    hourly readings and figures where the recording itself no longer has it.

    Raises
    ------
    InputError
        There is no recording, or it holds no two samples, or is of another host than the history.
    """
    source = Recording.open(path)
    identity = str(source.description.get("recording", {}).get("id", ""))[:12]
    stem = _PLAIN.sub("_", path.absolute().name.removesuffix(".satline"))[:60].strip(".") or "recording"
    key = _PLAIN.sub("_", identity) or "unnamed"
    parent = history.path / "recordings"
    parent.mkdir(parents=True, exist_ok=True)
    with locked(parent), told_when_full(history.path):
        recover(parent)
        check_host(history, known_hosts(history), source, path)
        before = next((d for d in sorted(parent.glob(f"*-{key}")) if not d.name.startswith(".")), None)
        target = before or parent / f"{stem}-{key}"
        making = parent / f".adding-{target.name}"
        shutil.rmtree(making, ignore_errors=True)
        try:
            on_step("copy")
            copy_tree(source.path, making / "full.satline")
            copied = Recording.open(making / "full.satline")
            damaged = len(copied.damage)
            compact(copied.path, keep_open=False)
            days = recorded_days(copied)
            if not days:
                raise InputError(f"{path}: holds no samples of table system", hint="record for longer")
            seen = _seen(copied)
            if before is not None and _told(before) == seen:
                shutil.rmtree(making)
                return Added(target.name, "there already", tuple(days), damaged)
            on_step("hourly readings")
            write_hourly(copied, making / "hourly.satline")
            told = hour_figures(copied, days, on_day=lambda day: on_step(f"figures from {day} on"))
            for day, columns in told:
                write_hours(making / "hours" / f"{day}.parquet", columns)
            if not list(making.glob("hours/*.parquet")):
                raise InputError(f"{path}: holds no two samples in a row", hint="record for longer")
            if before is not None:
                _carry_over(before, making)
            write_toml_atomically(making / "added.toml", seen)
            sync_tree(making)
        except InputError as error:
            shutil.rmtree(making, ignore_errors=True)
            # What is broken is so in the recording that was copied.
            message = error.message.replace(str(making / "full.satline"), str(path))
            raise InputError(message, hint=error.hint) from error
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
        if before is not None:
            on_step("replace")
            before.rename(parent / f".old-{target.name}")
        making.rename(target)
        sync_directory(parent)
        shutil.rmtree(parent / f".old-{target.name}", ignore_errors=True)
    return Added(target.name, "renewed" if before is not None else "added", tuple(days), damaged)


def recover(parent: Path) -> None:
    """Bring what a kill left half done to one state or the other."""
    for old in sorted(parent.glob(".old-*")):
        name = old.name.removeprefix(".old-")
        if not (parent / name).exists():
            old.rename(parent / name)
        else:
            shutil.rmtree(old, ignore_errors=True)
    for left in (*parent.glob(".adding-*"), *parent.glob("*/.pruned-*")):
        shutil.rmtree(left, ignore_errors=True)


def _seen(recording: Recording) -> dict[str, int]:
    """Samples of a recording and the time of the last: more of them later mean that it has grown."""
    query = "SELECT count(*), coalesce(max(time_ns), 0) FROM system"
    samples, last = recording.connect(tables=["system"]).execute(query).fetchall()[0]
    return {"samples": int(samples), "last_ns": int(last)}


def _told(directory: Path) -> dict[str, object]:
    """What `_seen` said when the recording was added; empty where that cannot be read."""
    try:
        return parse_toml(read_text(directory / "added.toml"))
    except (OSError, ValueError):
        return {}


def _carry_over(before: Path, making: Path) -> None:
    """Days of which only the history still has anything: of a recording that lets go the oldest sooner."""
    for file in sorted((before / "hours").glob("*.parquet")):
        if not (making / "hours" / file.name).exists():
            shutil.copy2(file, making / "hours" / file.name)
    for kind in ("full.satline", "hourly.satline"):
        carried: list[str] = []
        for day in sorted((before / kind / "tables").glob("*/day=*")):
            there = making / kind / "tables" / day.parent.name / day.name
            if not there.exists():
                shutil.copytree(day, there)
                carried += [f.relative_to(making / kind).as_posix() for f in there.glob("*.parquet")]
        if carried:
            take_over(making / kind, carried, before / kind)


@dataclass
class Pruned:
    """What was let go, or would be.

    full, hourly
        Days by recording whose full detail, whose hourly readings and figures go.
    """

    full: list[tuple[str, date]] = field(default_factory=list)
    hourly: list[tuple[str, date]] = field(default_factory=list)
    bytes_freed: int = 0
    kept: list[tuple[str, date, str]] = field(default_factory=list)


def prune(
    history: History, today: date, *, dry_run: bool = False, on_step: Callable[[str], None] = lambda _: None
) -> Pruned:
    """Let go what the rules do not keep: full detail first, hourly readings years later.

    Full detail of a day goes only where the figures and the hourly readings of that day are there and can be
    read. Descriptions, annotations and events stay for ever.
    """
    found = Pruned()
    parent = history.path / "recordings"
    parent.mkdir(parents=True, exist_ok=True)
    with locked(parent):
        if not dry_run:
            recover(parent)
        full_until = today - timedelta(days=history.rules.full_days)
        hours = history.rules.hourly_days
        hourly_until = today - timedelta(days=hours) if hours else None
        for one in history.recordings():
            for day in one.full:
                if day >= full_until or history.days.get(day, DayNote()).keep:
                    continue
                why = _not_replaced(one.directory, day)
                if why:
                    found.kept.append((one.name, day, why))
                    continue
                places = sorted((one.directory / "full.satline" / "tables").glob(f"*/day={day}"))
                found.full.append((one.name, day))
                found.bytes_freed += sum(used_bytes(p) for p in places)
                if not dry_run:
                    on_step(f"full detail of {one.name}, {day}")
                    _let_go(one.directory, day, places)
            for day in sorted({*one.hours, *one.hourly}):
                past = hourly_until is not None and day < hourly_until
                if not past or history.days.get(day, DayNote()).keep or day in kept(one.directory).full:
                    continue
                tables = (one.directory / "hourly.satline" / "tables").glob(f"*/day={day}")
                places = [p for p in sorted(tables) if p.parent.name != "event"]
                if day in one.hours:
                    places.append(one.directory / "hours" / f"{day}.parquet")
                found.hourly.append((one.name, day))
                found.bytes_freed += sum(used_bytes(p) if p.is_dir() else p.stat().st_size for p in places)
                if not dry_run:
                    on_step(f"hours of {one.name}, {day}")
                    _let_go(one.directory, day, places)
            full = one.directory / "full.satline"
            if not dry_run and full.exists() and not kept(one.directory).full:
                _let_go(one.directory, date.min, [full])
    return found


def _not_replaced(directory: Path, day: date) -> str:
    """Why full detail must stay; empty: hourly readings and figures stand in for it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def rows(files: list[Path]) -> int:
        return sum(pq.read_metadata(f).num_rows for f in files)

    system = f"tables/system/day={day}/*.parquet"
    file = directory / "hours" / f"{day}.parquet"
    try:
        if not rows(sorted((directory / "hourly.satline").glob(system))):
            return "there are no hourly readings of it"
        if file.exists():
            return "" if rows([file]) else "there are no figures of it"
        # A single sample gives no figures; it is among the hourly readings.
        alone = rows(sorted((directory / "full.satline").glob(system))) < 2
        return "" if alone else "there are no figures of it"
    except (OSError, pa.ArrowException) as error:
        return f"what stands in for it cannot be read: {error}"


def _let_go(directory: Path, day: date, places: list[Path]) -> None:
    """Delete: out of the way first, in one step each, so that no half-deleted table is read."""
    for kind in ("full.satline", "hourly.satline"):
        files = [f for p in places if directory / kind in p.parents for f in p.glob("*.parquet")]
        if files:
            let_go(directory / kind, files, "let go by the history's rules")
    away = directory / f".pruned-{day}"
    away.mkdir(exist_ok=True)
    # Table system last: as long as it is there the day counts, and a prune after a kill goes on with it.
    for number, place in enumerate(sorted(places, key=lambda p: p.parent.name == "system")):
        place.rename(away / f"{number}-{place.name}")
        sync_directory(place.parent)
    shutil.rmtree(away)
