"""Texts of `sar` imported, and what came of them."""

from __future__ import annotations

from collections.abc import Callable

from satline.recording import Recording

Import = Callable[..., Recording]
LINUX = "Linux 6.1.0 (drum) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n"
AIX = "AIX reel 2 7 00F6A1B24C00    11/21/26\n\nSystem configuration: lcpu=8 {}\n\n"


def differences(recording: Recording, table: str, column: str, where: str = "TRUE") -> list[float | None]:
    """Differences of a counter within each run, in order of time; a run's first reading has none."""
    query = f"""
        SELECT c - lag(c) OVER w, row_number() OVER w FROM
        (SELECT {column} AS c, run, time_ns AS t FROM {table} WHERE {where})
        WINDOW w AS (PARTITION BY run ORDER BY t) ORDER BY run, t
    """
    return [d for d, number in recording.connect().execute(query).fetchall() if number > 1]
