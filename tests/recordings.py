"""What tests of several folders do with a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from satline.recording import MANIFEST, Recording


def found(recording: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds, also of a recording under way."""
    if not (recording / "recording.toml").exists():
        return []
    with Recording.open(recording).connect() as connection:
        return connection.execute(query).fetchall()


def without_checksums(path: Path) -> None:
    """Make a recording one of before checksums."""
    (path / MANIFEST).unlink(missing_ok=True)
    for file in path.glob("segments/*.ledger"):
        file.unlink()
    for file in (path / "recording.toml", *path.glob("sources/*.toml")):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(x for x in lines if not x.startswith(("# recording=", "checksums ="))))
