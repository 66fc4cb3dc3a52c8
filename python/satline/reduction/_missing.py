"""Why a variable of the catalogue has no curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from satline.reduction._results import Curve
from satline.reduction._source import Settings
from satline.reduction._variables import Derived, prefix_of, variables

NO_QUOTA = "the load has no processor quota"
# What formulas name that is made of a column, or of all of a table.
_MADE_OF = {
    "capacity": "table processor",
    "users_with_cpu": "user_cpu_us",
    "user_cpu_largest_us": "user_cpu_us",
    "task_busiest_us": "task_cpu_us",
    "device_busiest_us": "busy_us",
    "device_inside_us": "queue_us",
}


def missing_variables(
    wanted: Iterable[Derived],
    curves: Mapping[str, Curve],
    sources: Mapping[str, Mapping[str, Any]],
    transactions: bool,
    settings: Settings,
) -> dict[str, str]:
    """Why each of the `wanted` variables that has no curve has none."""
    reasons: dict[str, str] = {}
    for source in sources.values():
        for item in source.get("missing", ()):
            reasons[str(item.get("signal"))] = str(item.get("reason", "not recorded"))
    have = {name.partition(":")[0] for name in curves}
    missing: dict[str, str] = {}
    for d in wanted:
        if d.name in have:
            continue
        signals = _signals(d)
        short = [s.removeprefix("cgroup_").removeprefix("user_") for s in signals]
        named = [
            f"{s}: {reasons[r]}" for s, c in zip(signals, short, strict=True) for r in (s, c) if r in reasons
        ]
        if named:
            missing[d.name] = "; ".join(dict.fromkeys(named))
        elif "cgroup_" in d.formula and settings.cgroup is None:
            missing[d.name] = "the recording names no control group that is the whole load"
        elif "cgroup_quota" in d.formula and settings.quota is None:
            missing[d.name] = NO_QUOTA
        elif "busiest_us" in d.formula and d.name == "busiest_task" and settings.threads:
            missing[d.name] = "no thread was busy enough to be recorded"
        elif (d.per == "transaction" or "transaction" in d.formula) and not transactions:
            missing[d.name] = "the recording holds no transactions"
        elif d.per == "thermometer":
            missing[d.name] = "no thermometer ran in an observation"
        else:
            above = [n for n in sorted(d.names) if n in missing]
            why = missing[above[0]] if above else f"not recorded: {', '.join(signals or sorted(d.names))}"
            missing[d.name] = why
    return missing


def _signals(d: Derived) -> list[str]:
    """What of a recording the formula is made of: columns and variables, not the period's length or what else
    the reduction itself puts in."""
    known = _known()
    plain = (n.removeprefix("d_") for n in sorted(d.names))
    return [n for n in dict.fromkeys(_MADE_OF.get(n, n) for n in plain) if n in known]


@cache
def _known() -> frozenset[str]:
    catalogue = variables()
    known = {v.name for v in catalogue.derived} | set(_MADE_OF.values())
    for columns in (catalogue.counters, catalogue.levels):
        known |= {prefix_of(table) + c for table, names in columns.items() for c in names}
    return frozenset(known)
