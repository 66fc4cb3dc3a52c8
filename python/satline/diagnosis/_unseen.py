"""What a diagnosis could not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satline.diagnosis._needs import would_need
from satline.diagnosis._results import Unseen
from satline.diagnosis.rules import RULES
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
