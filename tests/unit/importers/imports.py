"""An importer's reader run into a recording, which is checked, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from satline.importers._importer import Options
from satline.importers._sink import Sink
from satline.recording import Recording, check


def read_into(
    read: Callable[[str, Options, Sink], None], source: Path, target: Path, options: Options | None = None
) -> Recording:
    sink = Sink(target)
    sink.start()
    read(str(source), options or Options(), sink)
    sink.finish()
    report = check(target)
    assert not report.problems
    assert not report.damage
    return Recording.open(target)


def rows(recording: Recording, sql: str) -> list[tuple[Any, ...]]:
    return recording.connect().sql(sql).fetchall()


def facts(recording: Recording) -> dict[str, Any]:
    return dict(recording.sources["import"])
