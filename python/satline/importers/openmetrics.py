"""Text of metrics: dumps of `promtool tsdb`, and files of scrapes, one after another or in a directory.

A dump has a time at each sample. A scrape has none: its time is what the exporter said (node_time_seconds),
else what the file's name says, else when the file was last changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.importers._importer import Importer, Options, compressed
from satline.importers._node_exporter import import_collection, wanted
from satline.importers._series import BROKEN, LATEST_MS, Collection
from satline.importers._sink import Sink

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*"?([a-zA-Z_][a-zA-Z0-9_.:]*)"?\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPES = {"n": "\n", '"': '"', "\\": "\\"}
_SAMPLE = re.compile(r'(?:[a-zA-Z_:][\w:]*)?(?:\{[^{}]*="[^{}]*\})?\s+[-+]?(?:\d|NaN|Inf)\S*(?:\s|$)')
_STAMP = re.compile(r"^node_time_seconds (\S+)$|[} ]\S+ (\d{10}(?:\.\d+)?|\d{13})$")
_UNIX = re.compile(r"(?<!\d)(\d{10}|\d{13})(?!\d)")
_CLOCK = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[T_ -]?(\d\d)[:.-]?(\d\d)(?:[:.-]?(\d\d))?")
_HEAD = 8192
# A time in seconds is below this until the year 5138, one in milliseconds above it since 1973.
_MILLISECONDS = 1e11

Key = tuple[str, tuple[tuple[str, str], ...]]


def recognise(source: str) -> float:
    """How surely this is text of metrics; of a directory the first files are looked at."""
    try:
        path = Path(source)
        files = sorted(f for f in path.iterdir() if f.is_file())[:3] if path.is_dir() else [path]
        return max((_recognise_file(f) for f in files), default=0.0)
    except (*BROKEN, ValueError):
        return 0.0


def _recognise_file(path: Path) -> float:
    with compressed(path)(path, "rb") as file:
        head = file.read(_HEAD)
    if b"\0" in head:
        return 0.0
    lines = [x for x in head.decode("utf-8", "replace").splitlines()[:-1] if x.strip()]
    if not lines:
        return 0.0
    comments = sum(x.startswith(("# HELP ", "# TYPE ", "# UNIT ")) for x in lines)
    samples = sum(bool(_SAMPLE.match(x)) for x in lines)
    if comments + samples < 0.9 * len(lines) or not samples:
        return 0.0
    return 0.9 if comments or '{__name__="' in lines[0] or any("{" in x for x in lines) else 0.3


def read(source: str, options: Options, sink: Sink) -> None:
    """Read a file, or all files of a directory.

    Raises
    ------
    InputError
        Besides what `import_collection` raises: a file of several scrapes without a time, or of one scrape.
    """
    path = Path(source)
    files = sorted(f for f in path.iterdir() if f.is_file()) if path.is_dir() else [path]
    reader = _Reader(sink, options.zone or UTC, wanted(options.mapping))
    for number, file in enumerate(files):
        if path.is_dir() and _recognise_quietly(file) == 0.0:
            sink.damage(f"{file}: left out, it is no text of metrics")
            continue
        reader.file(file)
        options.progress(0.9 * (number + 1) / len(files))
    if reader.readings() == 1:
        raise InputError(
            f"{path}: holds one scrape, and a rate needs two",
            hint="give the directory that the scrapes are in, or put them into one file",
        )
    sink.origin(format="openmetrics", files=[str(path)])
    import_collection(reader.collection(), options, sink, source)


def begins(source: str) -> float:
    """The time of the first sample that says one."""
    try:
        path = Path(source)
        files = sorted(f for f in path.iterdir() if f.is_file())[:1] if path.is_dir() else [path]
        for line in _lines(files[0]):
            said = _STAMP.search(line)
            if said is not None and not line.startswith("#"):
                time = float(said[1] or said[2])
                return time / 1000 if time > _MILLISECONDS else time
    except (*BROKEN, ValueError, IndexError):
        pass
    return 0.0


def _recognise_quietly(file: Path) -> float:
    try:
        return _recognise_file(file)
    except (*BROKEN, ValueError):
        return 0.0


class _Reader:
    """Gathers the samples of files."""

    def __init__(self, sink: Sink, zone: tzinfo, needed: frozenset[str]) -> None:
        self._sink = sink
        self._needed = needed
        self._zone = zone
        self._samples: dict[Key, tuple[list[int], list[float]]] = {}
        # By the text before the value; None: a series that is not needed.
        self._known: dict[str, Key | None] = {}
        self._bad = 0

    def collection(self) -> Collection:
        """All that was read."""
        made = Collection()
        for (name, labels), (times, values) in self._samples.items():
            made.add(name, dict(labels), times, values)
        return made

    def readings(self) -> int:
        """How many samples the longest series has."""
        return max((len(times) for times, _ in self._samples.values()), default=0)

    def file(self, path: Path) -> None:
        """Read one file; what is wrong in it is told to the sink, and left out."""
        self._bad, first_bad = 0, 0
        scrapes: list[dict[Key, float]] = [{}]
        number = 0
        try:
            for number, line in enumerate(_lines(path), start=1):
                if not line.endswith("\n") and line.rstrip() != "# EOF":
                    self._sink.damage(f"{path}, line {number}: ends within the line, which is left out")
                    break
                if line.startswith("#"):
                    if line.startswith("# EOF") and scrapes[-1]:
                        scrapes.append({})
                elif line.strip() and not self._line(line, scrapes):
                    first_bad = first_bad or number
        except BROKEN as error:
            if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                raise InputError(f"{path}: {error.strerror}", hint="name a file that you may read") from error
            self._sink.damage(f"{path}: damaged after line {number}: {error}")
        if self._bad:
            self._sink.damage(f"{path}, line {first_bad}: no sample; {self._bad} such lines were left out")
        self._close(path, [s for s in scrapes if s])

    def _line(self, line: str, scrapes: list[dict[Key, float]]) -> bool:
        """Take one sample; False: the line is none."""
        end = line.rfind("}")
        text, rest = (line[: end + 1], line[end + 1 :].split()) if end >= 0 else _bare(line)
        key = self._known.get(text, _UNKNOWN)
        if key is _UNKNOWN:
            try:
                key = _key(text, self._needed)
            except ValueError:
                cut = line.find(" # {")
                if cut > 0:  # an exemplar: it may follow the sample
                    return self._line(line[:cut] + "\n", scrapes)
                self._bad += 1
                return False
            self._known[text] = key
        if key is None:
            return True
        try:
            value = float(rest[0])
            if len(rest) == 1:
                if key in scrapes[-1]:
                    scrapes.append({})
                scrapes[-1][key] = value
                return True
            at = float(rest[1])
            time = at if abs(at) > _MILLISECONDS else at * 1000
            if len(rest) > 2 or not 0 < time < LATEST_MS:
                raise ValueError
        except (IndexError, ValueError):
            self._bad += 1
            return False
        times, values = self._samples.setdefault(key, ([], []))
        times.append(round(time))
        values.append(value)
        return True

    def _close(self, path: Path, scrapes: list[dict[Key, float]]) -> None:
        """Give the samples that had no time the time of their scrape."""
        guessed = False
        for scrape in scrapes:
            said = next((v for (name, _), v in scrape.items() if name == "node_time_seconds"), math.nan)
            if not 0 < said * 1000 < LATEST_MS:
                if len(scrapes) > 1:
                    raise InputError(
                        f"{path}: holds several scrapes, and no time of each",
                        hint="keep node_time_seconds in them (node_exporter's collector time), or one scrape "
                        "in each file",
                    )
                said, guessed = _file_time(path, self._zone), True
            node = next(
                (dict(labels).get("nodename") for (name, labels) in scrape if name == "node_uname_info"), None
            )
            for (name, labels), value in scrape.items():
                own = labels
                # A scrape does not say where it came from: files of several hosts must not be mixed.
                if node and not any(k == "instance" for k, _ in labels):
                    own = (*labels, ("instance", node))
                times, values = self._samples.setdefault((name, own), ([], []))
                times.append(round(said * 1000))
                values.append(value)
        if guessed:
            self._sink.note(f"{path.name}: its time is that of the file or of its name; the scrape says none")


_UNKNOWN: Any = object()


def _bare(line: str) -> tuple[str, list[str]]:
    name, *rest = line.split()
    return name, rest


def _key(text: str, needed: frozenset[str]) -> Key | None:
    """Name and labels; None for a series that is not needed. Raises ValueError if it is neither."""
    name, brace, inner = text.partition("{")
    name = name.strip()
    if (name and not _NAME.fullmatch(name)) or (brace and inner[-1:] != "}"):
        raise ValueError(text)
    if name and name not in needed:
        return None
    labels: dict[str, str] = {}
    if brace:
        place, inner = 0, inner[:-1].rstrip()
        while place < len(inner):
            found = _LABEL.match(inner, place)
            if found is None:
                raise ValueError(text)
            labels[found[1]] = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), found[2])
            place = found.end()
    name = labels.pop("__name__", name)
    if not name:
        raise ValueError(text)
    return (name, tuple(sorted(labels.items()))) if name in needed else None


def _lines(path: Path) -> Iterator[str]:
    with compressed(path)(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
        yield from file


def _file_time(path: Path, zone: tzinfo) -> float:
    """Seconds since 1970 by the file's name, else by its last change."""
    if (found := _UNIX.search(path.name)) is not None:
        return int(found[1]) / (1000 if len(found[1]) == 13 else 1)
    if (clock := _CLOCK.search(path.name)) is not None:
        try:
            return datetime(*(int(x or 0) for x in clock.groups()), tzinfo=zone).timestamp()  # type: ignore[misc,arg-type]
        except ValueError:
            pass
    return path.stat().st_mtime


IMPORTER = Importer(
    "openmetrics",
    "text of metrics: promtool tsdb dump, scraped files",
    recognise,
    read,
    examples=("satline import host.om", "satline import scrapes/"),
    begins=begins,
    mapping=True,
)
