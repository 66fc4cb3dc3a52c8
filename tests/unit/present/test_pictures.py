"""Plots by name and by time, and pictures that stand by themselves."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import pytest

from satline.present._draw import COLOURS, picture, png, svg
from satline.present._plot import Plot, make_plots
from satline.present._sheet import make_sheet
from satline.present.definition import Definition, find
from satline.present.html import render_sheets
from satline.reduction import By, Curve, Curves, Groups
from satline.reduction._groups import Group

Defined = Callable[[str], Definition]
SVG = "{http://www.w3.org/2000/svg}"
DAY = 86400.0 * 20_000


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter() if element.tag.endswith("text")]


def grouped(curves: Curves, by: By, groups: tuple[Group, ...]) -> Groups:
    made = {
        name: Curve(name, "users", "Meaning.", curves.curves["mpl"].points[: len(groups)])
        for name in ("user_run", "user_cpu_wait", "active_users", "device_queue")
    }
    return Groups(by, 1.0, groups, made, {})


def named(*names: str) -> tuple[Group, ...]:
    return tuple(Group(name, None, None, None, 120, 120.0) for name in names)


def hours(count: int) -> tuple[Group, ...]:
    return tuple(
        Group(f"{h:02d}:00", DAY + 3600 * h, DAY + 3600 * (h + 1), DAY + 3600 * (h + 0.5), 120, 3600.0)
        for h in range(count)
    )


@pytest.mark.parametrize("kind", ["stacked", "bars"])
def test_users_have_a_bar_each_in_their_order(
    defined: Defined, curves: Curves, hostile: str, kind: str
) -> None:
    variables = '[{ name = "user_run" }, { name = "user_cpu_wait" }]'
    text = f'variables = {variables}\n[group]\nby = "user"\n[plot]\nkind = "{kind}"'
    (plot,) = make_plots(make_sheet(defined(text), grouped(curves, "user", named("zoe", "anna", hostile))))
    assert (plot.x_type, plot.names[:2]) == ("name", ("zoe", "anna"))
    drawing = svg(plot)
    shown = [t for t in texts(drawing) if t in plot.names or t.startswith("<script")]
    assert shown[:2] == ["zoe", "anna"]
    assert "\x1b" not in drawing
    titles = {e.text for e in ET.fromstring(drawing).iter("title")}
    assert titles == {mark.title for line in plot.lines for mark in line.marks}
    assert "<script" not in drawing


def test_two_users_of_one_name_have_two_bars(defined: Defined, curves: Curves) -> None:
    text = 'variables = [{ name = "user_run" }]\n[group]\nby = "user"\n[plot]\nkind = "bars"'
    (plot,) = make_plots(make_sheet(defined(text), grouped(curves, "user", named("anna", "anna"))))
    assert texts(svg(plot)).count("anna") == 2


@pytest.mark.parametrize("kind", ["lines", "stacked"])
def test_time_is_drawn_by_the_clock(defined: Defined, curves: Curves, kind: str) -> None:
    text = f'variables = [{{ name = "active_users" }}]\n[group]\nby = "time"\n[plot]\nkind = "{kind}"'
    (plot,) = make_plots(make_sheet(defined(text), grouped(curves, "time", hours(6))))
    assert plot.x_type == "time"
    assert plot.lines[0].marks[2].x == (DAY + 2.5 * 3600) * 1000
    assert plot.span == (DAY * 1000, (DAY + 6 * 3600) * 1000)
    assert plot.lines[0].marks[2].title.startswith("active users, 02:00: ")
    shown = texts(svg(plot))
    assert "03:00" in shown
    assert "04 Oct" in shown, "midnight shows the date"


def test_a_scatter_lies_across_its_variable(curves: Curves) -> None:
    (plot,) = make_plots(make_sheet(find("trade-off"), with_problem_fraction(curves)))
    assert plot.x_label == "user time, % of capacity"
    assert plot.y_label == "response time, s"
    assert plot.lines[0].marks[1].x == pytest.approx(30.0)
    assert plot.lines[0].marks[1].y == pytest.approx(0.4)
    assert ET.fromstring(svg(plot)) is not None


def with_problem_fraction(curves: Curves) -> Curves:
    """Problem state again, as a fraction of one processor."""
    curve = replace(curves.curves["problem_state"], variable="problem_fraction", unit="fraction of capacity")
    return replace(curves, curves={**curves.curves, "problem_fraction": curve})


def test_a_logarithmic_axis_leaves_zero_out(defined: Defined, curves: Curves) -> None:
    text = 'variables = [{ name = "response" }]\n[plot]\nlog = ["x", "y"]'
    (plot,) = make_plots(make_sheet(defined(text), curves))
    assert plot.log == ("x", "y")
    assert "0" not in texts(svg(plot))


@pytest.fixture
def plot(curves: Curves) -> Plot:
    return make_plots(make_sheet(find("processors"), curves))[0]


def test_a_picture_stands_by_itself(plot: Plot) -> None:
    drawing = picture(plot)
    root = ET.fromstring(drawing)
    assert root.tag == f"{SVG}svg"
    assert float(root.get("height", "0")) > 290
    shown = texts(drawing)
    assert shown.count(plot.title) == 1
    for line in plot.lines:
        assert line.label in shown
    assert "capacity" in shown
    assert {e.get("fill") for e in root.iter(f"{SVG}path")} >= {COLOURS[line.slot] for line in plot.lines}
    assert "href" not in drawing


def test_a_png_is_one(plot: Plot) -> None:
    made = png(plot)
    assert made.startswith(b"\x89PNG")
    width = int.from_bytes(made[16:20], "big")
    assert width == 960


def test_a_page_of_sheets_holds_plots_numbers_and_meanings(recording: object, curves: Curves) -> None:
    definition = find("device-busy")
    page = render_sheets(recording, definition, [make_sheet(definition, curves)])  # type: ignore[arg-type]
    assert "<svg" in page
    assert "<table>" in page
    assert "Meaning of device_busy:vda." in page
    assert "<script" not in page
    assert "\x1b" not in page
    assert "http://" not in page


def test_a_page_of_parts_has_a_section_for_each(recording: object, curves: Curves) -> None:
    definition = find("against-mpl")
    sheets = [make_sheet(find(name), curves, selection="hours 9-17") for name in definition.body.parts]
    page = render_sheets(recording, definition, sheets)  # type: ignore[arg-type]
    for name in definition.body.parts:
        assert f'<section id="{name}">' in page
    assert "hours 9-17" in page
    assert "Missing: all paging (this recording does not hold it)." in page
