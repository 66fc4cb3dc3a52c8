"""What a disk may hold after the power went, by what was written and synced before.

The log of a program's changes and syncs (shim.c) is replayed to a prefix. What POSIX promises then is little:
the bytes of a file that were there at its last fsync or fdatasync, and the names of a directory that were in
it at its last fsync. Anything later may be there or not, in any order, and a write may be there in part.
`states` gives some of the disks that this allows; the extremes are among them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from pathlib import Path

_HEADER = struct.Struct("<IIQqIIII")
_SECTOR = 512


class Op(IntEnum):
    """As in shim.c."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC_DATA = 4
    SYNC = 5
    RENAME = 6
    LINK = 7
    UNLINK = 8
    MKDIR = 9
    RMDIR = 10


@dataclass(frozen=True)
class Event:
    """One change or sync."""

    op: Op
    process: int
    inode: int
    offset: int
    first: str
    second: str
    data: bytes
    is_directory: bool


def read_log(file: Path) -> list[Event]:
    """The events of a log, in order."""
    data, at, found = file.read_bytes(), 0, []
    while at < len(data):
        op, process, inode, offset, first, second, length, is_directory = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        parts = [data[at : at + first], data[at + first : at + first + second]]
        at += first + second
        names = [p.decode() for p in parts]
        found.append(
            Event(Op(op), process, inode, offset, *names, data[at : at + length], bool(is_directory))
        )
        at += length
    return found


@dataclass
class File:
    """A file's bytes as its writer sees them, as they are surely on disk, and the changes in between."""

    now: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    # (offset, data), or (length, None) of a truncation.
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)

    def apply(self, at: int, data: bytes | None) -> None:
        _apply(self.now, at, data)
        self.unsynced.append((at, data))

    def sync(self) -> None:
        self.durable = bytes(self.now)
        self.unsynced.clear()

    def after(self, changes: list[tuple[int, bytes | None]]) -> bytes:
        """What is durable, and these changes."""
        content = bytearray(self.durable)
        for at, data in changes:
            _apply(content, at, data)
        return bytes(content)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
    else:
        content.extend(bytes(max(at - len(content), 0)))
        content[at : at + len(data)] = data


Names = dict[str, "File | Directory"]


@dataclass
class Directory:
    """A directory's names, as a file's bytes; a change is what one call did: names, what they mean then."""

    now: Names = field(default_factory=dict)
    durable: Names = field(default_factory=dict)
    unsynced: list[dict[str, File | Directory | None]] = field(default_factory=list)

    def apply(self, change: dict[str, File | Directory | None]) -> None:
        _name(self.now, change)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.durable = dict(self.now)
        self.unsynced.clear()

    def after(self, changes: list[dict[str, File | Directory | None]]) -> Names:
        names = dict(self.durable)
        for change in changes:
            _name(names, change)
        return names


def _name(names: Names, change: dict[str, File | Directory | None]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """The disk below one directory, replayed event by event."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = Directory()
        self._nodes: dict[int, File | Directory] = {}
        # The last file that was written to, which the power may have cut.
        self.last: File | None = None

    def play(self, event: Event) -> None:
        """One event more."""
        node = self._nodes.get(event.inode)
        if event.op is Op.CREATE:
            self._new(event, File())
        elif event.op is Op.MKDIR:
            self._new(event, Directory())
        elif event.op is Op.WRITE and isinstance(node, File):
            node.apply(event.offset, event.data)
            self.last = node
        elif event.op is Op.TRUNCATE and isinstance(node, File):
            node.apply(event.offset, None)
        elif event.op in (Op.SYNC, Op.SYNC_DATA):
            if event.first == str(self.root):
                self.top.sync()
            elif node is not None:
                node.sync()
        elif event.op is Op.LINK and node is not None:
            directory, name = self._place(event.second)
            directory.apply({name: node})
        elif event.op is Op.RENAME:
            old, name = self._place(event.first)
            new, target = self._place(event.second)
            moved = old.now[name]
            if old is new:
                old.apply({name: None, target: moved})
            else:
                new.apply({target: moved})
                old.apply({name: None})
        elif event.op in (Op.UNLINK, Op.RMDIR):
            directory, name = self._place(event.first)
            directory.apply({name: None})

    def _new(self, event: Event, node: File | Directory) -> None:
        directory, name = self._place(event.first)
        directory.apply({name: node})
        self._nodes[event.inode] = node

    def _place(self, path: str) -> tuple[Directory, str]:
        *above, name = Path(path).relative_to(self.root).parts
        directory = self.top
        for part in above:
            below = directory.now[part]
            assert isinstance(below, Directory)
            directory = below
        return directory, name


Tree = dict[str, "bytes | None"]
Names_of = Callable[[Directory], Names]
Bytes_of = Callable[[File], bytes]


def tree(disk: Disk, names: Names_of, content: Bytes_of) -> Tree:
    """Files with their bytes, directories with None, by their place below the root."""
    found: Tree = {}

    def walk(directory: Directory, above: str) -> None:
        for name, node in names(directory).items():
            if isinstance(node, File):
                found[above + name] = content(node)
            else:
                found[above + name] = None
                walk(node, f"{above}{name}/")

    walk(disk.top, "")
    return found


def _zeroed(file: File) -> bytes:
    """The length is there, and not the bytes: what delayed allocation leaves."""
    unsynced = [(at, None if data is None else bytes(len(data))) for at, data in file.unsynced]
    return file.after(unsynced)


def _without_first(file: File) -> bytes:
    """The later of two writes came to the disk, and not the earlier."""
    first = next((n for n, (_, data) in enumerate(file.unsynced) if data is not None), None)
    if first is None or first == len(file.unsynced) - 1:
        return bytes(file.now)
    changes = list(file.unsynced)
    at, data = changes[first]
    changes[first] = (at, bytes(len(data or b"")))
    return file.after(changes)


def _torn(disk: Disk, keep: Callable[[int], int], *, zeros: bool) -> Bytes_of:
    def content(file: File) -> bytes:
        if file is not disk.last or not file.unsynced or file.unsynced[-1][1] is None:
            return bytes(file.now)
        at, data = file.unsynced[-1]
        assert data is not None
        kept = data[: keep(len(data))]
        return file.after([*file.unsynced[:-1], (at, kept + bytes(len(data) - len(kept)) if zeros else kept)])

    return content


def _drawn(draw: random.Random) -> tuple[Names_of, Bytes_of]:
    """Of each directory and file some of the changes since its last sync, in any order of syncs."""

    def names(directory: Directory) -> Names:
        if draw.random() < 0.3:
            return dict(directory.now)
        count = draw.randint(0, len(directory.unsynced))
        chosen = directory.unsynced[:count]
        if draw.random() < 0.3:
            chosen = [change for change in directory.unsynced if draw.random() < 0.5]
        return directory.after(chosen)

    def content(file: File) -> bytes:
        kind = draw.randrange(4)
        count = draw.randint(0, len(file.unsynced))
        if kind == 0:
            return bytes(file.now)
        if kind == 1:
            return file.after(file.unsynced[:count])
        if kind == 2:
            return file.after([(a, d) for a, d in file.unsynced if draw.random() < 0.5])
        return file.after(
            [(a, d if d is None or draw.random() < 0.5 else bytes(len(d))) for a, d in file.unsynced]
        )

    return names, content


def states(disk: Disk, draw: random.Random, *, drawn: int) -> Iterator[tuple[str, Callable[[], Tree]]]:
    """Disks that the power may have left: their kind, and what makes them, until the next event is played.

    Parameters
    ----------
    drawn
        So many at random beside the extremes.
    """

    def all_names(d: Directory) -> Names:
        return d.now

    def synced_names(d: Directory) -> Names:
        return d.durable

    def all_bytes(f: File) -> bytes:
        return bytes(f.now)

    def synced_bytes(f: File) -> bytes:
        return f.durable

    def half(length: int) -> int:
        return length // 2

    def sectors(length: int) -> int:
        return length // 2 // _SECTOR * _SECTOR

    extremes: list[tuple[str, Names_of, Bytes_of]] = [
        ("all", all_names, all_bytes),
        ("synced", synced_names, synced_bytes),
        ("names before bytes", all_names, synced_bytes),
        ("bytes before names", synced_names, all_bytes),
        ("length before bytes", all_names, _zeroed),
        ("later before earlier", all_names, _without_first),
        ("torn", all_names, _torn(disk, half, zeros=False)),
        ("torn at a sector", all_names, _torn(disk, sectors, zeros=True)),
    ]
    for kind, names, content in extremes:
        yield kind, partial(tree, disk, names, content)
    for number in range(drawn):
        yield f"drawn {number}", partial(tree, disk, *_drawn(draw))


def write_tree(content: Tree, root: Path) -> None:
    """Put a disk's files below `root`."""
    root.mkdir(parents=True)
    for place, data in content.items():
        if data is None:
            (root / place).mkdir(exist_ok=True)
        else:
            (root / place).write_bytes(data)


def read_tree(root: Path) -> Tree:
    """What is below `root`."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }
