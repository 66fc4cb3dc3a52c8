"""A serialised server.

What: one single-threaded process, or the one processor that a function runs on, is full while others wait for
it.
Why: a thread can use one processor at most; what all users send through it queues there, whatever stands
idle.
Signs: the same thread is near one processor at every saturated load; the processors together are not full;
users' transaction time is mostly wait for another process. Or one processor, the master, is full while every
other has room.
Without a knee: a thread that never rests while requests wait in front of its process, or while other users
wait for its answers, where the kernel told that (`satline record --waits`).
False readings: a high utilisation of it alone proves nothing [Bitner]: users must wait for it. On one
processor a full server looks like full processors; only the users' wait for another process tells.
Remedy: make its requests cheaper, run several of it, move work off it.
References: [Bitner].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.diagnosis._held import listed
from satline.diagnosis._partial import Floats
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._kernel import told_of
from satline.diagnosis.rules._live import inside, mean_over
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import from_periods
from satline.reduction import BusyTask

RULE = Rule(
    name="serialised_server",
    title="serialised server",
    component="server",
    needs=("busiest_task", "share_other", "total_cpu_fraction"),
    remedies=(
        "See which requests it spends its time on, and make them cheaper or rarer.",
        "Run several of it, or give it more threads, if its work can be divided.",
        "Move work off it: let clients do what needs no serialisation.",
        "Give it a processor to itself (cpuset, or a raised cpu.weight), then a faster one.",
    ),
    false_readings=(
        "A busy thread alone proves nothing: a compute job is one too. Here users wait for another "
        "process most of their time.",
        "A thread that is full at the lightest load too may be a compute job or a poll; this one fills up "
        "with load.",
    ),
    references=("[Bitner]",),
    vm_remedies=(
        "Move work off it: the master processor should do no user work.",
        "A shorter dispatch slice for it.",
        "Faster engines.",
    ),
)
FULL, ROOM = 0.85, 0.7


@dataclass(frozen=True)
class _Master:
    """The one full processor; parts of its time, and of the others' at saturated loads.

    problem
        Of its time, what users spend in user time.
    rest
        The busiest of the other processors.
    light
        How busy it is at the lightest loads.
    """

    name: str
    busy: Measure
    problem: float
    rest: float
    light: float


def judge(context: Context) -> Finding:
    """Holds when one thread is full in every saturated class and users mostly wait for another process."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    short = from_periods(RULE, context, "thread ")
    if short is not None:
        return short
    other = context.share("user_other")
    if other is None:
        busiest = context.high("busiest_task")
        if context.watched and busiest is not None and busiest.high < FULL:
            return RULE.finding(
                "does-not-hold",
                "requests wait in front of no thread that never rests; the busiest one runs"
                f" {busiest.value:.0%} of the time",
                evidence=[context.evidence("busiest_task", f"at least {FULL:g} of a processor", False)],
            )
        return RULE.blind(context, "share_other")
    if context.share("user_cpu_wait") is None:
        return RULE.blind(context, "user_cpu_wait")
    if context.share("user_page_wait") is None or context.share("user_io_wait") is None:
        return RULE.blind(context, "user_page_wait", "user_io_wait")
    waits = other.value >= 0.4 and other.low > 0.2
    evidence = [context.evidence("share_other", "at least 0.4 of transaction time", waits, value=other)]
    if not context.reduction.tasks:
        master = _master(context) if waits else None
        if master is not None:
            return _of_master(context, master, other, evidence)
        if waits and not context.reduction.settings.threads:
            return RULE.finding(
                "cannot-judge",
                f"users wait for another process in {other.value:.0%} of their transaction time;"
                " no busy thread was recorded",
                evidence=evidence,
                missing=("busiest_task",),
            )
        return RULE.finding(
            "does-not-hold",
            f"users wait for another process in {other.value:.0%} of their transaction time;"
            " no one thread is full",
            evidence=evidence,
        )
    server, own = _server(context)
    total, capacity = context.high(context.busy), context.high("capacity_processors")
    cpu = Measure(own, 0.0)
    alone = capacity is not None and capacity.value < 1.5
    held = own + (server.run_delay if server else 0.0)
    full = server is not None and (own >= FULL or (held >= 0.9 and own >= 0.5))
    evidence.append(
        context.evidence("busiest_task", f"the same thread at least {FULL:g} of a processor", full, value=cpu)
    )
    if total is not None:
        evidence.append(context.evidence(context.busy, "below 0.9: processors stand idle", total.value < 0.9))
    if waits and not full:
        master = _master(context)
        if master is not None:
            return _of_master(context, master, other, evidence[:1])
    if server is None or not waits or not full:
        what = f"users wait for another process in {other.value:.0%} of their transaction time"
        what += "; no one thread is full" if not full else ""
        return RULE.finding("does-not-hold", what, evidence=evidence)
    light = _at_lightest(context, server)
    if light >= FULL:
        evidence.append(
            context.evidence(
                "busiest_task", "less busy at light load", False, light=True, value=Measure(light, 0.0)
            )
        )
        return RULE.finding(
            "cannot-judge",
            f"thread {server.name} of {server.user} is full at the lightest load too: that it is the one "
            "that users wait for cannot be told",
            evidence=evidence,
            missing=("a thread that fills up with load",),
        )
    crowded = total is not None and total.value >= 0.95
    clients, asking = _asking(context, server)
    if asking is not None:
        evidence.append(
            context.evidence(f"waits for answers of {server.name}", "told by the kernel", True, value=asking)
        )
    sure = asking is not None and asking.value >= 0.4 and asking.low > 0.2
    if (alone or crowded) and other.value < 0.6 and not sure:
        return RULE.finding(
            "cannot-judge",
            "one thread and the processors are both full, and users wait for either: they cannot be "
            "told apart",
            evidence=evidence,
            missing=("an idle processor",),
        )
    text = (
        f"thread {server.name} of {server.user} uses {own:.0%} of a processor, and users wait for "
        "another process in"
        f" {min(1.0, other.value):.0%} of their transaction time"
    )
    if asking is not None and clients:
        text += f"; {listed(list(clients))} wait for its answers in {min(1.0, asking.value):.0%} of it"
    return RULE.finding("holds", text, strength=other.value, evidence=evidence)


def _asking(context: Context, server: BusyTask) -> tuple[tuple[str, ...], Measure | None]:
    """Who waits for this program's answers, as the kernel told it, and for what part of their transaction
    time; ``None``: not told."""
    kernel, whole = told_of(context), context.high("users_in_transaction")
    if kernel is None or whole is None or not whole.value > 0:
        return (), None
    course, clients = kernel.asking(server.user, server.name)
    waiting = mean_over(context, course, inside(context, context.top)) if clients else None
    if waiting is None:
        return (), None
    return clients, Measure(waiting.value / whole.value, waiting.error / whole.value)


def _server(context: Context) -> tuple[BusyTask | None, float]:
    """The thread that is among the busiest of every saturated class, and its mean processor time there."""
    tops = [{t.tid: t for t in context.reduction.tasks if t.load_class == k} for k in context.top]
    tops = [t for t in tops if t]
    if not tops or len(tops) < len(context.top):
        return None, 0.0
    common = [tid for tid in tops[0] if all(tid in t for t in tops)]
    if not common:
        return None, 0.0
    best = max(common, key=lambda tid: sum(t[tid].cpu for t in tops))
    return tops[-1][best], sum(t[best].cpu for t in tops) / len(tops)


def _at_lightest(context: Context, server: BusyTask) -> float:
    """Processor time per second of this thread in the lightest class, in processors; 0 where it was not among
    the busiest."""
    if not context.bottom:
        return server.cpu
    first = context.bottom[0]
    return max(
        (t.cpu for t in context.reduction.tasks if (t.load_class, t.tid) == (first, server.tid)), default=0.0
    )


def _master(context: Context) -> _Master | None:
    """The processor that alone is full at saturation and was not at light load; ``None``: there is none."""
    if context.history is None:
        return None
    names = ("user_us", "nice_us", "system_us", "irq_us", "guest_us")
    courses = context.history.counters("processor", "processor", names)
    if len(courses) < 2 or context.reduction.settings.quota is not None:
        return None
    time_us = context.reduction.seconds * 1e6
    busy = {p: sum(np.nan_to_num(c[n]) for n in names) / time_us for p, c in courses.items()}
    high = {p: _mean(context, values, context.top) for p, values in busy.items()}
    first, second = sorted(high, key=lambda p: -high[p].value)[:2]
    light = _mean(context, busy[first], context.bottom).value
    if high[first].value < FULL or high[second].value > ROOM or not light < ROOM:
        return None
    users = sum(np.nan_to_num(courses[first][n]) for n in ("user_us", "nice_us", "guest_us")) / time_us
    problem = _mean(context, users, context.top).value
    return _Master(first, high[first], problem, high[second].value, light)


def _mean(context: Context, values: Floats, classes: tuple[int, ...]) -> Measure:
    """Mean of a course over the observations of these classes; its error is by blocks."""
    reduction = context.reduction
    inside = np.isin(reduction.number, classes) & np.isfinite(values)
    if not inside.any():
        return Measure(0.0, 0.0)
    _, block = np.unique(reduction.batches[inside], return_inverse=True)
    means = np.bincount(block.ravel(), values[inside]) / np.bincount(block.ravel())
    error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
    return Measure(float(values[inside].mean()), error)


def _of_master(context: Context, master: _Master, other: Measure, evidence: list[Evidence]) -> Finding:
    where = context.where(context.top)

    def fact(name: str, value: float, error: float | None, threshold: str) -> Evidence:
        return Evidence(name, "fraction", where, value, error, threshold, True)

    evidence = [
        *evidence,
        fact(f"processor_busy:{master.name}", master.busy.value, master.busy.error, f"at least {FULL:g}"),
        fact("processor_busy of the next", master.rest, None, f"at most {ROOM:g}: the others have room"),
    ]
    text = (
        f"processor {master.name} is {master.busy.value:.0%} busy, {master.problem:.0%} in users' own"
        f" code, while no other is more than {master.rest:.0%} busy, and users wait for another process"
        f" in {min(1.0, other.value):.0%} of their transaction time"
    )
    return RULE.finding("holds", text, strength=other.value, evidence=evidence)
