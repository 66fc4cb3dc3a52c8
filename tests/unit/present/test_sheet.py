"""From results to a sheet: statistics, units, ratios, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from satline.present._sheet import Sheet, make_sheet
from satline.present.definition import Definition, find
from satline.reduction import Curves
from satline.reduction._statistics import point

Defined = Callable[[str], Definition]


@pytest.fixture
def sheet_of(defined: Defined, curves: Curves) -> Callable[[str], Sheet]:
    return lambda variables: make_sheet(defined(f"variables = [{variables}]"), curves)


def test_each_statistic_comes_from_its_place(sheet_of: Callable[[str], Sheet], curves: Curves) -> None:
    names = ("mean", "p25", "p90", "sd", "se", "n", "sum")
    sheet = sheet_of(", ".join(f'{{ name = "mpl", statistic = "{one}" }}' for one in names))
    point, load_class = curves.curves["mpl"].points[3], curves.classes[3]
    assert point.mean is not None
    assert [column.cells[3].value for column in sheet.columns] == pytest.approx(
        [
            point.mean,
            point.percentiles[25],
            point.percentiles[90],
            point.sd,
            point.honest_error,
            point.n,
            point.mean * load_class.seconds,
        ]
    )
    assert sheet.columns[0].cells[3].standard_error == point.honest_error
    assert [c.unit for c in sheet.columns] == ["users"] * 5 + ["", "user seconds"]
    assert [c.heading for c in sheet.columns][1:4] == [
        "multiprogramming level, 25th percentile",
        "multiprogramming level, 90th percentile",
        "multiprogramming level, standard deviation",
    ]


def test_a_ratio_is_that_of_the_means(sheet_of: Callable[[str], Sheet]) -> None:
    column = sheet_of('{ name = "problem_state", per = "transaction_rate" }').columns[0]
    assert column.unit == "s"
    assert column.label == "user time per transactions completed"
    cell = column.cells[0]
    assert cell.value == pytest.approx(0.15 / 0.5)
    # Two errors of 5 % each, taken as independent.
    assert cell.standard_error == pytest.approx(0.3 * 0.05 * 2**0.5)


def test_a_ratio_without_a_divisor_is_missing(sheet_of: Callable[[str], Sheet]) -> None:
    sheet = sheet_of('{ name = "problem_state", label = "work", per = "load_read_rate" }')
    assert sheet.columns == ()
    assert sheet.missing == (("work", "this recording does not hold it"),)


def test_a_ratio_to_nothing_is_no_number(defined: Defined, curves: Curves) -> None:
    curve = curves.curves["transaction_rate"]
    idle = replace(curve.points[0], mean=0.0)
    curves = replace(
        curves,
        curves={**curves.curves, "transaction_rate": replace(curve, points=(idle, *curve.points[1:]))},
    )
    definition = defined('variables = [{ name = "problem_state", per = "transaction_rate" }]')
    assert make_sheet(definition, curves).columns[0].cells[0].value is None


def test_a_total_of_a_fraction_is_missing_with_the_reason(sheet_of: Callable[[str], Sheet]) -> None:
    sheet = sheet_of('{ name = "share_run", statistic = "sum" }')
    assert sheet.columns == ()
    assert "has no meaning" in sheet.missing[0][1]


def test_a_family_has_a_column_for_each_member(sheet_of: Callable[[str], Sheet], hostile: str) -> None:
    sheet = sheet_of('{ name = "device_busy" }')
    assert [c.variable for c in sheet.columns] == ["device_busy:vda", f"device_busy:{hostile}"]
    assert sheet.columns[0].label == "vda"
    assert "\x1b" not in sheet.columns[1].label
    one = sheet_of('{ name = "device_busy:vda", label = "the disk" }')
    assert [c.label for c in one.columns] == ["the disk"]


def test_throughput_is_what_the_verdict_judged_or_the_best_there_is(
    defined: Defined, curves: Curves, curves_without: Callable[..., Curves]
) -> None:
    definition = defined('variables = [{ name = "throughput" }]')
    assert make_sheet(definition, curves).columns[0].variable == "transaction_rate"
    assert make_sheet(definition, curves_without({"transaction_rate"})).columns[0].variable == "problem_state"
    judged = make_sheet(definition, curves, throughput="load_cpu")
    assert judged.columns[0].variable == "load_cpu"
    assert definition.variables() == ["transaction_rate", "problem_state", "work_rate"]


def test_the_unit_asked_for_is_used(sheet_of: Callable[[str], Sheet]) -> None:
    memory, share = sheet_of(
        '{ name = "load_memory", unit = "KiB" }, { name = "share_run", unit = "fraction" }'
    ).columns
    assert (memory.scale.label, memory.scale.factor) == ("KiB", 1 / 1024)
    assert (share.scale.label, share.scale.factor) == ("fraction of transaction time", 1.0)


def test_what_is_missing_is_told_once_for_each_reason(
    defined: Defined, curves_without: Callable[..., Curves]
) -> None:
    names = {"response", "reaction", "mpl"}
    curves = curves_without(names, {"response": "no transactions", "reaction": "no transactions"})
    sheet = make_sheet(
        defined('variables = [{ name = "response" }, { name = "reaction" }, { name = "mpl" }]'), curves
    )
    assert sheet.missing_notes == [
        "Missing: response time; reaction time (no transactions).",
        "Missing: multiprogramming level (this recording does not hold it).",
    ]


def test_the_parts_of_a_report_name_their_variables() -> None:
    assert find("wait").variables() == ["idle_wait", "page_wait", "io_wait"]
    assert find("response").variables() == ["response"]
    assert find("cpu-per-transaction").variables()[:2] == ["problem_state", "transaction_rate"]


def test_without_any_load_the_reason_is_told(defined: Defined, curves: Curves) -> None:
    nothing = replace(curves, load_axis="active_users", classes=(), curves={})
    sheet = make_sheet(defined('variables = [{ name = "total_cpu" }]'), nothing)
    assert sheet.missing[0][1] == "no observation has a load (active users)"


def test_only_the_load_classes_asked_for_are_shown(defined: Defined, curves: Curves) -> None:
    sheet = make_sheet(defined('variables = [{ name = "mpl" }]\n[filters]\nload = [2, 6]'), curves)
    assert [row.label for row in sheet.rows] == ["2", "4", "6"]
    assert [cell.value for cell in sheet.columns[0].cells] == pytest.approx([1.2, 2.4, 3.6])


def test_parts_of_a_row_make_a_whole_with_the_error_of_independent_terms(
    sheet_of: Callable[[str], Sheet],
) -> None:
    sheet = sheet_of(
        '{ name = "problem_state", of = "row" }, { name = "supervisor_state", of = "row" }, { name = "mpl" }'
    )
    first, second, other = sheet.columns
    for one, two in zip(first.cells, second.cells, strict=True):
        assert one.value is not None
        assert two.value is not None
        assert one.value + two.value == pytest.approx(1)
    assert (first.scale.label, first.scale.factor) == ("%", 100.0)
    assert other.unit == "users"
    # p = a / (a + b), each with an error of 5 %: (1 - p)² a² + p² b² over (a + b)².
    a, b = 0.15, 0.013
    part = a / (a + b)
    error = 0.05 * ((1 - part) ** 2 * a**2 + part**2 * b**2) ** 0.5 / (a + b)
    assert first.cells[0].standard_error == pytest.approx(error)


def test_a_part_that_is_missing_is_left_out_of_the_whole(
    defined: Defined, curves_without: Callable[..., Curves]
) -> None:
    both = 'variables = [{ name = "problem_state", of = "row" }, { name = "load_cpu", of = "row" }]'
    sheet = make_sheet(defined(both), curves_without({"load_cpu"}))
    assert [c.variable for c in sheet.columns] == ["problem_state"]
    assert {cell.value for cell in sheet.columns[0].cells} == {1.0}
    assert [label for label, _ in sheet.missing] == ["processor time of the load"]


def test_largest_and_how_often_zero_come_from_the_observations(defined: Defined, curves: Curves) -> None:
    values = np.array([0.0, 0.0, 0.0, 8.0, 4.0, np.nan])
    seen = point(values, np.arange(6, dtype=np.int64))
    curve = replace(curves.curves["mpl"], points=(seen,) * len(curves.classes))
    curves = replace(curves, curves={"mpl": curve})
    names = ", ".join(f'{{ name = "mpl", statistic = "{s}" }}' for s in ("max", "zero", "nonzero"))
    largest, zero, nonzero = make_sheet(defined(f"variables = [{names}]"), curves).columns
    assert (largest.cells[0].value, largest.unit) == (8.0, "users")
    assert (zero.cells[0].value, zero.unit) == (pytest.approx(0.6), "fraction")
    assert (nonzero.cells[0].value, nonzero.cells[0].n) == (pytest.approx(6.0), 2)


def test_what_was_always_zero_is_not_called_unrecorded(defined: Defined, curves: Curves) -> None:
    seen = point(np.zeros(3), np.arange(3, dtype=np.int64))
    curve = replace(curves.curves["mpl"], points=(seen,) * len(curves.classes))
    definition = defined('variables = [{ name = "mpl", statistic = "nonzero" }]')
    sheet = make_sheet(definition, replace(curves, curves={"mpl": curve}))
    assert [reason for _, reason in sheet.missing] == ["it was always 0"]


def test_a_rate_counts_transactions(defined: Defined, curves: Curves) -> None:
    column = make_sheet(defined('variables = [{ name = "response", statistic = "rate" }]'), curves).columns[0]
    assert column.unit == "per second"
    assert [cell.value for cell in column.cells] == [pytest.approx(1.0)] * len(curves.classes)


def test_what_no_source_can_have_is_named_with_the_reason(defined: Defined, curves: Curves) -> None:
    text = 'variables = [{ name = "mpl" }]\nlacking = [{ label = "bias", reason = "nobody sets it" }]'
    assert make_sheet(defined(text), curves).missing == (("bias", "nobody sets it"),)
