"""What `sar` prints as text: Linux (sysstat), AIX, HP-UX, Solaris; also compressed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from pathlib import Path
from statistics import median

from satline.errors import InputError
from satline.importers import _sar_map as sar_map
from satline.importers._importer import Importer, Options, compressed
from satline.importers._sar_lines import Row, Text, looks_like_sar, read_text
from satline.importers._sar_map import Column, chosen, partition, values_of
from satline.importers._sar_series import Interval, Series, write_runs
from satline.importers._sink import Sink

# Of a row that is not of the whole host: of a processor, or of a process (pidstat).
_OTHERS = frozenset({"CPU", "cpu", "PID", "TID", "TGID", "UID", "USER"})
# Percentage points by which the idle time of all may miss the mean of single processors, whose ticks are
# counted apart, and the part of the intervals in which it may do so by more.
_APART, _MOST_APART = 1.0, 0.02

_HEAD_BYTES = 16_384
_RECORD = "satline record, on the host itself"
_NO_USERS = "sar tells nothing of single users"
_SHORT = "not in the text"
_SOME = 6
LACKING: tuple[tuple[str, str, str], ...] = (
    ("user.cpu_us", _NO_USERS, _RECORD),
    ("task.cpu_us", "sar tells nothing of single threads", _RECORD),
    ("system.users_in_queue", _NO_USERS, _RECORD),
    ("system.tasks_runnable", "only Linux counts running tasks in the run queue", "Linux: sar -q"),
    ("system.run_queue_mean", _SHORT, "AIX, HP-UX, Solaris: sar -q"),
    ("system.major_faults", _SHORT, "Linux: sar -B; other systems do not print them"),
    ("system.swap_in_pages", _SHORT, "Linux: sar -W; Solaris, HP-UX: sar -w"),
    ("system.block_in_bytes", _SHORT, "Linux: sar -B"),
    ("system.mem_free_bytes", _SHORT, "sar -r"),
    ("system.pressure_cpu_some_us", _SHORT, "Linux: sar -q ALL of sysstat 12.5.6 or later"),
    ("device.busy_us", _SHORT, "sar -d"),
    ("processor.user_us", _SHORT, "sar -u"),
)


def recognise(source: str) -> float:
    """By the first lines: system and date, then a time with column names."""
    try:
        path = Path(source)
        if not path.is_file():
            return 0.0
        with compressed(path)(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, EOFError, ValueError):
        return 0.0
    return 0.0 if b"\0" in head else looks_like_sar(head.decode(errors="replace"))


def begins(source: str) -> float:
    """Time of the first rows, by the wall clock."""
    try:
        path = Path(source)
        with compressed(path)(path, "rb") as file:
            head = file.read(_HEAD_BYTES).decode(errors="replace")
    except (OSError, EOFError, ValueError):
        return 0.0
    rows = [
        r for rows in read_text(head.splitlines(keepends=True), sar_map.known).series.values() for r in rows
    ]
    return float(min((r.time for r in rows), default=0))


def _nothing_in(path: Path, text: Text, options: Options) -> InputError:
    """The error for a text whose rows gave no reading with a value."""
    hint = "print at least the processors: sar -u, better sar -A"
    if options.start is not None or options.end is not None:
        return InputError(f"{path}: nothing that Satline knows in the time asked for", hint=hint)
    columns = " ".join(max((names for names, rows in text.series.items() if rows), key=len)[:_SOME])
    if sum(map(len, text.series.values())) == 1:
        return InputError(
            f"{path}: it holds a single row, of {columns} …: what was used is told by two", hint=hint
        )
    return InputError(
        f"{path}: its rows have the columns {columns} …: no figure of sar that Satline reads; did pidstat,"
        " iostat or mpstat write it?",
        hint=hint,
    )


def read(source: str, options: Options, sink: Sink) -> None:
    """Read one text.

    Raises
    ------
    InputError
        The text holds no rows that can be dated, or nothing that the catalogue has.
    """
    path = Path(source)
    text = _text(path)
    if not any(text.series.values()):
        reason = text.damage[0] if text.damage else "no rows of sar in it"
        raise InputError(f"{path}: {reason}", hint="keep the first line, with system and date: sar -A > FILE")
    for damage in text.damage:
        sink.damage(f"{path}: {damage}")
    for note in dict.fromkeys(text.notes):
        sink.note(f"{path}: {note}")
    zone: tzinfo = options.zone or UTC
    if options.zone is None:
        sink.note(f"{path}: times are read as UTC, because sar does not say its time zone: see --timezone")
    series = _Collected(zone, options).collect(text)
    if not series.any_rows():
        raise _nothing_in(path, text, options)
    sink.if_nothing(_nothing_in(path, text, options))
    _describe(path, text, options, series, sink)
    write_runs(series.tables(), sink)


def _text(path: Path) -> Text:
    lines: list[str] = []
    cut = ""
    try:
        with compressed(path)(path, "rb") as file:
            for line in file:
                lines.append(line.decode(errors="replace"))
    except EOFError:
        cut = "the compressed file is cut off"
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}", hint="is it whole, and may you read it?"
        ) from error
    text = read_text(lines, sar_map.known)
    if cut:
        text.damage.append(cut)
    return text


@dataclass
class _Collected:
    """Rows of a text in the catalogue's terms."""

    zone: tzinfo
    options: Options
    system: Series = field(default_factory=lambda: Series("system"))
    processor: Series = field(default_factory=lambda: Series("processor"))
    disk: Series = field(default_factory=lambda: Series("device", {"device_kind": "block"}))
    network: Series = field(default_factory=lambda: Series("device", {"device_kind": "network"}))
    count: float | None = None
    fraction: bool = False
    restarts: int = 0
    unknown: list[str] = field(default_factory=list)

    def tables(self) -> list[Series]:
        return [self.system, self.processor, self.disk, self.network]

    def any_rows(self) -> bool:
        return any(len(series) for series in self.tables())

    def collect(self, text: Text) -> _Collected:
        """Richer series come later and replace poorer ones of the same instants."""
        self.restarts = text.restarts
        for names in sorted(text.series, key=len):
            self.rows(names, text.series[names])
        return self

    def rows(self, names: tuple[str, ...], rows: list[Row]) -> None:
        if "INTR" in names:
            summed = [r for r in rows if r.name == "sum"]
            self.plain(self.system, sar_map.INTERRUPTS, names, summed, entity=False)
        elif "DEV" in names or "device" in names:
            columns = sar_map.DISK
            if "avque" in names and rows[0].facts.system in {"SunOS", "AIX"}:
                # HP-UX averages its queue over busy time only.
                columns = (*columns, Column("queue_us", ("avque",), lambda v, _: v["avque"] * 1e6))
            self.plain(self.disk, columns, names, rows)
            if rows[0].facts.system == "HP-UX":
                self.idle_disks(columns, names, rows)
        elif "IFACE" in names:
            self.plain(self.network, sar_map.NETWORK, names, rows)
        elif "%idle" in names:
            self.processors(names, rows)
        elif not _OTHERS.intersection(names):
            self.plain(self.system, sar_map.SYSTEM, names, rows, entity=False)

    def interval(self, row: Row) -> Interval | None:
        """The row's interval in real time; ``None`` when it was not asked for."""
        end = _real(row.time, row.steps, self.zone)
        start = None if row.start is None else _real(row.start, row.steps, self.zone)
        if start is not None and start >= end:
            start = None
        low, high = self.options.start, self.options.end
        if low is not None and (start if start is not None else end) < low.timestamp():
            return None
        if high is not None and end >= high.timestamp():
            return None
        return Interval(row.steps, start, end)

    def plain(
        self,
        series: Series,
        columns: Sequence[Column],
        names: tuple[str, ...],
        rows: Iterable[Row],
        *,
        entity: bool = True,
    ) -> None:
        wanted = chosen(columns, names)
        if not wanted:
            return
        for row in rows:
            if (interval := self.interval(row)) is None:
                continue
            values = values_of(names, row.values)
            found = {c.name: (c.convert(values, row.facts), c.rate) for c in wanted}
            series.add(interval, row.name if entity else "", found)

    def idle_disks(self, columns: Sequence[Column], names: tuple[str, ...], rows: list[Row]) -> None:
        """Devices without a row in an interval: HP-UX prints only those that were active in it (sar(1M))."""
        levels = dict.fromkeys((c.name for c in chosen(columns, names) if c.rate), (0.0, True))
        printed = {(row.steps, row.time): row for row in rows}
        there = {(row.steps, row.time, row.name) for row in rows}
        for name in dict.fromkeys(row.name for row in rows):
            for (steps, time), row in printed.items():
                interval = self.interval(row)
                if (steps, time, name) not in there and interval is not None:
                    self.disk.add(interval, name, levels)

    def processors(self, names: tuple[str, ...], rows: list[Row]) -> None:
        if "NODE" in names:
            return  # mpstat's memory nodes: their processors are listed one by one
        single = {"CPU", "cpu"} & set(names)
        totals = [r for r in rows if not single or r.name in {"all", "-", "system"}]
        each = [r for r in rows if single and r.name.isdigit()]
        shares = "physc" in names or "%entc" in names
        whole = _whole(each, self.restarts) if each else False
        if whole and totals and not shares:
            whole = _agree(names, totals, each)
        if each and not (totals and (shares or not whole)):
            self.plain(self.processor, sar_map.PROCESSOR, names, each)
            return
        wanted = chosen(sar_map.PROCESSOR, names)
        used: list[float] = []
        for row in totals:
            values = values_of(names, row.values)
            if row.facts.entitled is not None and shares:
                per_second = partition(values, row.facts)
            else:
                # A partition with cores of its own: percentages are of the cores, whose number physc is.
                many = values["physc"] if "physc" in names else float(row.facts.processors or 1)
                self.fraction |= "physc" not in names and not row.facts.processors
                used.append(many)
                per_second = {c.name: c.convert(values, row.facts) * many for c in wanted}
            if (interval := self.interval(row)) is not None:
                self.processor.add(interval, "all", {n: (v, True) for n, v in per_second.items()})
        known = [u for u in used if 0 <= u < 65_536]
        if known:
            self.count = max(1.0, round(median(known)))


def _whole(each: Sequence[Row], restarts: int) -> bool:
    """Are these rows of single processors of all of them, in every interval? `sar -P` prints those that were
    asked for, and those that are on line; its row for all counts the ticks of every one."""
    there: dict[tuple[int, int], set[str]] = {}
    for row in each:
        there.setdefault((row.steps, row.time), set()).add(row.name)
    seen = list(there.values())
    stated = each[0].facts.processors
    # After a restart there may be others.
    changes = sum(own != before for before, own in pairwise(seen))
    return changes <= restarts and (stated is None or len(seen[0]) >= stated)


def _agree(names: tuple[str, ...], totals: Sequence[Row], each: Sequence[Row]) -> bool:
    """Is the idle time of all processors the mean of the single ones'? If not, there are others that are not
    listed, whose number an old text does not state."""
    idle: dict[tuple[int, int], list[float]] = {}
    for row in each:
        idle.setdefault((row.steps, row.time), []).append(values_of(names, row.values)["%idle"])
    apart = [
        abs(values_of(names, row.values)["%idle"] - sum(own) / len(own)) > _APART
        for row in totals
        if (own := idle.get((row.steps, row.time)))
    ]
    return bool(sum(apart) <= _MOST_APART * len(apart))


def _real(wall: int, steps: int, zone: tzinfo) -> int:
    """Real time of a wall clock's; once the clock was set back, the second of two equal times is meant."""
    if zone is UTC:
        return wall
    naive = datetime.fromtimestamp(wall, UTC).replace(tzinfo=None, fold=1 if steps else 0)
    return int(naive.replace(tzinfo=zone).timestamp())


def _describe(path: Path, text: Text, options: Options, series: _Collected, sink: Sink) -> None:
    facts = text.facts
    if options.host is not None and facts.name != options.host:
        raise InputError(
            f"{path}: it is of host {facts.name!r}, not {options.host!r}", hint="leave --host out"
        )
    sink.host(
        name=facts.name or None,
        kernel=facts.kernel or None,
        machine=facts.machine or None,
        os=facts.system or None,
        page_bytes=sar_map.page_bytes(facts) if facts.system == "SunOS" else None,
    )
    names = {name for _, name in series.processor.rows}
    if names and names != {"all"}:
        sink.processors(len(names))
        if facts.processors is not None and len(names) < facts.processors and "all" not in names:
            sink.host(processors_of_host=facts.processors)
            sink.note(
                f"{path}: it lists {len(names)} of {facts.processors} processors and no row for all: what the"
                " others did is not in it, and an answer about the CPU is about those listed"
            )
    elif series.fraction:
        sink.processors(1)
        sink.note(
            f"{path}: the text does not say how many processors there are: all of them count as one, "
            "so that processor times are fractions of the whole"
        )
    elif series.count is not None:
        sink.processors(int(series.count))
    if facts.entitled is not None:
        if facts.capped:
            sink.limits(cpu_quota_processors=facts.entitled)
        else:
            sink.note(f"{path}: an uncapped partition: how many processors it could use, sar does not say")
    total = [v["mem_total_bytes"][0] for v in series.system.rows.values() if "mem_total_bytes" in v]
    if total and 0 < total[-1] < 2.0**62:
        sink.host(memory_bytes=int(total[-1]))
    sink.origin(format="sar-text", files=[str(path)], zone=str(options.zone or "UTC"))
    for signal, reason, need in LACKING:
        sink.missing(signal, reason, need)


IMPORTER = Importer(
    name="sar-text",
    title="text of sar: Linux, AIX, HP-UX, Solaris (also .gz .bz2 .xz)",
    recognise=recognise,
    read=read,
    examples=("satline import sar.txt --timezone Europe/Berlin",),
    begins=begins,
)
