"""One recording → verdict, ranked findings, what could not be seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from satline.diagnosis._results import Diagnosis, Finding, Saturation, Unseen
from satline.diagnosis.rules import RULES, Context
from satline.diagnosis.saturation import saturation as judge_saturation
from satline.reduction import Curves, Reduction, Source, reduce

MANY_FAILED = 0.2


def diagnose(recording: Source, curves: Curves | None = None, *, load_axis: str | None = None) -> Diagnosis:
    """Diagnose a recording.

    Parameters
    ----------
    curves
        What `satline.reduction.reduce` gave for this recording, to save reducing it again.
    load_axis
        As for `satline.reduction.reduce`; not used when `curves` are given.

    Raises
    ------
    InputError
        The recording holds no two samples, or has no such load axis.
    """
    reduction = (
        curves
        if isinstance(curves, Reduction)
        else reduce(
            recording,
            load_axis or (curves.load_axis if curves else None),
            curves.observation_s if curves else None,
        )
    )
    verdict = judge_saturation(reduction)
    invalid = _invalid(recording)
    if invalid is not None:
        verdict = _withdrawn(
            verdict,
            f"the run is invalid: {invalid}",
            "Run it again with fewer users, or leave the emulator a processor of its own "
            "(limits.processors in the study).",
        )
    failures = _failures(reduction)
    if failures > MANY_FAILED and verdict.outcome == "not-saturated":
        verdict = _withdrawn(
            verdict,
            f"{failures:.0%} of the transactions failed: what is left of the load says little",
            "See why they failed (time-outs, dead sessions), mend it, and run it again.",
        )
    limits = recording.description.get("system_under_test", {}).get("limits", {})
    not_set = recording.description.get("system_under_test", {}).get("not_set", {})
    context = Context(
        reduction,
        verdict,
        {k: float(v) for k, v in limits.items() if isinstance(v, (int, float)) and k not in not_set},
    )
    judged = [judge(context) for _, judge in RULES]
    # Python's sort is stable: rules of equal strength keep the table's order.
    holding = tuple(sorted((f for f in judged if f.state == "holds"), key=lambda f: -f.strength))
    others = tuple(f for f in judged if f.state != "holds")
    return Diagnosis(
        recording=str(getattr(recording, "path", "")),
        headline=headline(verdict, holding),
        saturation=verdict,
        findings=holding,
        others=others,
        unseen=_unseen(recording.sources, reduction),
        warnings=_warnings(recording, context),
        conditions=_conditions(recording, reduction),
    )


def headline(verdict: Saturation, holding: tuple[Finding, ...]) -> str:
    """The answer in one sentence."""
    named = [f for f in holding if f.component != "none"]
    if verdict.outcome == "saturated" and verdict.at is not None:
        at = verdict.at
        start = f"Saturates at {at.value:.1f} users [{at.low:.1f}, {at.high:.1f}]"
        if not named:
            return f"{start}; what holds it back cannot be told from this recording"
        first = f"{start}: {named[0].title} ({named[0].summary})"
        rivals = [f.title for f in named[1:] if f.strength >= 0.75 * named[0].strength]
        return first + (f"; also {' and '.join(rivals)}" if rivals else "")
    if verdict.outcome == "not-saturated":
        return f"Not saturated in the range seen, up to {verdict.range_high:g} users"
    if verdict.outcome == "nongranular":
        return "One or a few batch users are the load: saturation by the number of users has no meaning here"
    reason = verdict.reasons[0] if verdict.reasons else "too few data"
    return f"Whether it saturates cannot be told: {reason}"


def _invalid(recording: Source) -> str | None:
    """Why the run is invalid [AW79]: a late emulator did not bring the load that was intended."""
    terminal = recording.sources.get("terminal", {})
    if terminal.get("valid") is not False:
        return None
    facts = []
    p99 = (terminal.get("lateness") or {}).get("p99_us")
    if p99 is not None:
        facts.append(f"99th percentile {p99 / 1000:.1f} ms")
    share = (terminal.get("cost") or {}).get("window_processor_share")
    if share is not None:
        facts.append(f"{share:.0%} of a processor used")
    return "the emulator was late or overloaded" + (f" ({', '.join(facts)})" if facts else "")


def _withdrawn(verdict: Saturation, why: str, advice: str) -> Saturation:
    """No answer in place of this verdict, whatever the curves look like."""
    return Saturation(
        "cannot-tell",
        verdict.load_axis,
        verdict.range_low,
        verdict.range_high,
        verdict.throughput_variable,
        reasons=(why,),
        advice=(advice,),
    )


def _unseen(sources: Mapping[str, Mapping[str, Any]], reduction: Reduction) -> tuple[Unseen, ...]:
    """Signals that sources say they lack, and derived variables that therefore or otherwise have no curve."""

    def losers(variables: set[str]) -> tuple[str, ...]:
        return tuple(rule.name for rule, _ in RULES if variables & set(rule.needs))

    from satline.reduction._variables import variables

    found: list[Unseen] = []
    named: set[str] = set()
    for source in sources.values():
        for item in source.get("missing", ()):
            signal = str(item.get("signal", ""))
            bare = signal.rpartition(".")[2]
            variants = {p + bare for p in ("", "d_", "user_", "d_user_", "cgroup_", "d_cgroup_", "device_")}
            direct = {d.name for d in variables().derived if d.names & variants} & set(reduction.missing)
            hit = direct | {
                d.name for d in variables().derived if d.names & direct and d.name in reduction.missing
            }
            named |= hit
            found.append(
                Unseen(signal, str(item.get("reason", "")), str(item.get("would_need", "")), losers(hit))
            )
    for name, reason in reduction.missing.items():
        rules = losers({name})
        if rules and name not in named and not reason.startswith(("the load has no", "no thread was")):
            found.append(Unseen(name, reason, _would_need(name, reason), rules))
    return tuple(found)


def _would_need(name: str, reason: str) -> str:
    if "control group" in reason:
        return "a load that runs in a control group of its own, named in the description"
    if "transactions" in reason:
        return "emulated users, or a record of transactions"
    if name in {"user_page_wait", "share_page_wait", "user_io_wait", "share_io_wait"}:
        return "delay accounting (kernel.task_delayacct = 1), or task states of users"
    return "a source that records it"


def _warnings(recording: Source, context: Context) -> tuple[str, ...]:
    """What weakens the answer."""
    reduction = context.reduction
    found: list[str] = []
    for damage in getattr(recording, "damage", ()) or ():
        found.append(f"left out: {damage}")
    monitor = recording.sources.get("monitor", {})
    sampling = monitor.get("sampling", {})
    lost, samples = int(sampling.get("samples_lost") or 0), int(sampling.get("samples") or 0)
    if lost:
        found.append(f"{lost} of {lost + samples} samples were lost")
    late, interval = (sampling.get("lateness_us") or {}).get("p99"), sampling.get("interval_ms")
    if late and interval and late > 100 * interval:
        found.append(
            f"samples were late: 99th percentile {late / 1000:.0f} ms of an interval of {interval} ms"
        )
    invalid = _invalid(recording)
    if invalid is not None:
        found.append(f"{invalid}: the run is marked invalid")
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


def _failures(reduction: Reduction) -> float:
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


def _conditions(recording: Source, reduction: Reduction) -> dict[str, str]:
    """The facts under which the answer is given, in words."""
    host = recording.description.get("host", {})
    system = recording.description.get("system_under_test", {})
    facts = {
        "host": " ".join(str(host[k]) for k in ("name", "os", "kernel", "machine") if host.get(k)),
        "processors": ", ".join(map(str, system.get("processors", ()))) or str(host.get("processors", "")),
        "limits": ", ".join(f"{k} = {v}" for k, v in system.get("limits", {}).items()),
        "load axis": reduction.load_axis,
        "observations": f"{int((reduction.number >= 0).sum())} of {reduction.observation_s:g} s"
        f" in {len(reduction.classes)} load classes",
        "methods": ", ".join(
            f"{k}: {v}" for k, v in recording.sources.get("monitor", {}).get("methods", {}).items()
        ),
        "users": str(recording.sources.get("monitor", {}).get("users", {}).get("definition", "")),
        "study": str(recording.description.get("study", {}).get("title", "")),
    }
    return {k: v for k, v in facts.items() if v}
