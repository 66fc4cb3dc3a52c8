"""What the reduction needs of a recording, and the facts in its description that steer a reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb


class Source(Protocol):
    """A recording as far as a reduction is concerned; `satline.recording.Recording` is one."""

    @property
    def description(self) -> Mapping[str, Any]:
        """recording.toml."""

    @property
    def sources(self) -> Mapping[str, Mapping[str, Any]]:
        """sources/*.toml by writer."""

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection with one view per table of the catalogue."""


def reading(source: Source) -> duckdb.DuckDBPyConnection:
    """A connection in which nothing but temporary tables and views is made.

    Those of a small recording share one database, which takes longer to make than most queries: see
    `satline.recording.Recording.reading`. Other sources have `connect` alone. Nobody closes it: within
    `one_reading` it is everybody's.
    """
    shared = SHARED.get()
    if shared is not None and shared[0] is source:
        settle(shared[1])
        return shared[1]
    connect: Callable[[], duckdb.DuckDBPyConnection] = getattr(source, "reading", source.connect)
    return connect()


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """End a result of which somebody took the first row only: DuckDB registers nothing beside it."""
    connection.execute("SELECT 1").fetchall()


SHARED: ContextVar[tuple[Source, duckdb.DuckDBPyConnection] | None] = ContextVar("shared", default=None)
"""The recording that all parts of a command read in one connection: see `one_reading`."""


@dataclass(frozen=True)
class Settings:
    """Facts from the description.

    processors
        Processors that the system under test may use; ``None``: all.
    host_processors
        How many processors the host has, as stated; ``None``: not stated.
    quota
        Stated processor quota, in processors; ``None``: none stated.
    cgroup
        Control group that is the whole load; ``None``: none.
    page_bytes
        Size of a page of main storage, in bytes; 4096 where the description does not say.
    interval_s
        Sampling interval as stated; ``None``: not stated.
    threads
        The source records busy threads: that there is none then means that no thread was busy.
    load_axis
        What the recording states to be its load; ``None``: nothing.
    """

    processors: tuple[int, ...] | None
    host_processors: int | None
    quota: float | None
    cgroup: str | None
    page_bytes: int
    interval_s: float | None
    threads: bool
    load_axis: str | None = None

    @classmethod
    def of(cls, source: Source) -> Settings:
        """Read the facts of `source`."""
        system = source.description.get("system_under_test", {})
        limits = system.get("limits", {})
        monitor = source.sources.get("monitor", {})
        host = source.description.get("host", {})
        listed = system.get("processors")
        interval = monitor.get("sampling", {}).get("interval_ms")
        quota = limits.get("cpu_quota_processors")
        not_set = system.get("not_set", {})
        if "cpu_quota_processors" in not_set:
            quota = None
        if "processors" in not_set:
            listed = None
        return cls(
            processors=tuple(int(p) for p in listed) if isinstance(listed, list) and listed else None,
            host_processors=int(host["processors"]) if host.get("processors") else None,
            quota=float(quota) if quota else None,
            cgroup=str(system["cgroup"]) if system.get("cgroup") else None,
            page_bytes=int(host.get("page_bytes") or 4096),
            interval_s=float(interval) / 1000 if interval else None,
            threads=bool(monitor)
            # "user: tasks that end between samples" is no column of table task, nor is user.tasks_runnable.
            and not any(str(m.get("signal")).partition(".")[0] == "task" for m in monitor.get("missing", ())),
            load_axis=str(system["load_axis"]) if system.get("load_axis") else None,
        )
