"""Recordings: open, query, check, compact, write. docs/reference/recording.md describes the format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names
from satline.recording._columns import number_column, numbers_of, text_column
from satline.recording._files import (
    FORMAT_VERSION,
    is_being_recorded,
    layout,
    locked,
    next_run,
    sync_directory,
)
from satline.recording._frames import Damage, read_segment
from satline.recording._integrity import Wrong
from satline.recording._manifest import FILE as MANIFEST
from satline.recording._manifest import let_go, publish_all, take_over
from satline.recording._open import Recording, cause, quoted
from satline.recording._parquet import conform, day_name, split_days
from satline.recording._parquet import write as write_hidden
from satline.recording._reserve import DISK_FULL
from satline.recording._writer import DiskFullError, RecordingWriter, write_parquet_table

if TYPE_CHECKING:
    from satline.recording._check import CheckReport, check
    from satline.recording._compact import CompactReport, compact
    from satline.recording._info import Contents, contents
    from satline.recording._key import Key, make_key, read_key
    from satline.recording._prune import PruneReport, prune
    from satline.recording._pseudonymise import Pseudonymised, pseudonymise
    from satline.recording._sealed_names import FILE as NAMES
    from satline.recording._sealed_names import read_names, with_names
    from satline.recording._trust import Sealed, seal, sign, verify

__all__ = [
    "DISK_FULL",
    "FORMAT_VERSION",
    "MANIFEST",
    "NAMES",
    "CheckReport",
    "CompactReport",
    "Contents",
    "Damage",
    "DiskFullError",
    "Key",
    "PruneReport",
    "Pseudonymised",
    "Recording",
    "RecordingWriter",
    "Sealed",
    "Wrong",
    "cause",
    "check",
    "compact",
    "conform",
    "contents",
    "day_name",
    "is_being_recorded",
    "layout",
    "let_go",
    "locked",
    "make_key",
    "next_run",
    "number_column",
    "numbers_of",
    "prune",
    "pseudonymise",
    "publish_all",
    "quoted",
    "read_key",
    "read_names",
    "read_segment",
    "seal",
    "sign",
    "split_days",
    "sync_directory",
    "take_over",
    "text_column",
    "verify",
    "with_names",
    "write_hidden",
    "write_parquet_table",
]

# A writer neither checks nor compacts, prunes, seals or pseudonymises.
__getattr__ = lazy_names(
    __name__,
    {
        "_check": "CheckReport, check",
        "_compact": "CompactReport, compact",
        "_info": "Contents, contents",
        "_key": "Key, make_key, read_key",
        "_prune": "PruneReport, prune",
        "_pseudonymise": "Pseudonymised, pseudonymise",
        "_sealed_names": "FILE as NAMES, read_names, with_names",
        "_trust": "Sealed, seal, sign, verify",
    },
)
