"""What would bring a signal that a recording lacks."""

from __future__ import annotations

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


def would_need(name: str, reason: str = "") -> str:
    """What the variable would need, in words; `reason` is why it is missing, where that is known."""
    if "control group" in reason:
        return "a load that runs in a control group of its own, named in the description"
    if "transactions" in reason:
        return "emulated users, or a record of transactions"
    return _NEEDS.get(_SAME.get(name, name), f"a source that records `{name}`")
