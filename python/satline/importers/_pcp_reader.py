"""PCP archives through PCP's own `pmdumplog`: raw values, exact, of all formats the installed PCP knows.

`pmdumplog` is written in C and prints what was logged at the instant it was logged; `pmrep` and the Python
bindings interpolate or cost as much per value as the whole import. Its text holds names that users choose (a
command line may hold a line break and a made-up record), so that processes and control groups are read apart
from everything else, and a record that does not hold as many metrics as it announces is dropped.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError
from satline.importers._importer import ended
from satline.outside import bounded
from satline.outside.tools import Tool, ToolLimits, run_tool, start_tool

_PART = re.compile(r"(.+)\.(index|meta|\d+)(?:\.(?:bz2|xz|gz|lzma|zst))?")
_METRIC = re.compile(
    r"PMID: \S+ \(([^)\n]+)\)\n\s+Data Type: (.+?)  InDom.*\n\s+Semantics: (\S+)  Units: (.*)\n"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WHEN = re.compile(
    r"\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)\.(\d+) (\d{4}) .*?(?:(\d{1,9}) metrics?|(<mark>)).*\n"
)
_HEAD = re.compile(r"    [0-9.]+ \(([^)\n]+)\):(.*\n)", re.S)
_VALUE = re.compile(
    r"""\s*(?:inst \[(\d{1,10}) or (?:"(.*)"|\?\?\?)\] )?value (?:"(.*)"|'(.*)'|(-?[0-9][0-9.e+-]*))\n""",
    re.S,
)
# The same for nearly all lines, which are plain.
_PLAIN = re.compile(r"        inst \[(\d{1,10}) or \"([^\"\n]*)\"\] value (\d{1,30}(?:\.\d{1,30})?)\n")
_PLAIN_HEAD = re.compile(r"    [0-9.]+ \(([^)\n]+)\): value (\d{1,30}(?:\.\d{1,30})?)\n")
_LONGEST = 65536
# Archives of the nineties have IRIX's metrics below a name of their own.
_IRIX = "irix."
# A metric may have several names.
_OR = " or "
_INSTALL = "install PCP (Debian: apt install pcp), or import on a machine that has it"
_CRASHED = "try `pmlogcheck` on the archive, and a newer PCP"
# To microseconds and bytes; whatever counts, counts.
_SCALES = {
    "nanosec": 1e-3, "microsec": 1.0, "millisec": 1e3, "sec": 1e6,
    "byte": 1.0, "Kbyte": 1024.0, "Mbyte": 1024.0**2, "Gbyte": 1024.0**3,
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """What the archive says of a metric: `bits` of a counter that wraps, `scale` to microseconds or bytes."""

    name: str
    text: bool
    bits: int
    scale: float
    counter: bool = False


@dataclass
class Series:
    """Values of one metric, in order of time: shape (values,) each.

    `name` holds indexes into `names` (−1: a single value, or a name that the archive lacks); `value` of a
    text metric holds indexes into `Archive.texts`. `record_ns`: every instant at which the metric was
    asked for, whether it had values or not.
    """

    time: array[int] = field(default_factory=lambda: array("q"))
    instance: array[int] = field(default_factory=lambda: array("q"))
    name: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    record_ns: array[int] = field(default_factory=lambda: array("q"))

    def appenders(self) -> tuple[Callable[[Any], None], ...]:
        """Append to time, instance, name, value."""
        return self.time.append, self.instance.append, self.name.append, self.value.append

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """time_ns, instance, name, value."""
        return np.array(self.time), np.array(self.instance), np.array(self.name), np.array(self.value)


@dataclass
class Archive:
    """One archive: label, metrics, and the values read so far.

    `own_names`: what the archive calls a metric, where that is not its name.
    """

    base: Path
    host: str = ""
    zone: str = ""
    version: str = ""
    start_ns: int = 0
    metrics: dict[str, Metric] = field(default_factory=dict)
    own_names: dict[str, str] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    marks_ns: list[int] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    def get(self, name: str) -> Series | None:
        """The metric's values, or None where there is not one."""
        series = self.series.get(name)
        return series if series is not None and len(series.time) else None


def archive_bases(source: Path) -> list[Path]:
    """Names of the archives that a path stands for: any of an archive's files, its base name, or a folder."""
    if source.is_dir():
        names = sorted({m[1] for p in source.iterdir() if (m := _PART.fullmatch(p.name)) and m[2] == "meta"})
        return [source / n for n in names]
    match = _PART.fullmatch(source.name)
    base = source.with_name(match[1]) if match is not None and source.is_file() else source
    return [base] if any(p.name.startswith(f"{base.name}.meta") for p in _parts(base)) else []


def _parts(base: Path) -> Iterator[Path]:
    """Files of the archive with this base name."""
    if not base.parent.is_dir():
        return
    for path in base.parent.iterdir():
        match = _PART.fullmatch(path.name)
        if match is not None and match[1] == base.name:
            yield path


def open_archive(base: Path, scratch: Path) -> Archive:
    """Label and metrics of an archive.

    Raises InputError in the tool's own words. A compressed volume whose end is missing is unpacked into
    `scratch` as far as it goes.
    """
    archive = Archive(base)
    try:
        text = _run(["pmdumplog", "-L", "-d", "-Z", "UTC0", str(base)], base)
    except InputError as error:
        if not _salvage(base, scratch, archive):
            raise
        archive.base = scratch / base.name
        with suppress(OSError):
            (scratch / f"{base.name}.index").unlink()
        try:
            text = _run(["pmdumplog", "-L", "-d", "-Z", "UTC0", str(archive.base)], base)
        except InputError:
            raise error from None
    label = dict.fromkeys(("host", "zone", "version"), "")
    for key, pattern in {
        "host": r"Performance metrics from host (.*)",
        "zone": r"Archive timezone: (.*)",
        "version": r"Log Format Version (\d+)",
    }.items():
        match = re.search(pattern, text)
        label[key] = match[1] if match else ""
    archive.host, archive.zone, archive.version = label["host"], label["zone"], label["version"]
    match = re.search(r"commencing \w{3} (\w{3}) +(\d+) (\d\d):(\d\d):(\d\d)\.(\d+) (\d{4})", text)
    archive.start_ns = _time_ns(match) if match else 0
    for names, kind, semantics, units in _METRIC.findall(text):
        counter = semantics == "counter"
        bits = 32 if counter and kind.startswith("32-bit") else 0
        scale = _SCALES.get(units.strip(), 1.0)
        for own in names.split(_OR):
            name = own.removeprefix(_IRIX)
            if own != name or own != names:
                archive.own_names[name] = own
            archive.metrics[name] = Metric(name, kind == "string", bits, scale, counter)
    return archive


def read_values(archive: Archive, names: Sequence[str], progress: Callable[[], None]) -> None:
    """Read the metrics `names` into the archive, all instants; what is damaged is left out and told."""
    wanted = [n for n in names if n in archive.metrics]
    if not wanted:
        return
    command = ["pmdumplog", "-x", "-m", "-M", "-Z", "UTC0", str(archive.base)]
    command += [archive.own_names.get(name, name) for name in wanted]
    with _started(command, archive.base) as tool:
        lines = io.TextIOWrapper(tool.stdout, "utf-8", "replace", newline="\n")
        _Reader(archive, wanted, progress).read(lines)
    done = tool.ended
    words = done.stderr[:4000].decode("utf-8", "replace").split("\n\n")[0].strip()
    if done.returncode:
        how = ended("pmdumplog", done.returncode, words)
        if done.stopped:
            how = f"pmdumplog was ended, because {done.stopped}"
        crashed = done.returncode < 0
        if crashed and not any(len(archive.series[n].record_ns) for n in wanted):
            raise InputError(f"{archive.base}: {how}", hint=_CRASHED)
        if words or crashed:
            archive.damage.append(f"{archive.base.name}: {how}")


class _Reader:
    """Takes pmdumplog's lines."""

    def __init__(self, archive: Archive, wanted: Sequence[str], progress: Callable[[], None]) -> None:
        self.archive, self.progress = archive, progress
        self.text = {n: archive.metrics[n].text for n in wanted}
        self.names = {own: name for name, own in archive.own_names.items() if name in self.text}
        for name in wanted:
            archive.series[name] = Series()
        self.text_ids: dict[str, int] = {t: i for i, t in enumerate(archive.texts)}
        self.announced = self.seen = 0
        self.now = 0
        self.lengths: dict[str, tuple[int, int]] = {}
        self.dropped = 0

    def read(self, lines: Iterable[str]) -> None:
        current, pending, numeric, named = "", "", False, False
        match_plain, match_head, known = _PLAIN.fullmatch, _PLAIN_HEAD.fullmatch, self.text_ids.get
        add_time, add_instance, add_name, add_value = Series().appenders()
        records = 0
        for line in lines:
            if pending:
                pending += line
                if len(pending) > _LONGEST:
                    pending = ""
                    self.dropped += 1
                elif self._values(current, pending):
                    pending = ""
            elif line.startswith("        inst "):
                if numeric and (plain := match_plain(line)):
                    number, name, value = plain.groups()
                    add_time(self.now)
                    add_instance(int(number))
                    add_name((known(name) or self._id(name)) if named else -1)
                    add_value(float(value))
                elif not self._values(current, line):
                    pending = line  # a name with a line break in it goes on
            elif (plain := match_head(line)) and not self.text.get(name := self._name(plain[1]), True):
                current, numeric = self._metric(name), False  # it has no instances
                if current:
                    self._add(current, -1, None, float(plain[2]))
            elif head := _HEAD.fullmatch(line):
                current = self._metric(self._name(head[1]))
                numeric = not self.text.get(current, True)
                if numeric:
                    named = not current.startswith("proc.")
                    add_time, add_instance, add_name, add_value = self.archive.series[current].appenders()
                rest = head[2]
                if "value " in rest and "No values" not in rest and not self._values(current, rest):
                    pending = rest
            elif when := _WHEN.fullmatch(line):
                self._close()
                records += 1
                if records % 100 == 0:
                    self.progress()
                try:
                    now = _time_ns(when)
                except ValueError:  # no date: it stands in a name
                    continue
                if when[9]:
                    self.archive.marks_ns.append(now)
                    self.announced = self.seen = 0
                else:
                    self.now, self.announced, self.seen = now, int(when[8]), 0
                    self.lengths = {}
        self._close()
        if self.dropped:
            self.archive.damage.append(
                f"{self.archive.base.name}: {self.dropped} records left out: names in them break the record"
            )

    def _name(self, own: str) -> str:
        """The name that was asked for, of those that the archive prints."""
        if not self.names:
            return own
        return next((self.names[n] for n in own.split(_OR) if n in self.names), own)

    def _metric(self, name: str) -> str:
        self.seen += 1
        series = self.archive.series.get(name)
        if series is None or name in self.lengths:
            return ""
        self.lengths[name] = (len(series.time), len(series.record_ns))
        series.record_ns.append(self.now)
        return name

    def _values(self, metric: str, text: str) -> bool:
        match = _VALUE.fullmatch(text)
        if match is None:
            return False
        kind = self.text.get(metric)
        instance, name, double, single, number = match.groups()
        quoted = double if double is not None else single
        if kind is None or kind is (quoted is None):
            return True  # of no metric that was asked for, or not of its type
        with suppress(ValueError):
            value = float(self._id(quoted)) if quoted is not None else float(number)
            if not math.isfinite(value):
                return True
            self._add(metric, int(instance) if instance is not None else -1, name, value)
        return True

    def _add(self, metric: str, instance: int, name: str | None, value: float) -> None:
        series = self.archive.series[metric]
        series.value.append(value)
        series.time.append(self.now)
        series.instance.append(instance)
        # Processes are known by their numbers; their names are long, and users choose them.
        series.name.append(-1 if name is None or metric.startswith("proc.") else self._id(name))

    def _id(self, text: str) -> int:
        found = self.text_ids.get(text)
        if found is None:
            found = self.text_ids[text] = len(self.archive.texts)
            self.archive.texts.append(text)
        return found

    def _close(self) -> None:
        """The record is whole; else its values go."""
        if self.seen == self.announced:
            return
        for name, (values, records) in self.lengths.items():
            series = self.archive.series[name]
            for column in (series.time, series.instance, series.name, series.value):
                del column[values:]
            del series.record_ns[records:]
        self.dropped += 1


def tool_version() -> str:
    """Version of the installed PCP."""
    return _run(["pmdumplog", "--version"], Path("pmdumplog")).strip().rpartition(" ")[2]


@contextmanager
def _started(command: list[str], base: Path) -> Iterator[Tool]:
    # PCP unpacks the parts of a compressed archive into files.
    with tempfile.TemporaryDirectory(prefix="satline-pcp-") as scratch:
        try:
            with start_tool(
                command, limits=_limits(base), env=_environment(scratch), writable=[Path(scratch)]
            ) as tool:
                yield tool
        except FileNotFoundError:
            raise InputError(f"{command[0]}: not found; it reads PCP archives", hint=_INSTALL) from None


def _limits(base: Path) -> ToolLimits:
    """Those of an archive's files, which may be compressed ten to one or more."""
    return ToolLimits.of(*list(_parts(base)) * 10)


def _environment(scratch: str) -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "TZ": "UTC0", "TMPDIR": scratch, "PCP_TMPFILE_DIR": scratch}


def _run(command: list[str], base: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="satline-pcp-") as scratch:
        try:
            done = run_tool(
                command, limits=_limits(base), env=_environment(scratch), writable=[Path(scratch)]
            )
        except FileNotFoundError:
            raise InputError(
                f"{base}: {command[0]} not found; it reads PCP archives", hint=_INSTALL
            ) from None
    if done.stopped:
        raise InputError(f"{base}: {command[0]} was ended, because {done.stopped}", hint=_CRASHED)
    # A damaged tail makes pmdumplog end with 1 after it has printed all it has.
    output = done.stdout.decode("utf-8", "replace")
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if done.returncode < 0:
        raise InputError(f"{base}: {ended(command[0], done.returncode, ' '.join(words[-1:]))}", hint=_CRASHED)
    if done.returncode and "PMID:" not in output and "--version" not in command:
        raise InputError(
            f"{base}: {words[-1] if words else f'{command[0]} ended with {done.returncode}'}",
            hint="name the archive without its ending; its .meta, .index and .0 files must lie together",
        )
    return output or done.stderr.decode("utf-8", "replace")


def _salvage(base: Path, scratch: Path, archive: Archive) -> bool:
    """Unpack the archive's files into `scratch` as far as they go; False where none is compressed."""
    openers: dict[str, Callable[..., Any]] = {
        ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open, ".gz": gzip.open,
    }  # fmt: skip
    parts = list(_parts(base))
    if not any(p.suffix in openers for p in parts):
        return False
    for part in parts:
        opener = openers.get(part.suffix, open)
        target = scratch / (part.stem if part.suffix in openers else part.name)
        with bounded(opener(part, "rb"), part.stat().st_size) as packed, target.open("wb") as plain:
            try:
                while block := packed.read(1 << 16):
                    plain.write(block)
            except (OSError, EOFError, lzma.LZMAError):
                archive.damage.append(f"{part.name}: its end is missing; read as far as it goes")
    return True


def _time_ns(match: re.Match[str]) -> int:
    month, day, hour, minute, second, fraction, year = match.groups()[:7]
    whole = datetime(
        int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second), tzinfo=UTC
    )
    return int(whole.timestamp()) * 10**9 + int(fraction[:9].ljust(9, "0"))
