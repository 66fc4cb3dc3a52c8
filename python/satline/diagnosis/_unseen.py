"""What a diagnosis could not see, and values that a monitor left out because they cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satline.diagnosis._results import Implausible, Unseen
from satline.diagnosis.rules import RULES
from satline.diagnosis.rules._rule import would_need
from satline.reduction import Reduction, variables


def unseen(sources: Mapping[str, Mapping[str, Any]], reduction: Reduction) -> tuple[Unseen, ...]:
    """Signals that sources say they lack, and derived variables that therefore or otherwise have no curve."""

    def losers(variables: set[str]) -> tuple[str, ...]:
        return tuple(rule.name for rule, _ in RULES if variables & set(rule.needs))

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
            found.append(Unseen(name, reason, would_need(name, reason), rules))
    return tuple(found)


def implausible(sources: Mapping[str, Mapping[str, Any]]) -> tuple[Implausible, ...]:
    """What the sources say they left out, that left out most often first."""
    found = [
        Implausible(
            str(item.get("signal", "")),
            _whole(item.get("count")),
            _seconds(item.get("largest_us")),
            _seconds(item.get("left_out_us")),
            str(item.get("reason", "")),
        )
        for source in sources.values()
        for item in source.get("implausible", ())
    ]
    return tuple(sorted(found, key=lambda one: (-(one.count or 0), one.signal)))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    us = _whole(value)
    return None if us is None else us / 1e6
