"""Logs of atop imported, and what came of them."""

from __future__ import annotations

import struct
from pathlib import Path

from imports import read_into

from satline.importers import atop
from satline.importers._atop_reader import MAGIC
from satline.importers._importer import Options
from satline.recording import Recording


def imported(source: Path, target: Path, options: Options | None = None) -> Recording:
    return read_into(atop.read, source, target, options)


def raw(path: Path) -> Path:
    """The header of a raw log and the time of its first record."""
    header = struct.pack("<IHHHHHH", MAGIC, 0x8208, 0, 0, 480, 96, 100).ljust(480, b"\0")
    path.write_bytes(header + struct.pack("<q", 1_700_000_000))
    return path
