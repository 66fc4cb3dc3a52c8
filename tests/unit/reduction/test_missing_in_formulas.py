"""greatest and least leave nulls out: no formula may make a value of what is missing by them."""

from __future__ import annotations

import re

import duckdb
import pytest

from satline.reduction._variables import Derived, variables

# What may be missing, and why the value stands all the same.
NO_CAP = {"cgroup_read_limit_per_second", "cgroup_read_limit_bytes_per_second"}
OF_THE_HOST = {"d_cgroup_major_faults", "d_major_faults", "d_cgroup_read_bytes", "d_block_in_bytes"}
MAY_LACK = {
    "page_share": OF_THE_HOST,
    "load_read_cap_fraction": NO_CAP,
    "user_throttled": set(),
}
# With these the formula needs nothing else.
WITHOUT = {"page_share": {"d_page_wait_us", "d_io_wait_us"}, "user_throttled": {"d_user_throttled_us"}}


def formulas() -> list[Derived]:
    return [d for d in variables().derived if re.search(r"\b(greatest|least)\s*\(", d.formula)]


def value(d: Derived, lacking: set[str]) -> float | None:
    known = sorted(n for n in d.names if re.search(rf"\b{n}\b", d.formula))
    columns = ", ".join(
        f'{"NULL" if n in lacking else 1000 + k}::DOUBLE AS "{n}"' for k, n in enumerate(known)
    )
    ((found,),) = duckdb.sql(f"SELECT ({d.formula})::DOUBLE FROM (SELECT {columns})").fetchall()
    return found


def test_the_table_above_is_whole() -> None:
    assert {d.name for d in formulas()} == set(MAY_LACK)


@pytest.mark.parametrize("d", formulas(), ids=lambda d: d.name)
def test_a_missing_counter_makes_no_value(d: Derived) -> None:
    without = WITHOUT.get(d.name, set())
    assert value(d, without) is not None
    for name in d.names - MAY_LACK[d.name] - without:
        assert value(d, {name, *without}) is None, name


def test_a_cap_that_is_not_set_is_left_out_but_a_missing_counter_is_not() -> None:
    (d,) = (d for d in formulas() if d.name == "load_read_cap_fraction")
    assert value(d, NO_CAP) is None
    assert value(d, {"cgroup_read_limit_per_second"}) is not None
    assert value(d, {"cgroup_read_limit_per_second", "d_cgroup_reads"}) is not None
    assert value(d, {"d_cgroup_reads"}) is None
