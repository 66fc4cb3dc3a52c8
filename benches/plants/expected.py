"""The rule that each plant is for, and what else is true of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Which rule a plant is for.

    also
        Other rules that may hold too, as they are true of it, and why.
    """

    name: str
    also: dict[str, str]


FULL = "its users fill the processors"
LIMIT = "the limit of its group is what makes them page"
WAITS = "its users wait for pages"

# The rule that each plant is for, the eight of plants.py too, and what else is true of it.
RULES: dict[str, Rule] = {
    "quota": Rule("quota_bound", {}),
    "flock": Rule("lock_bound", {}),
    "server": Rule("serialised_server", {}),
    "thrash": Rule("main_storage_bound", {"paging_bound": WAITS, "paging_overhead": "reclaim takes the CPU"}),
    "io_cap": Rule("io_bound", {}),
    "hog": Rule("cpu_bound", {}),
    "neighbour": Rule("cpu_bound", {}),
    "healthy": Rule("", {}),
    "slow_swap": Rule("paging_bound", {"main_storage_bound": LIMIT}),
    "too_many": Rule("thrashing", {"main_storage_bound": LIMIT, "paging_bound": WAITS}),
    "two_waits": Rule(
        "page_and_io_wait",
        {"main_storage_bound": LIMIT, "io_bound": "its cap makes half of them wait", "paging_bound": WAITS},
    ),
    "overflow": Rule("drum_overflow", {"main_storage_bound": LIMIT, "paging_bound": WAITS}),
    "reclaim": Rule("paging_overhead", {"main_storage_bound": LIMIT, "cpu_bound": FULL}),
    "small_cache": Rule(
        "cache_throttled",
        {
            "main_storage_bound": "its limit is what bounds the cache",
            "io_bound": "they wait for what they read again",
        },
    ),
    "background": Rule("cpu_background", {}),
    "parity": Rule("write_penalty", {"io_bound": "they wait for the disk"}),
    "arm": Rule("arm_contention", {"io_bound": "they wait for the disk"}),
    "admission": Rule("working_sets_overestimated", {}),
    "full_storage": Rule("storage_not_bottleneck", {"cpu_bound": FULL}),
    "network": Rule("network_blamed", {"cpu_bound": FULL}),
    "holder": Rule("one_user_locks_out", {"lock_bound": "they wait for the lock that the one holds"}),
    "mutex": Rule("lock_bound", {"one_user_locks_out": "one of them holds it most of the time"}),
    "maintenance": Rule(
        "daytime_maintenance",
        {
            "lock_bound": "they wait for the lock meanwhile",
            "one_user_locks_out": "the program's user locks them out",
        },
    ),
}
