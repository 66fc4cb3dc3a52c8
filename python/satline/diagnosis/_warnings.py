"""What weakens a diagnosis, and the conditions under which it holds."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from satline.diagnosis._lateness import Lateness
from satline.diagnosis.rules import Context
from satline.reduction import Reduction, Source, reading

_FAILED = """
    SELECT count(*), arg_min("text", monotonic_ns) FROM event WHERE event = 'log-on-failed'"""
_MOST_CHARACTERS = 120
LOG_ON_ADVICE = (
    "See why they could not log on, mend it or give them longer (log_on_seconds in the study's [load]), "
    "and run it again."
)


def warnings(
    recording: Source, context: Context, late: Lateness | None, absent: str | None
) -> tuple[str, ...]:
    """What weakens the answer; `late`: how late the emulator was; `absent`: who could not log on."""
    reduction = context.reduction
    found: list[str] = []
    for damage in getattr(recording, "damage", ()) or ():
        found.append(f"left out: {damage}")
    monitor = recording.sources.get("monitor", {})
    sampling = monitor.get("sampling", {})
    lost, samples = int(sampling.get("samples_lost") or 0), int(sampling.get("samples") or 0)
    if lost:
        found.append(f"{lost} of {lost + samples} samples were lost")
    behind, interval = (sampling.get("lateness_us") or {}).get("p99"), sampling.get("interval_ms")
    if behind and interval and behind > 100 * interval:
        found.append(
            f"samples were late: 99th percentile {behind / 1000:.0f} ms of an interval of {interval} ms"
        )
    if late is not None and late.words:
        found.append(late.words)
    if absent is not None:
        found.append(absent)
    for writer, source in recording.sources.items():
        if source.get("end_reason") in {"failed", "disk-full"}:
            found.append(
                f"{writer} ended early ({source['end_reason']}): {source.get('error', '')}".rstrip(": ")
            )
    ended = recording.description.get("recording", {}).get("end_reason")
    if ended and ended != "complete":
        found.append(f"the recording ended early: {ended}")
    for limit, why in recording.description.get("system_under_test", {}).get("not_set", {}).items():
        found.append(f"limit {limit} was stated but not in force: {why}")
    failed, done = (_total(reduction, f"transactions_{what}") for what in ("failed", "completed"))
    if failed and failed > 0.01 * (failed + done):
        found.append(f"{failed:.0f} of {failed + done:.0f} transactions failed (time-out or dead session)")
    outside = _outside(context)
    if outside:
        found.append(outside)
    drift = _drift(reduction)
    if drift:
        found.append(drift)
    return tuple(found)


def failed_part(reduction: Reduction) -> float:
    """Part of the transactions that failed; 0 without transactions."""
    failed, done = (_total(reduction, f"transactions_{what}") for what in ("failed", "completed"))
    return failed / (failed + done) if failed > 0 else 0.0


def _total(reduction: Reduction, which: str) -> float:
    name = {"transactions_failed": "failure_rate", "transactions_completed": "transaction_rate"}[which]
    inside = reduction.number >= 0
    return float(np.nansum(reduction.observations[name][inside] * reduction.seconds[inside]))


def _outside(context: Context) -> str | None:
    """Did work outside the load use up its processors?"""
    total, load, capacity = (context.high(n) for n in ("total_cpu", "load_cpu", "capacity_processors"))
    if total is None or load is None or capacity is None or not capacity.value > 0:
        return None
    if context.reduction.settings.quota is not None:
        return None
    part = (total.low - load.high) / capacity.value
    if part > 0.2:
        return (
            f"work outside the load took at least {part:.0%} of its processors at"
            f" {context.where(context.top)}: the host was not quiet"
        )
    return None


def _drift(reduction: Reduction) -> str | None:
    """Did the hypervisor take processors away in some part of the recording?"""
    curve = reduction.curves.get("stolen")
    capacity = reduction.curves.get("capacity_processors")
    if curve is None or capacity is None:
        return None
    parts = [
        (s.mean / c.mean)
        for s, c in zip(curve.points, capacity.points, strict=True)
        if s.mean is not None and c.mean
    ]
    if parts and max(parts) > 0.1:
        return (
            f"the hypervisor took up to {max(parts):.0%} of the processors: conditions were not the "
            "same at every load"
        )
    return None


def _let_go(pruned: tuple[int, int] | None) -> str:
    """What retention let go, where anything was."""
    if pruned is None:
        return ""
    try:
        return f"all before {datetime.fromtimestamp(pruned[1] / 1e9, UTC):%Y-%m-%d %H:%M} UTC, by retention"
    except (OverflowError, ValueError, OSError):
        return "the oldest days, by retention"


def conditions(recording: Source, reduction: Reduction) -> dict[str, str]:
    """The facts under which the answer is given, in words."""
    host = recording.description.get("host", {})
    system = recording.description.get("system_under_test", {})
    loaded = int((reduction.number >= 0).sum())
    facts = {
        "host": " ".join(str(host[k]) for k in ("name", "os", "kernel", "machine") if host.get(k)),
        "processors": ", ".join(map(str, system.get("processors", ()))) or str(host.get("processors", "")),
        "limits": ", ".join(f"{k} = {v}" for k, v in system.get("limits", {}).items()),
        "load axis": reduction.load_axis if loaded else "",
        "only": reduction.filters,
        "observations": f"{loaded or len(reduction.number)} of {reduction.observation_s:.3g} s"
        + (f" in {len(reduction.classes)} load classes" if loaded else ", none with a load"),
        "methods": ", ".join(
            f"{k}: {v}" for k, v in recording.sources.get("monitor", {}).get("methods", {}).items()
        ),
        "users": str(recording.sources.get("monitor", {}).get("users", {}).get("definition", "")),
        "study": str(recording.description.get("study", {}).get("title", "")),
        "let go": _let_go(getattr(recording, "pruned", None)),
    }
    return {k: v for k, v in facts.items() if v}


def absent_users(recording: Source) -> str | None:
    """How many log-ons failed for good, and why the first, as a clause; ``None``: none did.

    The emulator does not try such a user again, so that fewer worked than the load says, and what was seen
    at it is of a lighter one.
    """
    count, first = reading(recording).execute(_FAILED).fetchone() or (0, None)
    if not count:
        return None
    why = str(first or "no reason is recorded")
    why = why if len(why) <= _MOST_CHARACTERS else f"{why[:_MOST_CHARACTERS]}…"
    which = "1 log-on" if count == 1 else f"{count} log-ons"
    return f"{which} failed for good, so that fewer users worked than the load says ({why})"
