"""Recordings: open, query, check, compact, write. docs/reference/recording.md describes the format."""

from satline.recording._check import CheckReport, check
from satline.recording._compact import CompactReport, compact
from satline.recording._files import (
    FORMAT_VERSION,
    is_being_recorded,
    layout,
    locked,
    next_run,
    sync_directory,
)
from satline.recording._frames import Damage, read_segment
from satline.recording._info import Contents, contents
from satline.recording._integrity import Wrong
from satline.recording._key import Key, make_key, read_key
from satline.recording._manifest import FILE as MANIFEST
from satline.recording._manifest import let_go, publish_all, take_over
from satline.recording._open import Recording, cause, quoted
from satline.recording._parquet import conform, day_name, split_days
from satline.recording._parquet import write as write_hidden
from satline.recording._prune import PruneReport, prune
from satline.recording._pseudonymise import Pseudonymised, pseudonymise
from satline.recording._reserve import DISK_FULL
from satline.recording._sealed_names import FILE as NAMES
from satline.recording._sealed_names import read_names, with_names
from satline.recording._trust import Sealed, seal, sign, verify
from satline.recording._writer import DiskFullError, RecordingWriter, write_parquet_table

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
    "verify",
    "with_names",
    "write_hidden",
    "write_parquet_table",
]
