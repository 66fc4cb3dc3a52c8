"""The boundary for what comes from outside: every text, archive and tool is read through here, within limits.

What it raises is what the reader of that format raises for any other broken text, and nothing else: no
RecursionError, no ValueError of a long number, no endless wait for a tool, no full memory of what unpacks to
more than it should. `satline.outside.tools` runs collectors' own tools.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from satline.outside._tables import BrokenTableError, largest_bytes, parquet_columns, read_csv, read_parquet
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

# Nothing of Satline's nests deeper than 8.
MAX_DEPTH = 64
# recording.toml holds the study, the workload and the machine; 8 MiB take tomllib 3 s.
MAX_TOML_BYTES = 8 << 20
MAX_JSON_BYTES = 1 << 30
# It begins where a part does, and gives nothing back: its time is that of one pass.
_LONG_KEY = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){64}")
# What a scan for keys steps over: strings of every kind, and comments.
_TOKENS = re.compile(
    r"\"\"\"(?:\\.|[^\\])*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*|" + _LONG_KEY.pattern,
    re.DOTALL,
)


class TextTooLargeError(OSError):
    """A file is larger than any text of its kind may be."""


def read_text(path: Path, *, max_bytes: int = MAX_TOML_BYTES) -> str:
    """The text of a file in UTF-8, `max_bytes` long at most.

    Raises
    ------
    OSError
        It cannot be read; TextTooLargeError: it is longer.
    UnicodeDecodeError
        It is not UTF-8.
    """
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise TextTooLargeError(27, f"larger than {max_bytes:,} bytes", str(path))
    return data.decode("utf-8")


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is no TOML, or too long, nested deeper than `MAX_DEPTH`, or has a number that is too long.
    """
    if len(text) > MAX_TOML_BYTES:
        raise tomllib.TOMLDecodeError(f"longer than {MAX_TOML_BYTES:,} characters")
    # tomllib takes time with the square of a key's parts.
    if _LONG_KEY.search(text) and any(not m[0].startswith(("'", '"', "#")) for m in _TOKENS.finditer(text)):
        raise tomllib.TOMLDecodeError(f"a key of more than {MAX_DEPTH} parts")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"nested deeper than {MAX_DEPTH}") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        # A number of more digits than Python reads, or a date that is none.
        raise tomllib.TOMLDecodeError(_short(error)) from None
    except (OverflowError, MemoryError) as error:
        raise tomllib.TOMLDecodeError(f"cannot be read: {type(error).__name__}") from None
    if too_deep(values):
        raise tomllib.TOMLDecodeError(f"nested deeper than {MAX_DEPTH}")
    return values


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says.

    Raises
    ------
    json.JSONDecodeError
        It is no JSON or no UTF-8, or too long, nested deeper than `MAX_DEPTH`, or has a number that is too
        long.
    """
    if len(text) > MAX_JSON_BYTES:
        raise json.JSONDecodeError(f"longer than {MAX_JSON_BYTES:,} bytes", "", 0)
    try:
        values = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError(f"nested deeper than {MAX_DEPTH}", "", 0) from None
    except UnicodeDecodeError as error:
        raise json.JSONDecodeError(f"not UTF-8: {error.reason}", "", error.start) from None
    except (ValueError, OverflowError, MemoryError) as error:
        raise json.JSONDecodeError(_short(error), "", 0) from None
    if too_deep(values):
        raise json.JSONDecodeError(f"nested deeper than {MAX_DEPTH}", "", 0)
    return values


def too_deep(values: Any) -> bool:
    """Whether tables and lists nest deeper than `MAX_DEPTH`; without recursion."""
    level = [values] if isinstance(values, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _short(error: BaseException) -> str:
    return str(error).partition(";")[0][:200] or type(error).__name__
