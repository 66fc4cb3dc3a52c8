"""Users among the series of a Prometheus: containers and pods, users' slices, or groups of processes.

A user's counters are sums over series that come and go. Each series adds what it has grown since its first
sample, so that a user's counters never fall.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from satline.errors import InputError
from satline.importers._series import Series, accumulated, filled, merged, on_grid
from satline.importers._sink import Floats, Integers
from satline.recording.describe import read_toml

US = 1e6
Members = Mapping[str, Sequence[Series]]

# series → column of table user, factor, label and value that it must have
COUNTERS: Mapping[str, tuple[str, float, tuple[str, str] | None]] = {
    "container_cpu_usage_seconds_total": ("cpu_us", US, None),
    "container_cpu_system_seconds_total": ("cpu_system_us", US, None),
    "container_memory_failures_total": ("major_faults", 1, ("failure_type", "pgmajfault")),
    "container_fs_reads_bytes_total": ("read_bytes", 1, None),
    "container_fs_writes_bytes_total": ("write_bytes", 1, None),
    "namedprocess_namegroup_cpu_seconds_total": ("cpu_us", US, None),
    "namedprocess_namegroup_major_page_faults_total": ("major_faults", 1, None),
    "namedprocess_namegroup_minor_page_faults_total": ("minor_faults", 1, None),
    "namedprocess_namegroup_read_bytes_total": ("read_bytes", 1, None),
    "namedprocess_namegroup_write_bytes_total": ("write_bytes", 1, None),
}
LEVELS: Mapping[str, tuple[str, float, tuple[str, str] | None]] = {
    "container_memory_rss": ("resident_bytes", 1, None),
    "container_processes": ("processes", 1, None),
    "namedprocess_namegroup_num_procs": ("processes", 1, None),
    "namedprocess_namegroup_memory_bytes": ("resident_bytes", 1, ("memtype", "resident")),
}
NEEDED = frozenset([*COUNTERS, *LEVELS])
# Labels that say who scraped, not what was counted.
_SCRAPER = frozenset({"job", "instance", "service", "endpoint", "metrics_path", "cluster"}) | frozenset(
    {"replica", "prometheus", "prometheus_replica"}
)
_SLICE = re.compile(r"/user\.slice/(user-\d+)\.slice")


@dataclass(frozen=True)
class Grouping:
    """Which labels of which series name a user."""

    labels: tuple[str, ...]
    prefix: str
    note: str

    @classmethod
    def of(cls, series: Iterable[Series], mapping: Path | None) -> Grouping:
        """By the mapping file's `[users]` `labels`; without one by what the series' labels are."""
        if mapping is not None and (stated := cls._stated(mapping)) is not None:
            return stated
        containers = [s for s in series if s.name.startswith("container_cpu_usage")]
        if any(s.label("pod", "pod_name") for s in containers):
            return cls(("namespace", "pod"), "container_", "users are pods (namespace/pod)")
        if any(s.label("name") for s in containers):
            return cls(("name",), "container_", "users are containers, by name")
        return cls(("slice",), "container_", "users are the slices of logged-on users (user-UID)")

    @classmethod
    def _stated(cls, mapping: Path) -> Grouping | None:
        content = read_toml(mapping, hint="name a file that you may read with --mapping")
        if "users" not in content and "metric" in content:
            return None
        labels = content.get("users", {}).get("labels") if isinstance(content.get("users"), dict) else None
        if not isinstance(labels, list) or not labels or not all(isinstance(x, str) for x in labels):
            raise InputError(
                f"{mapping}: users.labels is not a list of labels",
                hint='write [users] and below it, for example, labels = ["namespace", "container"]',
            )
        prefix = "namedprocess_" if "groupname" in labels else "container_"
        return cls(tuple(labels), prefix, f"users are told apart by {', '.join(labels)}")

    def members(self, series: Iterable[Series]) -> dict[str, list[Series]]:
        """The series of each user."""
        own = [s for s in series if s.name.startswith(self.prefix)]
        totals = any(s.labels.get("cpu") == "total" for s in own)
        groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Series]] = {}
        for one in own:
            name = self._user(one)
            if not name or (totals and one.labels.get("cpu", "total") != "total"):
                continue
            rest = tuple(sorted((k, v) for k, v in one.labels.items() if k not in _SCRAPER))
            groups.setdefault((name, one.name, rest), []).append(one)
        found: dict[str, list[Series]] = {}
        for (name, _, _), parts in groups.items():
            found.setdefault(name, []).append(merged(parts))
        return dict(sorted(found.items()))

    def _user(self, one: Series) -> str:
        if self.labels == ("slice",):
            inside = _SLICE.fullmatch(one.label("id"))
            return inside[1] if inside else ""
        container = one.label("container", "container_name")
        # cAdvisor also counts each pod as a whole, and the container that only holds a pod's network.
        if one.label("pod", "pod_name") and (not container or container == "POD"):
            return ""
        parts = [one.label(x, f"{x}_name") for x in self.labels]
        # In a recording a name that begins with _ is no user's.
        return "/".join(parts).lstrip("_") if all(parts) else ""

    @staticmethod
    def name_of(members: Members) -> list[str]:
        """Users in the order of the columns."""
        return list(members)


def present(members: Members, grid: Integers, half: float) -> Floats:
    """How many users were there at each reading."""
    seen = [np.any([np.isfinite(on_grid(s, grid, half)) for s in of], axis=0) for of in members.values()]
    return np.asarray(np.sum(seen, axis=0), dtype=np.float64)


def columns(members: Members, grid: Integers, half: float) -> dict[str, Floats]:
    """Columns of table user, shape (readings, users); NaN where a user was not read."""
    made: dict[str, Floats] = {}
    for table, counter in ((COUNTERS, True), (LEVELS, False)):
        for name, (column, factor, must) in table.items():
            per_user = [[s for s in of if s.name == name and _fits(s, must)] for of in members.values()]
            if any(per_user):
                made[column] = factor * np.stack([_sum(of, grid, half, counter) for of in per_user], axis=1)
    return made


def _fits(one: Series, must: tuple[str, str] | None) -> bool:
    if must is None:
        return True
    # Of a pod's and its containers' failures, those of the container itself.
    return one.labels.get(must[0]) == must[1] and one.labels.get("scope", "container") == "container"


def _sum(parts: Sequence[Series], grid: Integers, half: float, counter: bool) -> Floats:
    if not parts:
        return np.full(len(grid), np.nan)
    values = [on_grid(accumulated(s) if counter else s, grid, half) for s in parts]
    there = np.any([np.isfinite(v) for v in values], axis=0)
    total = np.sum([filled(v) if counter else np.nan_to_num(v) for v in values], axis=0)
    return np.where(there, total, np.nan)
