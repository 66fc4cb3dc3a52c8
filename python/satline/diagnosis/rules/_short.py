"""What the rules say of a limit, a lock or a thread that was short in periods, where no knee is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from satline.diagnosis._held import Held, held_back, taker_words
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis._use import Use
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule


def shortest(context: Context, kind: str) -> Use | None:
    """Of the resources whose name begins so, the one that held back most; ``None``: none was short."""
    seconds = context.reduction.seconds
    found = [use for use in context.uses if use.name.startswith(kind) and use.says and use.counted.any()]
    return max(found, key=lambda use: use.weight(seconds), default=None)


def from_periods(rule: Rule, context: Context, kind: str, title: str = "") -> Finding | None:
    """A finding of this rule from the resource of this kind that was short; ``None``: the rule has to judge
    by its other signs.

    How likely it is that this holds the load back is weighed against all else that was short:
    see `satline.diagnosis._standing`.
    """
    use = shortest(context, kind)
    if context.basis != "periods" or use is None:
        return None
    seconds = context.reduction.seconds
    where = use.counted
    total = float(seconds.sum())
    part = float(seconds[where].sum()) / total
    facts = [
        Evidence(
            use.name, "fraction of the time short", context.where(context.top), part, None, "above 0", True
        )
    ]
    text = use.says
    if use.fraction is not None:
        known = where & np.isfinite(use.fraction)
        if known.any():
            full = float(np.average(use.fraction[known], weights=seconds[known]))
            facts.append(
                Evidence(
                    f"{use.name}: {use.of}",
                    "fraction",
                    context.where(context.top),
                    full,
                    None,
                    f"at least {use.limit:g}",
                    full >= use.limit,
                )
            )
    if use.held is not None:
        held = float(np.average(use.held[where], weights=seconds[where]))
        facts.append(
            Evidence(
                f"held back by {use.name}",
                "users",
                context.where(context.top),
                held,
                None,
                "users' own waits",
                held > 0.1,
            )
        )
        if use.component != "server" and held >= 0.05:
            text += f"; {held:.1f} users are held back by it at any time"
    found = rule.finding(
        "holds",
        text,
        strength=0.5 + 0.5 * part,
        evidence=facts,
        first_remedies=(use.remedy,) if use.remedy else (),
    )
    return replace(found, title=title) if title else found


def users_held(context: Context) -> Held | None:
    """Users' waits, where they were recorded."""
    return held_back(context.reduction, context.history) if context.history is not None else None


def cpu_takers(context: Context) -> tuple[str, str]:
    """Who took the CPU while it was short, and a remedy that follows; empty where that was not recorded."""
    plain = context.basis == "periods" or context.saturation.outcome == "nongranular"
    held = users_held(context) if plain else None
    if held is None:
        return "", ""
    seconds = context.reduction.seconds
    short = [use.short for use in context.uses if use.component == "processor"]
    where = np.logical_or.reduce(short) if short else np.ones(len(seconds), dtype=bool)
    where = where if where.any() else ~where
    takers = held.takers(where, seconds)
    text = taker_words(takers)
    if not text:
        return "", ""
    first, part, _ = takers[0]
    group = context.reduction.settings.cgroup
    own = held.part_of(group, where, seconds) if group is not None else None
    if own is not None and own < 0.5:
        text = f"work outside the load's group takes {1 - own:.0%} of the CPU time used: {text}"
        return text, (
            "Give the load's group a higher CPU weight (cpu.weight; cpu.shares in version 1; CPUWeight=) "
            "than those outside it, or move them to other CPUs or another host."
        )
    if part < 0.4 or first.startswith("_"):
        return text, ""
    return text, (
        f"Give user {first} a lower CPU weight (nice 19; CPUWeight= of its slice) or a quota, or move its "
        "work to another host or hour."
    )
