"""A sheet in the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from satline.present._sheet import make_sheet
from satline.present._table import print_sheet, sheet_content, sheets_csv, table_rows
from satline.present.definition import Definition, find, shipped
from satline.present.documents import document
from satline.reduction import Curve, Curves, Groups
from satline.reduction._groups import Group

Defined = Callable[[str], Definition]
SMALL = [name for name in shipped() if find(name).body.variables]


def printed(definition: Definition, results: Curves | Groups, width: int = 80) -> str:
    file = io.StringIO()
    print_sheet(make_sheet(definition, results), Console(file=file, width=width, _environ={}))
    return file.getvalue()


def grouped(curves: Curves, definition: Definition, names: list[str]) -> Groups:
    """Results by user or device, one for each name."""
    groups = tuple(Group(name, None, None, None, 120, 120.0) for name in names)
    made = {}
    for number, variable in enumerate(definition.variables()):
        points = curves.curves["mpl"].points[: len(names)]
        made[variable] = Curve(variable, "users" if number % 2 else "s", "Meaning.", points)
    return Groups("user", 1.0, groups, made, {}, ("The 3 with the largest totals are shown, of 9 users.",))


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("name", SMALL)
def test_every_report_fits_its_width(name: str, width: int, curves: Curves) -> None:
    text = printed(find(name), curves, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert find(name).body.title.split()[0] in text


def test_a_report_without_anything_says_what_is_missing(curves: Curves) -> None:
    empty = replace(curves, curves={}, missing={"response": "the recording holds no transactions"})
    text = " ".join(printed(find("response"), empty).split())
    assert "Missing: response time (the recording holds no transactions)." in text
    assert "±" not in text


def test_columns_that_find_no_room_stand_below_with_their_loads(curves: Curves) -> None:
    lines = printed(find("processors"), curves).splitlines()
    assert sum(line.startswith("12 ") for line in lines) == 2
    assert not any("observation " in line for line in lines), "no heading is broken within a word"


def test_rows_may_be_variables(defined: Defined, curves: Curves) -> None:
    text = 'variables = [{ name = "mpl" }, { name = "active_users" }]\n[table]\nrows = "variables"'
    rows = table_rows(make_sheet(defined(text), curves))
    assert rows[0][:3] == ("users logged on", "1", "2")
    assert rows[2][0] == "multiprogramming level, users"
    assert rows[2][1] == "0.600 ± 0.030"


def test_columns_of_one_unit_have_one_scale(defined: Defined, curves: Curves) -> None:
    text = 'variables = [{ name = "reaction" }, { name = "response" }]'
    heads = table_rows(make_sheet(defined(text), curves))[0]
    assert heads[2:] == ("reaction time, s", "response time, s")


def test_hostile_names_are_shown_as_text(curves: Curves, hostile: str) -> None:
    definition = find("users")
    groups = grouped(curves, definition, [hostile, "anna", "[bold]bob[/bold]"])
    text = printed(definition, groups)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]bob[/bold]" in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "The 3 with the largest totals are shown, of 9 users." in " ".join(text.split())


def test_csv_has_a_line_for_each_number_and_for_each_missing_variable(
    defined: Defined, curves_without: Callable[..., Curves]
) -> None:
    curves = curves_without({"response"}, {"response": "no, none"})
    definition = defined('variables = [{ name = "load_memory" }, { name = "response" }]')
    rows = list(csv.DictReader(io.StringIO(sheets_csv([make_sheet(definition, curves)]))))
    assert len(rows) == len(curves.classes) + 1
    assert rows[0]["value"] == str(60e6)
    assert (rows[0]["unit"], rows[0]["n"], rows[0]["missing"]) == ("bytes", "120", "")
    assert float(rows[0]["standard_error"]) == pytest.approx(3e6)
    assert (rows[-1]["label"], rows[-1]["value"], rows[-1]["missing"]) == ("response time", "", "no, none")


def test_json_has_units_errors_and_reasons(defined: Defined, curves: Curves) -> None:
    point = curves.curves["response"].points[0]
    bounded = replace(point, percentile_intervals={90: (0.5, None), 50: (0.3, 0.4)})
    curve = replace(curves.curves["response"], points=(bounded, *curves.curves["response"].points[1:]))
    curves = replace(curves, curves={**curves.curves, "response": curve})
    text = (
        'variables = [{ name = "response", statistic = "p50" }, { name = "response", statistic = "p90" },'
        ' { name = "load_cpu" }, { name = "load_read_rate" }]'
    )
    content = json.loads(json.dumps(document("report", sheet_content(make_sheet(defined(text), curves)))))
    assert (content["report"], content["by"], content["axis"]) == ("mine", "load", "users")
    assert content["groups"][0] == {
        "label": "1",
        "at": 1.0,
        "low": 1.0,
        "high": 1.0,
        "observations": 120,
        "seconds": 120.0,
    }
    median, ninety, cpu = content["columns"]
    assert (median["values"][0]["low"], median["values"][0]["high"]) == (0.3, 0.4)
    assert (ninety["values"][0]["low"], ninety["values"][0]["high"]) == (0.5, None)
    assert cpu["unit"] == "processors"
    assert cpu["values"][0]["standard_error"] == pytest.approx(0.05 * 0.16)
    assert content["missing"] == [{"label": "load read rate", "reason": "this recording does not hold it"}]
