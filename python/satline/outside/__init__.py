"""The boundary for what comes from outside: every text, archive and tool is read through here, within limits.

What it raises is what the reader of that format raises for any other broken text, and nothing else: no
RecursionError, no ValueError of a long number, no endless wait for a tool, no full memory of what unpacks to
more than it should. `satline.outside.tools` runs collectors' own tools.
"""

from satline.outside._tables import BrokenTableError, largest_bytes, parquet_columns, read_csv, read_parquet
from satline.outside._texts import (
    MAX_DEPTH,
    MAX_JSON_BYTES,
    MAX_TOML_BYTES,
    TextTooLargeError,
    parse_json,
    parse_toml,
    read_text,
)
from satline.outside._unpack import BombError, bounded, unpack_tar

__all__ = [
    "MAX_DEPTH",
    "MAX_JSON_BYTES",
    "MAX_TOML_BYTES",
    "BombError",
    "BrokenTableError",
    "TextTooLargeError",
    "bounded",
    "largest_bytes",
    "parquet_columns",
    "parse_json",
    "parse_toml",
    "read_csv",
    "read_parquet",
    "read_text",
    "unpack_tar",
]
