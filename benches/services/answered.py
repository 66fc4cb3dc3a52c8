"""Clients of a service, and what they saw beside the rows that were recorded."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import clients

WITHIN_NS = 50_000_000


def rows_of(path: Path, port: int) -> list[tuple[Any, ...]]:
    """When a request had come, its reaction, response, time unread and outcome; by time."""
    from satline.recording import Recording

    connection = Recording.open(path).connect(tables=["transaction"])
    found = connection.execute(
        "SELECT monotonic_ns, reaction_us, response_us, unread_us, outcome, session, think_us, class,"
        " typed_ahead FROM transaction WHERE class = ? OR class LIKE ? ORDER BY monotonic_ns",
        [f"tcp/{port}", f"tcp/{port} %"],
    ).fetchall()
    connection.close()
    return found


def lost_of(path: Path) -> int:
    from satline.recording import Recording

    connection = Recording.open(path).connect(tables=["event"])
    found = connection.execute("SELECT sum(value) FROM event WHERE event = 'requests-lost'").fetchone()
    connection.close()
    return int((found or [0])[0] or 0)


def matched(
    asked: Sequence[clients.Asked], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[clients.Asked, tuple[Any, ...] | None]]:
    """Each request with the nearest row that no other has."""
    times, used = [row[0] for row in rows], [False] * len(rows)
    found = []
    for one in sorted(asked, key=lambda one: one.sent_ns):
        place = bisect.bisect_left(times, one.sent_ns - 1_000_000)
        best = None
        while place < len(rows) and times[place] - one.sent_ns <= WITHIN_NS:
            near = best is None or abs(times[place] - one.sent_ns) < abs(times[best] - one.sent_ns)
            if not used[place] and near:
                best = place
            place += 1
        if best is not None:
            used[best] = True
        found.append((one, None if best is None else rows[best]))
    return found


def differences(pairs: Sequence[tuple[clients.Asked, tuple[Any, ...] | None]]) -> dict[str, list[float]]:
    """The client's times less the recorded ones, ms."""
    found: dict[str, list[float]] = {"reaction": [], "response": []}
    for asked, row in pairs:
        if row is None or row[4] != "ok" or asked.first_ns is None or asked.last_ns is None:
            continue
        found["reaction"].append((asked.first_ns - asked.sent_ns) / 1e6 - row[1] / 1e3)
        found["response"].append((asked.last_ns - asked.sent_ns) / 1e6 - row[2] / 1e3)
    return found


def paths_of(kind: str, directory: Path) -> list[str]:
    if kind != "nginx":
        return ["/0/0/200", "/2/0/2000", "/5/5/20000", "/20/0/100", "/0/10/60000"]
    files = directory / "files"
    files.mkdir(parents=True)
    for size in (200, 20_000, 500_000):
        (files / str(size)).write_bytes(b"x" * size)
    directory.chmod(0o755)
    return [f"/{size}" for size in (200, 20_000, 500_000)]


def crowd(port: int, kind: str, **how: Any) -> list[clients.Asked]:
    """Clients in a process of their own."""
    with ProcessPoolExecutor(1, initializer=clients.in_real_time) as pool:
        return pool.submit(clients.run, port, kind=kind, **how).result()
