"""From curves to plots."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import pytest

from satline.diagnosis import Diagnosis, Outcome, Saturation
from satline.present._draw import COLOURS, SHAPES, svg
from satline.present._plot import MOST_LINES, Plot, make_plots
from satline.present._sheet import make_sheet
from satline.present.definition import Definition, find, shipped
from satline.reduction import Curves

BY_NAME = {name: find(name) for name in shipped()}


def prepare(definition: Definition, curves: Curves, saturation: Saturation) -> Plot:
    """The first plot of a definition."""
    return make_plots(make_sheet(definition, curves, throughput=saturation.throughput_variable), saturation)[
        0
    ]


def test_one_variable_has_one_label_in_all_shipped_reports() -> None:
    called: dict[str, set[str]] = {}
    for definition in BY_NAME.values():
        for variable in definition.body.variables:
            if not variable.per and not variable.of and variable.statistic not in ("rate", "zero", "nonzero"):
                called.setdefault(variable.name, set()).add(variable.label)
    assert {name: words for name, words in called.items() if len(words) > 1} == {}
    assert len(COLOURS) == len(SHAPES) == MOST_LINES


def test_a_plot_holds_the_numbers_with_their_errors(curves: Curves, diagnosis: Diagnosis) -> None:
    plot = prepare(BY_NAME["storage"], curves, diagnosis.saturation)
    memory = plot.lines[0]
    assert plot.y_label == "MiB"
    assert memory.marks[0].x == 1.0
    assert memory.marks[0].y == pytest.approx(60e6 / 2**20)
    assert memory.marks[0].high == pytest.approx(63e6 / 2**20)
    assert memory.marks[0].title == "memory of the load, 1 users logged on: 57.2 ± 2.9 MiB, n = 120"
    assert plot.rows[0][:3] == ("users logged on", "observations", "memory of the load, MiB")
    assert plot.rows[1][:3] == ("1", "120", "57.2 ± 2.9")


def test_the_textbook_error_stands_in_for_the_honest_one(curves: Curves, diagnosis: Diagnosis) -> None:
    curve = curves.curves["mpl"]
    points = tuple(replace(p, honest_error=None) for p in curve.points)
    curves = replace(curves, curves={"mpl": replace(curve, points=points)})
    mark = prepare(BY_NAME["levels"], curves, diagnosis.saturation).lines[0].marks[0]
    assert mark.high == pytest.approx(0.6 * 1.03)


def test_the_hinge_and_the_band(curves: Curves, diagnosis: Diagnosis) -> None:
    plot = prepare(BY_NAME["throughput"], curves, diagnosis.saturation)
    assert plot.band == (6.1, 5.4, 6.9)
    (x0, y0), corner, (x2, y2) = plot.hinge
    assert corner == (6.1, 3.02)
    assert (x0, x2) == (1.0, 12.0)
    assert y0 == pytest.approx(3.02 - 5.1 * 0.497)
    assert y2 == pytest.approx(3.02 - 5.9 * 0.004)
    assert prepare(BY_NAME["response"], curves, diagnosis.saturation).hinge == ()


@pytest.mark.parametrize("outcome", ["not-saturated", "partly-known", "nongranular"])
def test_without_saturation_neither_hinge_nor_band(
    curves: Curves, diagnosis_of: Callable[..., Diagnosis], outcome: Outcome
) -> None:
    plot = prepare(BY_NAME["throughput"], curves, diagnosis_of(outcome).saturation)
    assert (plot.hinge, plot.band) == ((), None)
    assert plot.lines


def test_another_load_axis_has_no_band(curves: Curves, diagnosis: Diagnosis) -> None:
    plot = prepare(BY_NAME["throughput"], replace(curves, load_axis="in_queue"), diagnosis.saturation)
    assert (plot.hinge, plot.band) == ((), None)


def test_a_missing_variable_is_a_note_and_no_line(
    curves_without: Callable[..., Curves], diagnosis: Diagnosis
) -> None:
    curves = curves_without({"response", "idle_wait"}, {"response": "no\x1b transactions"})
    response = prepare(BY_NAME["response"], curves, diagnosis.saturation)
    assert response.lines == ()
    assert response.notes == ("Missing: response time (no\\x1b transactions).",)
    wait = prepare(BY_NAME["wait"], curves, diagnosis.saturation)
    assert [(line.label, line.slot) for line in wait.lines] == [("page wait", 1), ("I/O wait", 2)]
    assert wait.notes == ("Missing: idle wait (this recording does not hold it).",)


def test_percentiles_are_drawn_largest_first(curves: Curves, diagnosis: Diagnosis) -> None:
    plot = prepare(BY_NAME["response"], curves, diagnosis.saturation)
    assert [line.label for line in plot.lines] == [f"{p}th percentile" for p in (90, 75, 50, 25)]
    assert plot.lines[0].marks[-1].y == pytest.approx(1.6 * (0.4 + 1.9 * 6))
    assert plot.lines[0].marks[0].low is None


def test_families_show_their_members_and_leave_out_the_small_ones(
    curves: Curves, diagnosis: Diagnosis
) -> None:
    curve = curves.curves["device_busy:vda"]
    many = {
        f"device_busy:d{i}": replace(
            curve, points=tuple(replace(p, mean=(p.mean or 0) * (i + 1)) for p in curve.points)
        )
        for i in range(9)
    }
    plot = prepare(BY_NAME["device-busy"], replace(curves, curves=many), diagnosis.saturation)
    assert [line.label for line in plot.lines] == ["d8", "d7", "d6", "d5", "d4", "d3", "d2"]
    assert plot.notes == ("The 7 with the largest values are drawn; left out: d1, d0.",)


def test_thermometers_are_drawn_against_their_least_load(curves: Curves, diagnosis: Diagnosis) -> None:
    plot = prepare(BY_NAME["thermometers"], curves, diagnosis.saturation)
    assert [line.label for line in plot.lines] == ["trivial", "compute"]
    assert plot.lines[0].marks[-1].y == pytest.approx(12.0)
    assert plot.rows[1][2] == "360 µs"


def test_each_unit_has_a_plot_of_its_own(curves: Curves, defined: Callable[[str], Definition]) -> None:
    definition = defined(
        'variables = [{ name = "mpl" }, { name = "load_memory" }, { name = "active_users" }]'
    )
    first, second = make_plots(make_sheet(definition, curves))
    assert [line.label for line in first.lines] == ["multiprogramming level", "active users"]
    assert [line.label for line in second.lines] == ["memory of the load"]
    assert (first.name, first.title) == ("mine", "Mine: users")
    assert (second.name, second.title) == ("mine-2", "Mine: memory of the load")


def test_a_single_device_is_named_on_the_axis(curves: Curves, defined: Callable[[str], Definition]) -> None:
    (plot,) = make_plots(make_sheet(find("device-rate"), curves))
    assert [line.label for line in plot.lines] == ["vda"]
    assert plot.y_label == "vda, per second"
    definition = defined(
        'variables = [{ name = "response", statistic = "p50" }, { name = "response", statistic = "p90" },'
        ' { name = "mpl" }]'
    )
    first, _ = make_plots(make_sheet(definition, curves))
    assert first.title == "Mine: response time"


@pytest.mark.parametrize("name", find("diagnosis").body.parts)
def test_every_chart_is_drawn_with_a_title_on_every_mark(
    name: str, curves: Curves, diagnosis: Diagnosis
) -> None:
    plot = prepare(BY_NAME[name], curves, diagnosis.saturation)
    if not plot.lines:
        assert plot.notes
        return
    root = ET.fromstring(svg(plot))
    titles = {element.text for element in root.iter("title")}
    drawn = {mark.title for line in plot.lines for mark in line.marks if mark.y is not None}
    assert titles == drawn
    assert "width" not in root.attrib
    assert root.get("viewBox", "").split()[2:] == ["460", "290"]
    assert plot.y_label in [element.text for element in root.iter("text")]
    assert {COLOURS[line.slot] for line in plot.lines} <= {
        value for element in root.iter() for value in element.attrib.values()
    }


def test_a_gap_breaks_the_line(curves: Curves, diagnosis: Diagnosis) -> None:
    curve = curves.curves["mpl"]
    gap = replace(curve.points[3], mean=None)
    curves = replace(
        curves, curves={"mpl": replace(curve, points=(*curve.points[:3], gap, *curve.points[4:]))}
    )
    plot = prepare(BY_NAME["levels"], curves, diagnosis.saturation)
    assert plot.rows[4][2] == "–"
    root = ET.fromstring(svg(plot))
    lines = [
        e.get("d", "")
        for e in root.iter("path")
        if e.get("stroke") == COLOURS[0] and e.get("d", "").count("L") > 2
    ]
    assert len(lines) == 1
    assert lines[0].count("M") == 2
