"""sysstat's binary files (`sa21`, `sa20181221`) through its own reader, `sadf`.

`sadf -r` gives the counters as the kernel gave them, so nothing is integrated back from rounded rates. One
`sadf` per activity: each one's output then has the same columns in every row, and two of them run at a time.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from satline.errors import InputError
from satline.importers._importer import Importer, Options, compressed, ended
from satline.importers._sadf import ENVIRONMENT, Grid, Rows, read_grid, read_rows, read_together
from satline.importers._sink import Floats, Integers, Objects, Sink
from satline.importers._sysstat_map import ACTIVITIES, LACKING, Activity
from satline.outside.tools import ToolLimits, run_tool

_SMALL_BYTES = 8 << 20
_MAGIC = (b"\x96\xd5", b"\xd5\x96")
_NAME = re.compile(r"sa(\d{2}|\d{8})(\.(xz|gz|bz2))?")
_HOST = re.compile(r"^Host: \S+ (\S+) \((.*)\)\s+\S+\s+_(\S+)_\s+\((\d+) CPU\)", re.MULTILINE)
_INSTALL = (
    "install sysstat (Debian: apt install sysstat), or print the file as text where it was made: sar -A"
)


@dataclass
class _File:
    """One file, and what its header says."""

    source: Path
    readable: Path
    host: str = ""
    kernel: str = ""
    machine: str = ""
    processors: int = 0
    hz: int = 100
    activities: list[str] = field(default_factory=list)
    grid: Grid = field(default_factory=Grid)


def recognise(source: str) -> float:
    """By the first bytes; a directory by the names and first bytes of what lies in it."""
    path = Path(source)
    try:
        if path.is_dir():
            return 0.9 if any(_has_magic(p) for p in _members(path)) else 0.0
        return 1.0 if path.is_file() and _has_magic(path) else 0.0
    except OSError:
        return 0.0


def begins(source: str) -> float:
    """Time of the first record; 0 where it cannot be had."""
    try:
        with ExitStack() as stack:
            files = [_open(path, stack) for path in _files(source)]
            return min((float(f.grid.time_s[0]) for f in files if len(f.grid)), default=0.0)
    except (InputError, OSError):
        return 0.0


def read(source: str, options: Options, sink: Sink) -> None:
    """Read a file, or all of a directory in order of time.

    Raises
    ------
    InputError
        No `sadf`; or no file of these can be read.
    """
    with ExitStack() as stack:
        files: list[_File] = []
        errors: list[InputError] = []
        for path in _files(source):
            try:
                files.append(_open(path, stack))
            except InputError as error:
                errors.append(error)
        if not files:
            raise (
                errors[0]
                if errors
                else InputError(
                    f"{source}: no sysstat file in it",
                    hint="look in /var/log/sysstat or /var/log/sa",
                )
            )
        for unread in errors:
            sink.damage(unread.message)
        files.sort(key=lambda f: int(f.grid.time_s[0]) if len(f.grid) else 0)
        hosts = sorted({f.host for f in files})
        if options.host is not None:
            files = [f for f in files if f.host == options.host]
        elif len(hosts) > 1:
            raise InputError(
                f"{source}: files of several hosts: {', '.join(hosts)}", hint="choose one with --host"
            )
        if not files:
            raise InputError(f"{source}: nothing of host {options.host}", hint=f"it has {', '.join(hosts)}")
        last = files[-1]
        sink.host(
            name=last.host, kernel=last.kernel, machine=last.machine, processors=last.processors or None
        )
        sink.origin(format="sysstat", files=[str(f.source) for f in files], tool="sadf -r", zone="UTC")
        for signal, reason, need in LACKING:
            sink.missing(signal, reason, need)
        for number, file in enumerate(files):
            _read_file(file, options, sink)
            options.progress((number + 1) / len(files))
        sink.if_nothing(_nothing_in(source, files, options))


def _nothing_in(source: str, files: list[_File], options: Options) -> InputError:
    """The error for files that gave no reading."""
    inside = sorted({name for f in files for name in f.activities})
    known = [name for name in inside if name in ACTIVITIES]
    damage = next((f"; {f.grid.damage}" for f in files if f.grid.damage), "")
    count = sum(len(f.grid) for f in files)
    if not known:
        some = ", ".join(inside[:4]) or "none that sadf knows"
        return InputError(
            f"{source}: no activity that Satline reads is in it: {some}{damage}",
            hint="collect more: sadc -S ALL; Satline reads " + ", ".join([*ACTIVITIES][:6]) + " and more",
        )
    if count and (options.start is not None or options.end is not None):
        return InputError(
            f"{source}: no two records in the range of time{damage}", hint="ask for a longer one"
        )
    if count:
        held = "a single record" if count == 1 else f"{count} records, and a restart between any two"
        return InputError(
            f"{source}: it holds {held}, and what was used is told by two{damage}", hint="record for longer"
        )
    return InputError(
        f"{source}: it holds no record, but a header and marks{damage}", hint="is the file whole?"
    )


def _members(directory: Path) -> list[Path]:
    return sorted(p for p in directory.iterdir() if _NAME.fullmatch(p.name) and p.is_file())


def _files(source: str) -> list[Path]:
    path = Path(source)
    return [p for p in _members(path) if _has_magic(p)] if path.is_dir() else [path]


def _has_magic(path: Path) -> bool:
    try:
        with compressed(path)(path, "rb") as file:
            return file.read(2) in _MAGIC
    except (OSError, EOFError, ValueError):
        return False


def _open(path: Path, stack: ExitStack) -> _File:
    """Unpack and convert as far as needed, and read header and times."""
    if shutil.which("sadf") is None:
        raise InputError(f"{path}: a sysstat file needs `sadf` to be read, which is not here", hint=_INSTALL)
    readable = path
    if compressed(path) is not open:
        readable = _unpacked(path, stack)
    header = _run("-H", str(readable), limits=ToolLimits.of(readable))
    if "Host:" not in header.stdout:
        readable = _converted(path, readable, stack)
        header = _run("-H", str(readable), limits=ToolLimits.of(readable))
    file = _File(path, readable)
    said = _HOST.search(header.stdout)
    if said is None:
        words = (header.stderr or header.stdout).strip().splitlines()
        how = words[0] if words else "no header"
        if header.returncode < 0:
            how = ended("sadf", header.returncode, "".join(words[:1]))
        raise _unreadable(path, readable, how)
    file.kernel, file.host, file.machine, file.processors = said[1], said[2], said[3], int(said[4])
    if ticks := re.search(r"^HZ = (\d+)", header.stdout, re.MULTILINE):
        file.hz = int(ticks[1]) or 100
    for name in re.findall(r"^\d+: \[.*?\] (A_\w+)(?!.*Unknown format)", header.stdout, re.MULTILINE):
        file.activities.append(name)
    if known := [a for name in file.activities for a in ACTIVITIES.get(name, ())]:
        file.grid = read_grid(path, readable, known[0].flags)
    return file


def _unreadable(path: Path, readable: Path, how: str) -> InputError:
    """The error for a file that `sadf` neither reads nor converts; `how`: its own words."""
    own = _written_by(readable)
    here = (_run("-V", limits=ToolLimits()).stdout or "sysstat version ?").split()[2]
    by = f" (written by sysstat {'.'.join(map(str, own))})" if own else ""
    if "Cannot convert" in how:
        return InputError(
            f"{path}: sadf {here} neither reads nor converts its format{by}: {how}", hint=_HINT_OLD
        )
    if "Invalid" in how:
        newer = own is not None and here[:1].isdigit() and own > tuple(map(int, re.findall(r"\d+", here)))
        why = "its header or its list of activities is damaged" + (", or new" if newer else "")
        hint = "copy it anew from where it was made, or print it there as text: sar -A"
        return InputError(f"{path}: sadf {here} takes it for invalid{by}: {why}", hint=hint)
    return InputError(f"{path}: sadf {here} cannot read it{by}: {how}", hint=_HINT_OLD)


def _written_by(path: Path) -> tuple[int, int, int] | None:
    """The version of sysstat that wrote a file, which all its formats hold in single bytes."""
    with path.open("rb") as file:
        head = file.read(7)
    return (head[4], head[5], head[6]) if len(head) == 7 and head[:2] in _MAGIC else None


_HINT_OLD = (
    "use the sadf of a version between that one and this, `sadf -c OLD > NEW`, or print it as text where it"
    " was made: sar -A"
)


def _converted(path: Path, readable: Path, stack: ExitStack) -> Path:
    """A temporary file in the present format, from one that an older sysstat wrote."""
    file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="satline-sa-"))  # noqa: SIM115 - the stack closes it
    done = run_tool(["sadf", "-c", str(readable)], limits=ToolLimits.of(readable), env=ENVIRONMENT, into=file)
    # A file with a damaged tail is converted as far as it goes, and then sadf fails.
    if not Path(file.name).stat().st_size:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        how = done.stopped or (words[-1] if words else "no reason given")
        if done.returncode < 0:
            how = ended("sadf", done.returncode, "".join(words[-1:]))
        header = _run("-H", str(readable), limits=ToolLimits.of(readable))
        if "up-to-date" in how:  # what is wrong with it, reading its header tells
            how = next(iter((header.stderr or header.stdout).strip().splitlines()), how)
        raise _unreadable(path, readable, how)
    return Path(file.name)


def _unpacked(path: Path, stack: ExitStack) -> Path:
    """A temporary file that holds what a compressed one holds."""
    file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="satline-sa-"))  # noqa: SIM115 - the stack closes it
    # A cut-off file: what could be unpacked is read, and sadf tells where it ends.
    with suppress(EOFError, OSError, ValueError), compressed(path)(path, "rb") as packed:
        shutil.copyfileobj(packed, file)
    file.flush()
    return Path(file.name)


@dataclass(frozen=True)
class _Said:
    returncode: int
    stdout: str
    stderr: str


def _run(*arguments: str, limits: ToolLimits) -> _Said:
    done = run_tool(["sadf", *arguments], limits=limits, env=ENVIRONMENT)
    return _Said(
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace") or done.stopped,
    )


def _read_file(file: _File, options: Options, sink: Sink) -> None:
    grid = file.grid
    if grid.damage:
        sink.damage(f"{file.source}: {grid.damage}")
    if not len(grid):
        return
    wanted = [a for name, several in ACTIVITIES.items() if name in file.activities for a in several]
    tables = [_readings(a, file, rows, sink) for a, rows in _all_rows(file, wanted)]
    chosen = np.ones(len(grid), dtype=bool)
    if options.start is not None:
        chosen &= grid.time_s >= options.start.timestamp()
    if options.end is not None:
        chosen &= grid.time_s < options.end.timestamp()
    for run in grid.runs:
        inside = np.zeros(len(grid), dtype=bool)
        inside[run] = chosen[run]
        if inside.sum() < 2:
            continue  # nothing is known of one record alone
        sink.begin_run()
        _write_run(grid, inside, [t for t in tables if t is not None], sink)


def _all_rows(file: _File, wanted: list[Activity]) -> Iterator[tuple[Activity, Rows]]:
    if file.readable.stat().st_size <= _SMALL_BYTES and (together := _together(file, wanted)) is not None:
        yield from together
        return
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda a: read_rows(file.readable, a.flags), wanted)
        yield from zip(wanted, found, strict=True)


def _together(file: _File, wanted: list[Activity]) -> list[tuple[Activity, Rows]] | None:
    """The same by two runs of `sadf`: to start it takes as long as to read a small file. None: it cannot be
    told apart."""
    # The flag for each processor would divide other activities by processors too.
    each = [a for a in wanted if a.table == "processor"]
    made: list[tuple[Activity, Rows]] = []
    for several in (each, [a for a in wanted if a not in each]):
        found = read_together(file.readable, [f for a in several for f in a.flags]) if several else []
        if found is None:
            return None
        for activity in several:
            first = {fields[0] for fields, _ in activity.columns.values()}
            own = [rows for rows in found if first & rows.now.keys()]
            if len(own) > 1:
                return None
            found = [rows for rows in found if not any(rows is one for one in own)]
            made.append((activity, own[0] if own else Rows()))
        if found:
            return None
    return made


@dataclass(frozen=True)
class _Readings:
    """Columns of one activity with the place of each row in the grid; `names` are the entities, if any."""

    activity: Activity
    place: Integers
    names: Objects | None
    columns: dict[str, Floats]


def _readings(activity: Activity, file: _File, rows: Rows, sink: Sink) -> _Readings | None:
    if rows.damage:
        sink.damage(f"{file.source}: sadf {' '.join(activity.flags)}: {rows.damage}")
    if not len(rows):
        return None
    placed = rows.place_in(file.grid)
    factor = 1.0 / file.hz if activity.ticks else 1.0
    columns: dict[str, Floats] = {}
    for column, (fields, scale) in activity.columns.items():
        if fields[0] in placed.values:
            parts = [placed.values[f] for f in fields if f in placed.values]
            columns[column] = np.sum(parts, axis=0) * (scale * factor)
    names = placed.names if activity.table != "system" else None
    if activity.table == "processor" and names is not None:
        single = names != "-1"  # -1 is sysstat's sum over all of them
        if not single.any():
            names = np.full(len(names), "all", dtype=object)
        else:
            # A processor that is off line has zeros everywhere: it was not read.
            kept = single & (sum(columns.values(), np.zeros(len(placed))) > 0)
            return _Readings(
                activity, placed.place[kept], names[kept], {c: v[kept] for c, v in columns.items()}
            )
    return _Readings(activity, placed.place, names, columns)


def _write_run(grid: Grid, inside: Floats, tables: list[_Readings], sink: Sink) -> None:
    index = np.flatnonzero(inside)
    system: dict[str, Floats] = {}
    for t in (t for t in tables if t.names is None):
        for column, values in t.columns.items():
            whole = np.full(len(grid), np.nan)
            whole[t.place] = values
            system[column] = whole[index]
    sink.table("system", grid.time_ns[index], system, monotonic_ns=grid.monotonic_ns[index])
    total = system.get("mem_total_bytes", np.array([]))
    if np.isfinite(total).any():
        sink.host(memory_bytes=int(total[np.isfinite(total)][-1]))
    for t in (t for t in tables if t.names is not None):
        kept = inside[t.place]
        if not kept.any() or t.names is None:
            continue
        columns: dict[str, object] = {c: v[kept] for c, v in t.columns.items()}
        columns[t.activity.table] = t.names[kept]
        if t.activity.device_kind:
            columns["device_kind"] = [t.activity.device_kind] * int(kept.sum())
        at = t.place[kept]
        sink.table(t.activity.table, grid.time_ns[at], columns, monotonic_ns=grid.monotonic_ns[at])


IMPORTER = Importer(
    name="sysstat",
    title="sysstat's binary files (sa21, /var/log/sysstat)",
    recognise=recognise,
    read=read,
    examples=("satline import /var/log/sysstat", "satline import /var/log/sysstat/sa21 -o monday.satline"),
    begins=begins,
    tool="sadf",
)
