"""Plots as static SVG: described in Vega-Lite, drawn by vl-convert; a last pass fits the drawing to a page.

Static SVG was chosen by measurement: a plot takes 60 ms and about 8 kB, the page needs no script, opens at
once and prints. The JavaScript for the same is 0.8 MB, and the page could then not forbid scripts.
"""

from __future__ import annotations

import json
import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from satline.extras import optional_library
from satline.present._plot import Line, Plot

_PURPOSE = "pictures are drawn with it"

# Okabe and Ito's colours, which colour-blind readers can tell apart, yellow and black left out; and grey. The
# page's style sheet answers for dark mode and for the key, by the same order.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7f85")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
INK, FAINT, BAND = "#33373d", "#e3e5e8", "#8a63b8"
WIDTH, HEIGHT = 460, 290
# The whole drawing is of one size, so that plots beside each other have letters of one size.
# Midnight shows the date.
_CLOCK = "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%d %b')"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_TITLE = {"field": "title", "type": "nominal"}
_CONFIG = {
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": FAINT,
    },
}
# The shapes again, for the key of a picture: within 5 of the origin.
_MARKS = {
    "circle": "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
    "square": "M-4,-4h8v8h-8z",
    "triangle-up": "M0,-5L5,4H-5z",
    "diamond": "M0,-5L5,0L0,5L-5,0z",
    "triangle-down": "M0,5L5,-4H-5z",
    "triangle-right": "M-4,-5L5,0L-4,5z",
    "cross": "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "dash": "M-8,0h6M1,0h6",
}
_SVG = "{http://www.w3.org/2000/svg}"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg(plot: Plot) -> str:
    """`plot` as an SVG element for a page: no size of its own, its colours those of the style sheet."""
    return _fitted(_drawing(plot), plot)


def _drawer() -> Any:
    return optional_library("vl_convert", _PURPOSE)


def _drawing(plot: Plot) -> str:
    drawing: str = _drawer().vegalite_to_svg(_description(plot), allowed_base_urls=[])
    # A title passes through an expression, in which a visible escape becomes the character again.
    return _CONTROL.sub("", drawing)


def _description(plot: Plot) -> dict[str, Any]:
    """What is to be drawn, in the words of Vega-Lite.

    Written as it stands. Altair would say the same, but takes a fifth of a second to load, and as long to
    check and copy the layers of a page; vl-convert refuses what is wrong.
    """
    if plot.x_type == "name":
        layers = _named_bars(plot)
    else:
        layers = _band(plot)
        layers += _stack(plot) if plot.kind == "stacked" else _lines(plot)
        layers += _limit(plot) + _hinge(plot)
    rows: dict[str, str] = {}
    for layer in layers:
        # As texts, which pass through unlooked at; what several layers show stands there once.
        name = rows.setdefault(layer["data"], f"rows {len(rows)}")
        layer["data"] = {"name": name, "format": {"type": "json"}}
    return {
        "$schema": _SCHEMA,
        "datasets": {name: text for text, name in rows.items()},
        "config": _CONFIG,
        "layer": layers,
        "width": WIDTH,
        "height": _height(plot),
        "background": "transparent",
        "autosize": {"type": "fit", "contains": "padding"},
    }


def _layer(
    rows: list[dict[str, Any]], kind: str, look: Mapping[str, Any], only: str = "", **encoding: Any
) -> dict[str, Any]:
    """Marks of one kind, one for each of `rows`; only: those in which this has a value."""
    chosen = {"transform": [{"filter": f"isValid(datum.{only})"}]} if only else {}
    return {"data": json.dumps(rows), "mark": {"type": kind, **look}, "encoding": encoding, **chosen}


def _height(plot: Plot) -> int:
    """Names lie one under the other, each with room for its letters."""
    if plot.x_type != "name":
        return HEIGHT
    bars = 1 if plot.kind == "stacked" else len(plot.lines)
    return max(120, 60 + len(plot.names) * max(18, 9 * bars))


def _x(plot: Plot, name: str = "x") -> dict[str, Any]:
    low, high = plot.span
    told = {"field": name, "title": plot.x_label}
    if plot.x_type == "time":
        # The times are the clock's of the report's zone, drawn as they stand.
        scale = {"type": "utc", "domain": [low, high], "nice": False}
        axis = {"grid": False, "tickCount": 6, "labelOverlap": True, "labelExpr": _CLOCK}
        return {**told, "type": "temporal", "scale": scale, "axis": axis}
    scale = {"domain": [low, high], "nice": False}
    if "x" in plot.log:
        places = [mark.x for line in plot.lines for mark in line.marks if mark.x > 0]
        scale = {"type": "log", "domain": [min(places, default=1.0), high], "nice": False}
    return {**told, "type": "quantitative", "scale": scale, "axis": {"grid": False, "tickCount": 8}}


def _y(plot: Plot, name: str = "y") -> dict[str, Any]:
    scale = {"type": "log"} if "y" in plot.log else {"zero": True}
    told = {"field": name, "type": "quantitative", "title": plot.y_label}
    return {**told, "scale": scale, "axis": {"tickCount": 5}}


def _lines(plot: Plot) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = []
    x, y, low, high = _x(plot), _y(plot), _y(plot, "low"), {"field": "high"}
    for line in plot.lines:
        if line.band:
            area = [{"x": at, "low": least, "high": most} for at, least, most in line.band]
            look: dict[str, Any] = {"color": COLOURS[line.slot], "opacity": 0.16}
            layers.append(_layer(area, "area", look, x=x, y=low, y2=high))
    for line in plot.lines:
        colour, shape = COLOURS[line.slot], SHAPES[line.slot]
        rows = _rows(line)
        if any(row["low"] is not None for row in rows):
            look = {"color": colour, "strokeWidth": 1.5}
            layers.append(_layer(rows, "rule", look, "low", x=x, y=low, y2=high))
        if plot.kind == "scatter":
            # In the order of the load, which an ordinary line would lose: the curve may turn back.
            look = {"color": colour, "strokeWidth": 1, "opacity": 0.6}
            order = {"field": "number", "type": "quantitative"}
            layers.append(_layer(rows, "line", look, x=x, y=y, order=order))
        elif plot.kind == "lines" and not plot.hinge:
            layers.append(_layer(rows, "line", {"color": colour, "strokeWidth": 1.8}, x=x, y=y))
        if plot.kind == "bars":
            look = {"color": colour, "opacity": 0.55, "size": _bar_width(plot)}
            layers.append(_layer(rows, "bar", look, x=x, y=y))
        look = {"color": colour, "filled": True, "opacity": 1, "size": 46, "shape": shape}
        layers.append(_layer(rows, "point", look, "y", x=x, y=y, description=_TITLE))
    return layers


def _stack(plot: Plot) -> list[dict[str, Any]]:
    rows = [row | {"layer": line.slot} for line in plot.lines for row in _rows(line)]
    rows = [row for row in rows if row["y"] is not None]
    y = {"field": "y", "type": "quantitative", "title": plot.y_label, "stack": "zero"}
    layer = {"field": "layer", "type": "ordinal"}
    return [
        _layer(
            rows,
            "bar",
            {"size": _bar_width(plot)},
            x=_x(plot),
            y={**y, "axis": {"tickCount": 5}},
            color={**layer, "legend": None, "scale": _colours(plot)},
            order=layer,
            description=_TITLE,
        )
    ]


def _colours(plot: Plot) -> dict[str, Any]:
    layers = [line.slot for line in plot.lines]
    return {"domain": layers, "range": [COLOURS[slot] for slot in layers]}


def _named_bars(plot: Plot) -> list[dict[str, Any]]:
    """Horizontal bars, a name each: values on top of each other, or below each other with their errors."""
    rows = [
        row | {"layer": line.slot, "name": str(place)}
        for line in plot.lines
        for place, row in enumerate(_rows(line))
        if row["y"] is not None
    ]
    # Places stand in for the names, which two users may share; the axis shows the names again.
    labels = {"labelExpr": f"{json.dumps(plot.names)}[+datum.value]", "labelLimit": 160, "ticks": False}
    places = [str(place) for place in range(len(plot.names))]
    y = {"field": "name", "type": "nominal", "title": None, "sort": places, "axis": labels}
    stacked = plot.kind == "stacked"
    told = {"type": "quantitative", "title": plot.y_label}
    axis = {"tickCount": 5, "grid": True}
    encoding: dict[str, Any] = {
        "x": {**told, "field": "y", "stack": "zero" if stacked else None, "axis": axis},
        "y": {**y, "scale": {"domain": places}},
        "color": {"field": "layer", "type": "nominal", "legend": None, "scale": _colours(plot)},
        "order": {"field": "layer", "type": "quantitative"},
        "description": _TITLE,
    }
    if stacked:
        return [_layer(rows, "bar", {}, **encoding)]
    offset = {"field": "layer", "type": "nominal", "sort": [line.slot for line in plot.lines]}
    low, high = {**told, "field": "low"}, {"field": "high"}
    look = {"color": INK, "strokeWidth": 1.2}
    return [
        _layer(rows, "bar", {}, **encoding, yOffset=offset),
        _layer(rows, "rule", look, "low", x=low, x2=high, y=encoding["y"], yOffset=offset),
    ]


def _bar_width(plot: Plot) -> float:
    """Four fifths of the least distance between two loads, in pixels, and never clumsy."""
    places = sorted({mark.x for line in plot.lines for mark in line.marks})
    gaps = [b - a for a, b in pairwise(places)]
    low, high = plot.span
    least = min(gaps, default=high - low) * WIDTH / ((high - low) or 1.0)
    return max(1.0, min(36.0, 0.8 * least))


def _limit(plot: Plot) -> list[dict[str, Any]]:
    if plot.limit is None:
        return []
    look = {"color": INK, "strokeDash": [5, 4], "strokeWidth": 1.4}
    return [_layer(_rows(plot.limit), "line", look, x=_x(plot), y=_y(plot))]


def _hinge(plot: Plot) -> list[dict[str, Any]]:
    if not plot.hinge:
        return []
    rows = [{"x": x, "y": y} for x, y in plot.hinge]
    return [_layer(rows, "line", {"color": INK, "strokeWidth": 1.4}, x=_x(plot), y=_y(plot))]


def _band(plot: Plot) -> list[dict[str, Any]]:
    if plot.band is None:
        return []
    at, low, high = plot.band
    rows = [{"x": at, "low": low, "high": high}]
    line = {"color": BAND, "strokeWidth": 1.4, "strokeDash": [2, 2]}
    return [
        _layer(rows, "rect", {"color": BAND, "opacity": 0.16}, x=_x(plot, "low"), x2={"field": "high"}),
        _layer(rows, "rule", line, x=_x(plot)),
    ]


def _rows(line: Line) -> list[dict[str, Any]]:
    return [
        {"x": m.x, "y": m.y, "low": m.low, "high": m.high, "title": m.title, "number": number}
        for number, m in enumerate(line.marks)
    ]


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
    root.set("aria-label", f"{plot.title}, {plot.y_label}, against {plot.x_label}")
    return ET.tostring(root, encoding="unicode")


def picture(plot: Plot) -> str:
    """`plot` as an SVG file that stands by itself: title above, key and notes below, on white."""
    inner = ET.fromstring(_drawing(plot))
    for element in inner.iter():
        element.tag = element.tag.removeprefix(_SVG)
    filled = plot.kind in ("stacked", "bars")
    entries = [
        (COLOURS[line.slot], "square" if filled else SHAPES[line.slot], line.label) for line in plot.lines
    ]
    if plot.limit:
        entries.append((INK, "dash", plot.limit.label))
    entries = entries if len(entries) > 1 else []
    notes = [part for note in plot.notes for part in textwrap.wrap(note, 76)]
    top, row = 30, 18
    height = top + _height(plot) + 8 + row * (len(entries) + len(notes)) + 8
    root = ET.Element(
        "svg",
        {"xmlns": _SVG.strip("{}"), "width": str(WIDTH + 20), "height": str(height)}
        | {"viewBox": f"0 0 {WIDTH + 20} {height}", "font-family": "sans-serif", "font-size": "12"},
    )
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _text(root, 10, 20, plot.title, {"font-weight": "bold", "font-size": "14"})
    ET.SubElement(root, "g", {"transform": f"translate(10,{top})"}).append(inner)
    at = top + _height(plot) + 8 + row // 2
    for colour, shape, label in entries:
        ET.SubElement(
            root,
            "path",
            {"d": _MARKS[shape], "transform": f"translate(18,{at})", "fill": colour, "stroke": colour},
        )
        _text(root, 30, at + 4, label, {})
        at += row
    for note in notes:
        _text(root, 10, at + 4, note, {"font-size": "11"})
        at += row
    return ET.tostring(root, encoding="unicode")


def png(plot: Plot, *, ppi: int = 192) -> bytes:
    """`picture` as PNG with so many pixels per inch; an inch is 96 units of the drawing."""
    made: bytes = _drawer().svg_to_png(picture(plot), scale=ppi / 96, ppi=72)
    return made


def _text(root: ET.Element, x: int, y: int, words: str, attributes: dict[str, str]) -> None:
    ET.SubElement(root, "text", {"x": str(x), "y": str(y), "fill": INK, **attributes}).text = words


def _titles(plot: Plot) -> frozenset[str]:
    return frozenset(mark.title for line in plot.lines for mark in line.marks)
