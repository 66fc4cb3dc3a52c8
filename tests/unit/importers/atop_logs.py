"""Logs of atop imported, and what came of them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from satline.importers import atop
from satline.importers._atop_reader import MAGIC
from satline.importers._importer import Options
from satline.importers._sink import Sink
from satline.recording import Recording, check


def imported(source: Path, target: Path, options: Options | None = None) -> Recording:
    sink = Sink(target)
    sink.start()
    atop.read(str(source), options or Options(), sink)
    sink.finish()
    report = check(target)
    assert not report.problems
    assert not report.damage
    return Recording.open(target)


def rows(recording: Recording, sql: str) -> list[tuple[Any, ...]]:
    return recording.connect().sql(sql).fetchall()


def facts(recording: Recording) -> dict[str, Any]:
    return dict(recording.sources["import"])


def raw(path: Path) -> Path:
    """The header of a raw log and the time of its first record."""
    header = struct.pack("<IHHHHHH", MAGIC, 0x8208, 0, 0, 480, 96, 100).ljust(480, b"\0")
    path.write_bytes(header + struct.pack("<q", 1_700_000_000))
    return path
