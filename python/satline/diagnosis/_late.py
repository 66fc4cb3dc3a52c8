"""Why a run is invalid: what the emulator says of itself, and who took its processor, if that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satline.reduction import Source

# What the emulator itself bears, `satline-terminal run --help`: lateness and part of one processor.
MOST_LATE_US = 10_000
MOST_BUSY = 0.8
# A part of one processor, and one of them all, that explains it.
STEAL_PART = 0.02
OTHERS_PART = 0.10

_BOUNDS = """SELECT min(monotonic_ns) FILTER (event = 'window-start'),
    max(monotonic_ns) FILTER (event = 'window-end') FROM event"""
_INSIDE = "monotonic_ns BETWEEN ? - 1000000000 AND ? + 1000000000"
_STEAL = f"""SELECT processor, (max(steal_us) - min(steal_us)) * 1e3 / (max(monotonic_ns) - min(monotonic_ns))
    AS part FROM processor WHERE {_INSIDE} GROUP BY 1 HAVING max(monotonic_ns) > min(monotonic_ns)
    ORDER BY part DESC NULLS LAST LIMIT 1"""
_OTHERS = f"""SELECT (max(cpu_us) - min(cpu_us)) * 1e3 / (max(monotonic_ns) - min(monotonic_ns))
    FROM "user" WHERE "user" = '_host' AND {_INSIDE} HAVING max(monotonic_ns) > min(monotonic_ns)"""


def invalid_run(recording: Source) -> str | None:
    """Why the run is invalid, as a clause: a late emulator did not bring the load that was intended [AW79].

    Its lateness (99th percentile, ms), its own share of a processor or the bound on its rate; after a colon
    what the hypervisor took of the processor from which it took most, or else what others took of them all,
    in the windows. ``None``: it is valid, or had no emulator.
    """
    terminal = recording.sources.get("terminal", {})
    if terminal.get("valid") is not False:
        return None
    return _said(terminal) + "".join(f": {cause}" for cause in _taken(recording)[:1])


def _said(terminal: Mapping[str, Any]) -> str:
    late = terminal.get("lateness", {}).get("p99_us")
    cost = terminal.get("cost", {})
    busiest = cost.get("window_busiest_share") or cost.get("window_processor_share")
    found = []
    if late is not None and late > MOST_LATE_US:
        found.append(f"the emulator was late (1 line in 100 by {late / 1000:.1f} ms or more)")
    if busiest is not None and busiest > MOST_BUSY:
        found.append(f"the emulator, or an ssh of its lines, used {busiest:.0%} of a processor")
    if cost.get("lines_held"):
        found.append("the emulator held lines back")
    return " and ".join(found) or "the emulator was late"


def _taken(recording: Source) -> list[str]:
    connection = recording.connect()
    try:
        bounds = connection.execute(_BOUNDS).fetchone()
        if bounds is None or None in bounds:
            return []
        processor, steal = connection.execute(_STEAL, bounds).fetchone() or (None, None)
        (others,) = connection.execute(_OTHERS, bounds).fetchone() or (None,)
        (count,) = connection.execute("SELECT count(DISTINCT processor) FROM processor").fetchone() or (0,)
    finally:
        connection.close()
    found = []
    if steal is not None and steal > STEAL_PART:
        found.append(f"the hypervisor took {steal:.0%} of processor {processor}")
    if others is not None and count and others / count > OTHERS_PART:
        found.append(f"others on this host took {others / count:.0%} of the processors")
    return found
