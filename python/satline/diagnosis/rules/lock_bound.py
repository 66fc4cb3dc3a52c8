"""Lock bound.

What: processors or users wait for a lock, and the more so the higher the load.
Why: what a lock guards is done by one at a time. On n processors the spin is in proportion to the product of
the processors' probabilities of holding the lock, so that a small part of time spent spinning already means
that each holds it for a much larger part.
Signs: lock spin or the rate of defers grows with load and is no longer small; the dominant lock names the
subsystem. Behind a lock that puts its waiters to sleep, as a database's, the processors stand idle.
Without a knee: processes that wait for file locks, and the lock that most wait for. Where the kernel told it
(`satline record --waits`): waits for locks on files and between threads, and who holds them.
False readings: a little spin that grows in line with the multiprogramming level is normal, about half a
percent of elapsed time.
Remedy: shorten the hold, pools for each processor, finer locks; do not force a balance that maximises
collisions.
References: [TB84].
"""

from __future__ import annotations

import math
from dataclasses import replace

from satline.diagnosis._results import Finding
from satline.diagnosis._told import LOCKS, waiting_words
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._kernel import lock_facts, told_of, users_at_locks
from satline.diagnosis.rules._live import inside
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import from_periods

RULE = Rule(
    name="lock_bound",
    title="lock bound",
    component="lock",
    needs=("lock_spin_fraction", "lock_wait", "lock_defer_rate"),
    remedies=(
        "See who holds the dominant lock for long (`perf lock contention`, the database's lock view), and "
        "do less "
        "under it: commit more often, move work out of it.",
        "Split what it guards: finer locks, counters and pools for each processor, several databases.",
        "Fewer processors or workers at once, if it is their number that makes them collide.",
    ),
    false_readings=(
        "About half a percent of elapsed time in spin that grows in line with the multiprogramming level is "
        "normal.",
    ),
    references=("[TB84]",),
    vm_remedies=(
        "Shorten the time the lock is held, or give each processor a pool of its own.",
        "Finer locks for the subsystem that the dominant lock names.",
        "Do not force users evenly on the processors: that maximises collisions.",
    ),
)
SPIN, WAIT = 0.05, 0.3
# Fewer than so many that wait for locks on files at a time are nobody to speak of.
FEW = 0.1


def judge(context: Context) -> Finding:
    """Holds when spin is a surely noticeable part of capacity, or waiting for locks a large part of users'
    time, and either grows with load."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    short = from_periods(RULE, context, "lock")
    if short is not None:
        return replace(short, evidence=(*short.evidence, *lock_facts(context)))
    names = [n for n in RULE.needs if context.high(n) is not None and context.low(n) is not None]
    exact = users_at_locks(context)
    if not names:
        waiting = exact[0] if exact is not None else context.high("lock_wait")
        if context.watched and waiting is not None and waiting.high < FEW:
            kinds = "a lock on a file" if told_of(context) is None else "a lock on a file or between threads"
            return RULE.finding(
                "does-not-hold",
                f"hardly anyone waits for {kinds} ({waiting.value:.2g} at a time); the kernel's own"
                " locks were not recorded",
                evidence=[context.evidence("lock_wait", f"at least {FEW:g}", False)],
            )
        return RULE.blind(context, *RULE.needs)
    growing = [n for n in names if context.rises(n, 1.5)]
    spin, wait = context.high("lock_spin_fraction"), _waiting(context)
    spins = spin is not None and spin.value >= SPIN and spin.low > SPIN / 2 and RULE.needs[0] in growing
    more = "lock_wait" in growing
    if exact is not None and exact[1] is not None:
        more = exact[0].low > exact[1].high and exact[0].value > 1.5 * exact[1].value
    waits = wait is not None and wait.value >= WAIT and wait.low > WAIT / 2 and more
    evidence = [context.evidence(n, "above 1.5 × that at light load", n in growing) for n in names]
    evidence += [context.evidence(n, "less at light load", n in growing, light=True) for n in names]
    if spin is not None:
        evidence.append(context.evidence("lock_spin_fraction", f"at least {SPIN:g} of capacity", spins))
    if wait is not None:
        fact = context.evidence("lock_wait", f"at least {WAIT:g}", waits, value=wait)
        evidence.append(replace(fact, unit="fraction of the users at work"))
    for name in ("lock_wait", "lock_spin"):
        same = context.partial(name, "users_in_transaction")
        if same is not None:
            evidence.append(
                context.partial_evidence(f"{name} ~ users_in_transaction", same, "above 0", same.low > 0)
            )
    if not spins and not waits:
        parts = [f"lock spin is {spin.value:.1%} of capacity"] if spin is not None else []
        parts += [f"waits for locks are {wait.value:.0%} of the users at work"] if wait is not None else []
        parts += [] if growing or more else ["neither spin nor defers grow with load"]
        if not parts:
            return RULE.blind(context, "lock_spin_fraction", "lock_wait")
        return RULE.finding("does-not-hold", "; ".join(parts), evidence=evidence)
    texts = []
    if waits and wait is not None:
        texts.append(f"{min(1.0, wait.value):.0%} of the users at work wait for a lock")
    light = context.low("lock_spin_fraction")
    if spins and spin is not None and light is not None:
        text = f"lock spin grows from {max(0.0, light.value):.1%} to {spin.value:.0%} of capacity"
        if light.value > 0:
            text += (
                f", which means that locks are held {math.sqrt(spin.value / light.value):.1f} times as much"
            )
        texts.append(text)
    dominant = _dominant(context)
    if dominant:
        texts.append(dominant)
    kernel = told_of(context)
    where = inside(context, context.top)
    blame = kernel.blame(LOCKS, where) if waits and kernel is not None else None
    if blame is not None and kernel is not None:
        texts.append(waiting_words(blame, kernel.main(LOCKS, blame.users, where)))
        evidence += lock_facts(context)
    strength = max(
        min(1.0, wait.value) if waits and wait is not None else 0.0,
        min(1.0, 4 * spin.value) if spins and spin is not None else 0.0,
    )
    return RULE.finding("holds", "; ".join(texts), strength=strength, evidence=evidence)


def _waiting(context: Context) -> Measure | None:
    """Those who wait for locks, as a part of the users in a transaction, else of those in queue."""
    exact = users_at_locks(context)
    wait = exact[0] if exact is not None else context.high("lock_wait")
    whole = context.high("users_in_transaction") or context.high("mpl")
    if wait is None or whole is None or not whole.value > 0:
        return None
    return Measure(wait.value / whole.value, wait.error / whole.value)


def _dominant(context: Context) -> str:
    """The lock that cost most at saturation, in words; empty where single locks were not recorded."""
    cost: dict[str, float] = {}
    for variable in ("lock_spin_each", "lock_wait_each"):
        for name in context.entities(variable):
            spent = context.high(f"{variable}:{name}")
            cost[name] = cost.get(name, 0.0) + (spent.value if spent is not None else 0.0)
    total = sum(cost.values())
    if not total > 0:
        return ""
    name = max(cost, key=lambda k: cost[k])
    held = context.high(f"lock_held_each:{name}")
    text = f"lock {name} takes {cost[name] / total:.0%} of it"
    return text if held is None else f"{text} and is held {held.value:.0%} of the time"
