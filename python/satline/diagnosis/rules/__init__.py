"""The rules: one file per finding, one line in this table."""

from __future__ import annotations

from collections.abc import Callable

from satline.diagnosis._results import Finding
from satline.diagnosis.rules import (
    arm_contention,
    cache_lost,
    cache_throttled,
    cpu_background,
    cpu_bound,
    daytime_maintenance,
    drum_overflow,
    io_bound,
    lock_bound,
    main_storage_bound,
    network_blamed,
    one_user_locks_out,
    page_and_io_wait,
    paging_bound,
    paging_overhead,
    quota_bound,
    serialised_server,
    storage_manager_path,
    storage_not_bottleneck,
    thrashing,
    working_sets_overestimated,
    write_penalty,
)
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule

RULES: tuple[tuple[Rule, Callable[[Context], Finding]], ...] = (
    (quota_bound.RULE, quota_bound.judge),
    (page_and_io_wait.RULE, page_and_io_wait.judge),
    (drum_overflow.RULE, drum_overflow.judge),
    (main_storage_bound.RULE, main_storage_bound.judge),
    (paging_bound.RULE, paging_bound.judge),
    (thrashing.RULE, thrashing.judge),
    (arm_contention.RULE, arm_contention.judge),
    (io_bound.RULE, io_bound.judge),
    (one_user_locks_out.RULE, one_user_locks_out.judge),
    (serialised_server.RULE, serialised_server.judge),
    (lock_bound.RULE, lock_bound.judge),
    (paging_overhead.RULE, paging_overhead.judge),
    (cpu_bound.RULE, cpu_bound.judge),
    (storage_manager_path.RULE, storage_manager_path.judge),
    (cache_throttled.RULE, cache_throttled.judge),
    (working_sets_overestimated.RULE, working_sets_overestimated.judge),
    (cpu_background.RULE, cpu_background.judge),
    (storage_not_bottleneck.RULE, storage_not_bottleneck.judge),
    (cache_lost.RULE, cache_lost.judge),
    (write_penalty.RULE, write_penalty.judge),
    (daytime_maintenance.RULE, daytime_maintenance.judge),
    (network_blamed.RULE, network_blamed.judge),
)

__all__ = ["RULES", "Context", "Measure", "Rule"]
