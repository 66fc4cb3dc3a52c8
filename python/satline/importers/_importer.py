"""What an importer is: it recognises a source, and gives its readings to a `Sink`."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from signal import Signals
from typing import IO, Any

from satline.importers._sink import Sink
from satline.outside import bounded


def _no_progress(part: float) -> None:
    del part


@dataclass(frozen=True)
class Options:
    """What the user said about the source.

    zone
        Time zone of clock times that do not say theirs; ``None``: the source's own, else UTC.
    start, end
        Only readings from `start` on and before `end`; aware.
    mapping
        Mapping file, for sources whose columns have no fixed meaning.
    host
        Only this host, where a source holds several.
    progress
        Called with the part done, 0 … 1, on long work.
    """

    zone: tzinfo | None = None
    start: datetime | None = None
    end: datetime | None = None
    mapping: Path | None = None
    host: str | None = None
    progress: Callable[[float], None] = _no_progress


def _unknown_beginning(source: str) -> float:
    """Sources of unknown beginning stay in the order given."""
    del source
    return 0.0


@dataclass(frozen=True)
class Importer:
    """One kind of source: one file, one line in the table of `satline.importers`.

    name, title
        `sysstat`, "sysstat binary files (sa)".
    recognise
        How surely a source is of this kind, 0 … 1, by looking at no more than its beginning. The source may
        be a file, a directory or a URL; a source that is not there is 0. It never raises.
    read
        Reads a source into the sink.

        Raises `satline.errors.InputError` naming the file, the place and the remedy when nothing can be had
        of it. A damaged tail is no error: what lies before it is imported, and `Sink.damage` tells.
    examples
        Commands for the help text.
    mapping
        It reads a mapping file: what its columns or metrics mean is not fixed.
    begins
        Time of a source's first reading, s since 1970 UTC, found quickly: several sources of one kind are
        read in this order. It never raises.
    """

    name: str
    title: str
    recognise: Callable[[str], float]
    read: Callable[[str, Options, Sink], None]
    examples: tuple[str, ...] = ()
    begins: Callable[[str], float] = _unknown_beginning
    mapping: bool = False
    tool: str = ""


def ended(tool: str, code: int, words: str = "") -> str:
    """How a collector's tool ended that did not end well, with its own last words."""
    if code < 0:
        try:
            name = f" ({Signals(-code).name})"
        except ValueError:
            name = ""
        how = f"{tool} crashed: it was ended by signal {-code}{name}"
    else:
        how = f"{tool} ended with exit code {code}"
    words = " ".join(words.split())
    return f"{how}: {words}" if words else how


def compressed(path: Path) -> Callable[..., Any]:
    """`open`, or that of gzip, bzip2, xz, by the file's first bytes; what it unpacks to is limited."""
    import bz2
    import gzip
    import lzma

    with path.open("rb") as file:
        head = file.read(6)
    kinds: Mapping[bytes, Callable[..., Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ\x00": lzma.open,
    }
    opener = next((opener for magic, opener in kinds.items() if head.startswith(magic)), None)
    if opener is None:
        return open

    def bounded_open(path: Path, mode: str = "rb", **options: Any) -> IO[Any]:
        packed = bounded(opener(path, "rb"), path.stat().st_size)
        return io.TextIOWrapper(packed, **options) if "t" in mode else packed

    return bounded_open
