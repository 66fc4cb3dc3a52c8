"""Why nothing could be read from a PCP archive: what is in it, and what was looked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from datetime import UTC, datetime

from satline.errors import InputError
from satline.importers import _pcp_map as pcp_map
from satline.importers._pcp_reader import Archive

_SOME = 4
_LOOKED_FOR = (
    "kernel.all.cpu.*, kernel.percpu.cpu.*, kernel.all.load, mem.util.*, disk.dev.*, network.interface.*,"
    " proc.psinfo.utime with proc.id.uid_nm, cgroup.*"
)
_LOG_THEM = f"Satline reads {_LOOKED_FOR} and more (docs/guides/importing-pcp-and-atop.md): log some of them"


def nothing_in(source: str, archives: Sequence[Archive], logged: Set[str], *, in_range: bool) -> InputError:
    """The error for archives that gave no reading with a value.

    Parameters
    ----------
    logged
        Metrics that have values in them, of those that Satline reads.
    in_range
        A range of time was asked for: it may be what left nothing.
    """
    damage = next((f"; {text}" for archive in archives for text in archive.damage), "")
    once = {*pcp_map.FACTS, *pcp_map.CONSTANT}
    readable = {*pcp_map.plain_metrics(), *pcp_map.hostile_metrics()}
    described = {name for archive in archives for name in archive.metrics}
    known = sorted(described & readable - once)
    valued = [name for name in known if name in logged]
    if valued and in_range:
        begin = datetime.fromtimestamp(min(a.start_ns for a in archives) / 1e9, UTC)
        return InputError(
            f"{source}: no readings in the range of time{damage}", hint=f"it begins at {begin:%FT%TZ}"
        )
    if valued:
        words = f"of what Satline reads it has {_some(valued)} alone, which tells nothing without others"
        return InputError(f"{source}: {words}{damage}", hint=_LOG_THEM)
    if known:
        words = f"it describes {_some(known)}, and no record holds a value of them"
        return InputError(
            f"{source}: {words}{damage}", hint="was the volume (.0) written, and is it whole? try pmlogcheck"
        )
    if not described:
        return InputError(f"{source}: it describes no metric{damage}", hint="is the .meta file whole?")
    facts = sorted(described & once)
    besides = f" besides facts of the host ({_some(facts)})" if facts else ""
    return InputError(
        f"{source}: no metric that Satline reads is in it{besides}: {_kinds(described - once)}{damage}",
        hint=_LOG_THEM,
    )


def _kinds(names: set[str]) -> str:
    """`sample.* (12 metrics), pmcd.* (3)`."""
    counts = Counter(name.partition(".")[0] for name in names).most_common()
    parts = [f"{kind}.* ({count})" for kind, count in counts[:_SOME]]
    more = f" and {len(counts) - _SOME} more kinds" if len(counts) > _SOME else ""
    return f"it holds {', '.join(parts)}{more}" if parts else "it holds nothing else"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    return ", ".join(names[:_SOME]) + more
