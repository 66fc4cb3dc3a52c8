"""The rules: one file per finding, one line in this table."""

from __future__ import annotations

from collections.abc import Callable

from satline.diagnosis._results import Finding
from satline.diagnosis.rules import (
    cpu_background,
    cpu_bound,
    io_bound,
    paging_bound,
    paging_overhead,
    quota_bound,
    serialised_server,
    storage_not_bottleneck,
)
from satline.diagnosis.rules._rule import Context, Measure, Rule

RULES: tuple[tuple[Rule, Callable[[Context], Finding]], ...] = (
    (quota_bound.RULE, quota_bound.judge),
    (paging_bound.RULE, paging_bound.judge),
    (io_bound.RULE, io_bound.judge),
    (serialised_server.RULE, serialised_server.judge),
    (paging_overhead.RULE, paging_overhead.judge),
    (cpu_bound.RULE, cpu_bound.judge),
    (cpu_background.RULE, cpu_background.judge),
    (storage_not_bottleneck.RULE, storage_not_bottleneck.judge),
)

__all__ = ["RULES", "Context", "Measure", "Rule"]
