"""Plots as static SVG: Altair describes them, vl-convert draws them, a last pass fits the drawing to a page.

Static SVG was chosen by measurement: a plot takes 60 ms and about 8 kB, the page needs no script, opens at
once and prints. The JavaScript for the same is 0.8 MB, and the page could then not forbid scripts.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import altair as alt
import vl_convert

from satline.report._chart_data import Line, Plot

# Okabe and Ito's colours, which colour-blind readers can tell apart; yellow and black left out. The page's
# style sheet answers for dark mode and for the key, by the same order.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
INK, FAINT, BAND = "#33373d", "#e3e5e8", "#8a63b8"
WIDTH, HEIGHT = 460, 290
# The whole drawing is of one size, so that plots beside each other have letters of one size.
_FIT = {"type": "fit", "contains": "padding"}
_SVG = "{http://www.w3.org/2000/svg}"
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg(plot: Plot) -> str:
    """`plot` as an SVG element for a page: no size of its own, its colours those of the style sheet."""
    drawing: str = vl_convert.vegalite_to_svg(_chart(plot).to_dict(), allowed_base_urls=[])
    return _fitted(drawing, plot)


def _chart(plot: Plot) -> Any:
    layers = _band(plot)
    layers += _stack(plot) if plot.chart.kind == "stack" else _lines(plot)
    layers += _limit(plot) + _hinge(plot)
    return (
        alt.layer(*layers)
        .properties(width=WIDTH, height=HEIGHT, background="transparent", autosize=_FIT)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=INK,
            domainColor=INK,
            tickColor=INK,
            gridColor=FAINT,
        )
    )


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(rows))


def _x(plot: Plot, name: str = "x") -> Any:
    low, high = plot.span
    return alt.X(
        f"{name}:Q",
        title=plot.x_label,
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(grid=False, tickCount=8),
    )


def _y(plot: Plot, name: str = "y") -> Any:
    return alt.Y(f"{name}:Q", title=plot.y_label, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))


def _lines(plot: Plot) -> list[Any]:
    layers: list[Any] = []
    for line in plot.lines:
        colour, shape = COLOURS[line.slot], SHAPES[line.slot]
        rows = _rows(line)
        base = _data(rows).encode(x=_x(plot))
        if any(row["low"] is not None for row in rows):
            bars = base.transform_filter("isValid(datum.low)")
            layers.append(
                bars.mark_rule(color=colour, strokeWidth=1.5).encode(y=_y(plot, "low"), y2="high:Q")
            )
        if not plot.hinge:
            layers.append(base.mark_line(color=colour, strokeWidth=1.8).encode(y=_y(plot)))
        points = base.transform_filter("isValid(datum.y)")
        layers.append(
            points.mark_point(color=colour, filled=True, opacity=1, size=46, shape=shape).encode(
                y=_y(plot), description="title:N"
            )
        )
    return layers


def _stack(plot: Plot) -> list[Any]:
    rows = [row | {"layer": line.slot} for line in plot.lines for row in _rows(line)]
    rows = [row for row in rows if row["y"] is not None]
    layers = [line.slot for line in plot.lines]
    colours = [COLOURS[slot] for slot in layers]
    bars = (
        _data(rows)
        .mark_bar(size=_bar_width(plot))
        .encode(
            x=_x(plot),
            y=alt.Y("y:Q", title=plot.y_label, stack="zero", axis=alt.Axis(tickCount=5)),
            color=alt.Color("layer:O", legend=None, scale=alt.Scale(domain=layers, range=colours)),
            order="layer:O",
            description="title:N",
        )
    )
    return [bars]


def _bar_width(plot: Plot) -> float:
    """Four fifths of the least distance between two loads, in pixels, and never clumsy."""
    places = sorted({mark.x for line in plot.lines for mark in line.marks})
    gaps = [b - a for a, b in pairwise(places)]
    low, high = plot.span
    least = min(gaps, default=high - low) * WIDTH / ((high - low) or 1.0)
    return max(3.0, min(36.0, 0.8 * least))


def _limit(plot: Plot) -> list[Any]:
    if plot.limit is None:
        return []
    line = _data(_rows(plot.limit)).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.4)
    return [line.encode(x=_x(plot), y=_y(plot))]


def _hinge(plot: Plot) -> list[Any]:
    if not plot.hinge:
        return []
    rows = [{"x": x, "y": y} for x, y in plot.hinge]
    return [_data(rows).mark_line(color=INK, strokeWidth=1.4).encode(x=_x(plot), y=_y(plot))]


def _band(plot: Plot) -> list[Any]:
    if plot.band is None:
        return []
    at, low, high = plot.band
    base = _data([{"x": at, "low": low, "high": high}])
    return [
        base.mark_rect(color=BAND, opacity=0.16).encode(x=_x(plot, "low"), x2="high:Q"),
        base.mark_rule(color=BAND, strokeWidth=1.4, strokeDash=[2, 2]).encode(x=_x(plot)),
    ]


def _rows(line: Line) -> list[dict[str, Any]]:
    return [{"x": m.x, "y": m.y, "low": m.low, "high": m.high, "title": m.title} for m in line.marks]


def _fitted(drawing: str, plot: Plot) -> str:
    """The drawing for the page: sized by it, hover titles on its marks, a name for who cannot see it."""
    root = ET.fromstring(drawing)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        for name in [
            n for n in element.attrib if n.startswith("aria-") or n in ("role", "font-family", "class")
        ]:
            value = element.attrib.pop(name)
            if name == "aria-label" and element.tag == "path" and value in _titles(plot):
                ET.SubElement(element, "title").text = value
        for name in ("d", "transform"):
            if name in element.attrib:
                element.set(name, _LONG_NUMBER.sub(lambda n: f"{float(n[0]):.2f}", element.attrib[name]))
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("class", "plot")
    root.set("role", "img")
    root.set("aria-label", f"{plot.chart.title}, {plot.y_label}, against {plot.x_label}")
    return ET.tostring(root, encoding="unicode")


def _titles(plot: Plot) -> frozenset[str]:
    return frozenset(mark.title for line in plot.lines for mark in line.marks)
