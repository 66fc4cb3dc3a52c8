"""Recordings: open, query, check, compact, write. docs/reference/recording.md describes the format."""

from satline.recording._check import CheckReport, check
from satline.recording._compact import CompactReport, compact
from satline.recording._files import FORMAT_VERSION, is_being_recorded, locked
from satline.recording._frames import Damage
from satline.recording._info import Contents, contents
from satline.recording._open import Recording
from satline.recording._writer import DiskFullError, RecordingWriter, write_parquet_table

__all__ = [
    "FORMAT_VERSION",
    "CheckReport",
    "CompactReport",
    "Contents",
    "Damage",
    "DiskFullError",
    "Recording",
    "RecordingWriter",
    "check",
    "compact",
    "contents",
    "is_being_recorded",
    "locked",
    "write_parquet_table",
]
