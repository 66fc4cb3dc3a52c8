"""What must hold of a recording after the power went, whatever the disk kept."""

from __future__ import annotations

import shutil
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
from disk import Directory, Disk, Event, File, Op, Tree, tree, write_tree

from satline.catalogue import catalogue
from satline.errors import SatlineError
from satline.recording import (
    Recording,
    RecordingWriter,
    check,
    compact,
    conform,
    describe,
    layout,
    read_segment,
)
from satline.recording._frames import HEADER, split_frames

Rows = Counter[tuple[str, int]]
NAME = "x.satline"


def rows_of(recording: Recording) -> Rows:
    """Rows of a recording, each as its table and the hash of its values."""
    found: Rows = Counter()
    tables = recording.tables()
    connection = recording.connect(tables=tables)
    for table in tables:
        for (value,) in connection.execute(f'SELECT hash(t) FROM "{table}" t').fetchall():
            found[table, value] += 1
    connection.close()
    return found


@dataclass
class Segment:
    """A segment that a writer wrote: the rows of its frames, and where each frame ends."""

    table: str
    file: File
    read: int = 0
    ends: list[tuple[int, list[int]]] = field(default_factory=list)

    def rows(self, length: int) -> Rows:
        """Rows in the whole frames of its first bytes."""
        return Counter((self.table, h) for end, hashes in self.ends if end <= length for h in hashes)


class Writers:
    """Follows a log: what has been written, what was made durable, what was acknowledged.

    Independent of names: rows are promised once their bytes were synced, under whatever name. From the mark
    "pruning" on only those are that `remaining` has, the rows of the end; from "pruned" on there may be no
    others.
    """

    def __init__(
        self, root: Path, scratch: Path, before: Disk | None = None, *, remaining: Rows | None = None
    ) -> None:
        self._remaining = remaining
        self.disk = before or Disk(root)
        self._scratch = scratch
        self._segments: dict[int, Segment] = {}
        self._versions: dict[str, list[bytes]] = {}
        self._known: dict[str, int] = {}
        self.marks: list[str] = []
        self._earlier: Rows = Counter()

    def play(self, event: Event) -> None:
        """One event more."""
        self.disk.play(event)
        parts = Path(event.first).parts
        node = self.disk._nodes.get(event.inode)
        if event.op is Op.CREATE and event.first.endswith(".seg") and isinstance(node, File):
            self._segments[id(node)] = Segment(parts[-2], node)
        if event.op is Op.WRITE and parts[-1] == "marks":
            self.marks += event.data.decode().split()
            for place in self._versions:
                self._known[place] = len(self._versions[place]) - 1
        if event.op in (Op.RENAME, Op.LINK, Op.WRITE):
            self._note_descriptions()

    def _note_descriptions(self) -> None:
        for place, data in self.now().items():
            if place.startswith(NAME) and place.endswith(".toml") and "/." not in place and data:
                versions = self._versions.setdefault(place, [])
                if not versions or versions[-1] != data:
                    versions.append(data)

    def now(self) -> Tree:
        """The disk as its writers see it."""
        return tree(self.disk, lambda d: d.now, lambda f: bytes(f.now))

    def written(self) -> Rows:
        """All rows that were written."""
        found = self._count(lambda file: len(file.now))
        return found & self._remaining if self._remaining is not None and "pruned" in self.marks else found

    def promised(self) -> Rows:
        """Rows whose bytes were made durable."""
        found = self._count(lambda file: len(file.durable))
        return found & self._remaining if self._remaining is not None and "pruning" in self.marks else found

    def _count(self, length: object) -> Rows:
        found: Rows = Counter()
        for segment in self._segments.values():
            self._read(segment)
            found += segment.rows(length(segment.file))  # type: ignore[operator]
        return found

    def _read(self, segment: Segment) -> None:
        data = bytes(segment.file.now)
        if segment.read == len(data):
            return
        segment.read = len(data)
        file = self._scratch / "x.seg"
        file.write_bytes(data)
        payloads, _ = split_frames(data, file)
        content = read_segment(file).table
        segment.ends = []
        if content is None:
            return
        hashes = _hashes(segment.table, content)
        end, first = 0, 0
        counts = _rows_of_frames(payloads)
        for payload, count in zip(payloads, counts, strict=True):
            end += HEADER.size + len(payload)
            segment.ends.append((end, hashes[first : first + count]))
            first += count
        assert first == len(hashes)

    def wrong_description(self, state: Tree) -> str | None:
        """A description that was never written so, or is older than what was acknowledged."""
        for place, versions in self._versions.items():
            data, least = state.get(place), self._known.get(place, -1)
            if data is None:
                if least >= 0:
                    return f"{place}: is gone, and its writer had been told that it is there"
            elif data not in versions:
                return f"{place}: holds what was never written: {data[:60]!r}"
            elif data not in versions[max(least, 0) :]:
                return f"{place}: is older than what its writer had been told is there"
        return None


def _rows_of_frames(payloads: list[memoryview]) -> list[int]:
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(payloads[0]))
    return [0, *(pa.ipc.read_record_batch(pa.py_buffer(p), schema).num_rows for p in payloads[1:])]


def _hashes(table: str, content: object) -> list[int]:
    connection = duckdb.connect()
    connection.register("t", conform(content, catalogue().table(table)))  # type: ignore[arg-type]
    found = [value for (value,) in connection.execute("SELECT hash(t) FROM t").fetchall()]
    connection.close()
    return found


def judge(writers: Writers, state: Tree, place: Path, *, written: Rows, promised: Rows) -> list[str]:
    """What is wrong with a recording on a disk that the power left so; empty: nothing."""
    shutil.rmtree(place, ignore_errors=True)
    write_tree(state, place)
    try:
        return _judge(writers, state, place / NAME, written, promised)
    except SatlineError as error:
        return [f"refused: {error.message}".replace(str(place), "")]
    except Exception:
        return ["traceback: " + traceback.format_exc().strip().replace(str(place), "")]


def _judge(writers: Writers, state: Tree, path: Path, written: Rows, promised: Rows) -> list[str]:
    if f"{NAME}/recording.toml" not in state and not promised and not writers.marks:
        return []  # it had not been made yet, as far as anybody was told
    wrong = writers.wrong_description(state)
    if wrong is not None:
        return [wrong]
    report = check(path)
    if not report.ok:
        return [f"check: {problem}".replace(str(path), "") for problem in report.problems]
    before = rows_of(Recording.open(path))
    found = _lost("at first", before, written, promised)
    compact(path)
    report = check(path)
    found += [f"check after compact: {problem}".replace(str(path), "") for problem in report.problems]
    after = rows_of(Recording.open(path))
    if after != before:
        found.append(f"compact: {_differ(before, after)}")
    with RecordingWriter(path, "study") as writer:
        writer.write_rows("event", [{"source": "study", "event": "annotation", "text": "after"}])
    if not any(kept.path.name.startswith("monitor") for kept in layout(path).segments):
        describe.end(path, "complete")  # of a writer that was cut and did not come again it is damage
    report = check(path)
    found += [f"check after a further run: {problem}".replace(str(path), "") for problem in report.problems]
    if sum(rows_of(Recording.open(path)).values()) != sum(after.values()) + 1:
        found.append("a further run: its row is not there, or others went")
    return found


def _lost(when: str, found: Rows, written: Rows, promised: Rows) -> list[str]:
    problems = []
    if lost := promised - found:
        problems.append(f"{when}: {sum(lost.values())} rows are lost that were durable: {_tables(lost)}")
    if invented := found - written:
        problems.append(f"{when}: {sum(invented.values())} rows that nobody wrote: {_tables(invented)}")
    return problems


def _differ(before: Rows, after: Rows) -> str:
    return f"{sum((before - after).values())} rows lost, {sum((after - before).values())} new"


def _tables(rows: Rows) -> str:
    return ", ".join(sorted({table for table, _ in rows}))


__all__ = ["Directory", "Writers", "judge", "rows_of"]
