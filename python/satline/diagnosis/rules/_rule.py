"""What every rule is made of: its fixed words, for Linux and for the classic virtual machines.

Also what would bring a signal that a recording lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis._results import Evidence, Finding, State
from satline.diagnosis.rules._context import Context

_NEEDS = {
    "eligible": "a source that counts the users held back by admission",
    "user_eligible": "a source that counts the users held back by admission",
    "share_eligible": "a source that counts the users held back by admission",
    "lock_spin": "lock contention events, as `perf lock contention` gives them, or a simulated machine",
    "storage_manager_fraction": "system time by function, as a profile or a simulated machine gives it",
    "fast_paging_share": "swap devices of two priorities, zswap's counters, or page counts of a drum",
    "device_priority": "swap devices of two priorities, zswap's counters, or page counts of a drum",
    "device_hit_ratio": "the cache counters of the device or its controller",
    "device_error_rate": "the counters of the network interfaces (/proc/net/dev)",
    "cache_fill": "a cache with a bound of its own, or a load in a control group with a memory limit",
    "throttled_periods": "a load in a control group of its own with a processor quota",
    "memory_used_fraction": "how much memory is in use (sar -r; mem.util in PCP)",
    "device_queue": "how many requests queue at each disk (sar -d; disk.dev.aveq in PCP)",
    "busiest_device": "how long each disk was busy (sar -d; disk.dev.avactive in PCP)",
    "device_read_response": "the waiting times of the devices' requests (/proc/diskstats)",
    "response": "emulated users, or a record of transactions",
    "busiest_task": "the busy threads of the host",
    "user_page_wait": "delay accounting (kernel.task_delayacct = 1), or task states of users",
    "mpl": "task states of users, or the users in queue",
}
_SAME = {
    "share_page_wait": "user_page_wait",
    "share_io_wait": "user_page_wait",
    "user_io_wait": "user_page_wait",
    "lock_spin_fraction": "lock_spin",
    "lock_wait": "lock_spin",
    "lock_defer_rate": "lock_spin",
    "cache_steal_rate": "cache_fill",
    "device_used_fraction": "device_priority",
    "device_write_response": "device_read_response",
}


def unmet(*conditions: tuple[str, bool | None]) -> str:
    """The words of the conditions that are not met; empty where all are."""
    return "; ".join(why for why, met in conditions if not met)


def would_need(name: str, reason: str = "") -> str:
    """What the variable would need, in words; `reason` is why it is missing, where that is known."""
    if "control group" in reason:
        return "a load that runs in a control group of its own, named in the description"
    if "transactions" in reason:
        return "emulated users, or a record of transactions"
    return _NEEDS.get(_SAME.get(name, name), f"a source that records `{name}`")


NOT_SATURATED = "not saturated in the range seen: no bottleneck is named"
# By the component of a rule the resource that it is about, and what may stand in for it.
_OF_HOST: Mapping[str, tuple[str, ...]] = {
    "processor": ("CPU",),
    "supervisor": ("CPU",),
    "io": ("disk", "I/O"),
    "storage": ("memory",),
    "paging": ("memory",),
    "paging and io": ("memory", "disk", "I/O"),
    "quota": ("CPU quota",),
    "server": ("thread", "busiest thread"),
    "lock": ("lock", "locks"),
    "admission": ("admission by the swapper",),
    "none": ("CPU",),
}


@dataclass(frozen=True)
class Rule:
    """The fixed part of a finding.

    needs
        Variables without which the rule cannot be judged, or is judged on less.
    remedies
        Cheapest first, in Linux's terms.
    vm_title, vm_remedies
        The same in the terms of a virtual-machine system (multiprogramming level, drum, minidisks), for
        recordings of one; empty where Linux's words serve as well.
    absent
        What to say where Satline's monitor watched a host and found nothing that it is about.
    single_class
        It compares no loads, so that it also serves where one or a few batch users are the load.
    """

    name: str
    title: str
    component: str
    needs: tuple[str, ...]
    remedies: tuple[str, ...]
    false_readings: tuple[str, ...]
    references: tuple[str, ...]
    vm_title: str = ""
    vm_remedies: tuple[str, ...] = ()
    single_class: bool = False
    absent: str = ""

    def finding(
        self,
        state: State,
        summary: str,
        *,
        strength: float = 0.0,
        evidence: list[Evidence] | None = None,
        missing: tuple[str, ...] = (),
        first_remedies: tuple[str, ...] = (),
        false_readings: tuple[str, ...] = (),
        remark: bool = False,
    ) -> Finding:
        """A finding of this rule; remedies and false readings are given only where it holds.

        A `remark` holds without being what limits the load: it names no component.
        """
        holds = state == "holds"
        return Finding(
            self.name,
            self.title,
            "none" if remark else self.component,
            state,
            min(1.0, max(0.0, strength)) if holds else 0.0,
            summary,
            tuple(evidence or ()),
            (*first_remedies, *self.remedies) if holds else (),
            (*self.false_readings, *false_readings) if holds else (),
            missing,
            self.references,
        )

    def blind(self, context: Context, *wanted: str) -> Finding:
        """The rule cannot be judged for want of these variables; the summary says what would bring them.

        Where all were recorded it is the loads that are wanting.
        """
        missing = tuple(name for name in wanted if not context.recorded(name))
        if not missing:
            text = "one load class shows no trend"
            if len(context.classes) > 1:
                text = f"recorded, but not at the loads to compare: {', '.join(wanted)}"
            return self.finding("cannot-judge", text, missing=("a range of loads",))
        needed = dict.fromkeys(would_need(name) for name in missing)
        text = f"not recorded: {', '.join(missing)} (needs {'; or '.join(needed)})"
        return self.finding("cannot-judge", text, missing=missing)

    def in_vm_words(self, finding: Finding) -> Finding:
        """A finding of this rule in the words for virtual-machine systems."""
        own = len(finding.remedies) - len(self.remedies)
        first = finding.remedies[: max(0, own)]
        remedies = (*first, *self.vm_remedies) if finding.remedies and self.vm_remedies else finding.remedies
        return replace(finding, title=self.vm_title or finding.title, remedies=remedies)

    def unfit(self, context: Context) -> Finding | None:
        """Where a bottleneck cannot be named: the range is not saturated, or nobody can tell. ``None``: go
        on."""
        outcome = context.saturation.outcome
        if context.saturated or (outcome == "nongranular" and self.single_class):
            return None
        if outcome == "nongranular":
            return self.finding(
                "cannot-judge",
                "one or a few batch users are the load: there are no loads to compare",
                missing=("a load of many users",),
            )
        if outcome == "not-saturated":
            near = context.nearest()
            return self.finding("does-not-hold", NOT_SATURATED + (f"; {near}" if near else ""))
        return self._had_room(context) or self.finding(
            "cannot-judge",
            "nothing that was recorded was short, and no load is known to saturate it",
            missing=("a saturated range, or periods in which something was short",),
        )

    def _had_room(self, context: Context) -> Finding | None:
        """That what this rule names had room all the time, by absolute levels; ``None``: not known."""
        kinds = _OF_HOST.get(self.component, ())
        own = [
            use
            for use in context.uses
            if use.name.partition(" of ")[0] in kinds or use.name.partition(" ")[0] in kinds
        ]
        seconds = context.reduction.seconds
        full = {}
        for use in own:
            if use.counted.any() or use.lower_bound:
                return None
            if use.fraction is not None and (known := np.isfinite(use.fraction)).any():
                full[use.name] = float(np.average(use.fraction[known], weights=seconds[known]))
        if full:
            name = max(full, key=lambda one: full[one])
            return self.finding("does-not-hold", f"never short: {name} {full[name]:.0%} in use on average")
        if own:
            return self.finding("does-not-hold", "nobody waits for one")
        return self.finding("does-not-hold", self.absent) if self.absent and context.watched else None
