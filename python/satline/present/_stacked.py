"""Charts under each other on one time axis, and one divided into layers: as static SVG without scripts."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from satline.correlation import thin
from satline.present import _numbers
from satline.present._escape import visible

Floats = NDArray[np.float64]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7f85")
INK, FAINT = "#33373d", "#e3e5e8"
WIDTH, LEFT, ROW = 900, 80, 86
_POINTS = 720
_SPARKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Strip:
    """One chart: title, what stands at its right end (a coefficient), its values and their unit."""

    title: str
    note: str
    values: Floats
    unit: str
    shift: int | None = None


def spark(values: Floats, width: int, *, plain: bool = False) -> str:
    """A series in `width` characters; a blank where nothing was recorded."""
    means = thin(values, width)
    good = means[np.isfinite(means)]
    signs = "_.-=+*#@" if plain else _SPARKS
    if not len(good):
        return " " * width
    low, high = float(good.min()), float(good.max())
    size = (high - low) or 1.0
    return "".join(" " if math.isnan(v) else signs[min(7, int((v - low) / size * 8))] for v in means.tolist())


def stacked(strips: Sequence[Strip], time_s: Floats, *, standalone: bool = True) -> str:
    """The charts under each other."""
    height = len(strips) * ROW + 34
    root = _root(height, standalone, "series on one time axis")
    for number, strip in enumerate(strips):
        _strip(root, strip, number)
    _axis(root, time_s, 6, len(strips) * ROW)
    return ET.tostring(root, encoding="unicode")


def layered(
    names: Sequence[str], values: Floats, time_s: Floats, unit: str, *, standalone: bool = True
) -> str:
    """Layers on top of each other, the first at the bottom; the key below."""
    plot = 260
    root = _root(plot + 40 + 18 * len(names), standalone, "layers over time")
    means = np.nan_to_num(thin(values, _POINTS), nan=0.0)
    tops = np.cumsum(means, axis=0)
    highest = float(tops.max(initial=0.0)) or 1.0
    scale = _numbers.scale(unit, highest)
    across = np.linspace(LEFT, WIDTH - 10, means.shape[1])
    below = np.zeros(means.shape[1])
    for k, name in enumerate(names):
        upper = [(x, plot - v / highest * (plot - 20)) for x, v in zip(across, tops[k], strict=True)]
        lower = [(x, plot - v / highest * (plot - 20)) for x, v in zip(across, below, strict=True)]
        d = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *reversed(lower)]) + "z"
        colour = COLOURS[k % len(COLOURS)]
        area = ET.SubElement(root, "path", {"d": d, "fill": colour, "stroke": "none"})
        ET.SubElement(area, "title").text = visible(name)
        at = plot + 44 + 18 * k
        ET.SubElement(
            root, "rect", {"x": str(LEFT), "y": str(at - 10), "width": "12", "height": "12", "fill": colour}
        )
        _text(root, LEFT + 18, at, visible(name, longest=90))
        below = tops[k]
    for value, y in ((highest, 20), (0.0, plot)):
        _text(root, LEFT - 6, y + 4, _numbers.number(value * scale.factor), end=True)
    _text(root, LEFT + 4, 14, visible(scale.label))
    _axis(root, time_s, 6, plot)
    return ET.tostring(root, encoding="unicode")


def _root(height: int, standalone: bool, label: str) -> ET.Element:
    attributes = {"viewBox": f"0 0 {WIDTH} {height}", "role": "img", "aria-label": label, "class": "plot"}
    if standalone:
        attributes |= {"xmlns": "http://www.w3.org/2000/svg", "width": str(WIDTH), "height": str(height)}
        attributes |= {"font-family": "sans-serif"}
    root = ET.Element("svg", attributes | {"font-size": "12"})
    if standalone:
        ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    return root


def _strip(root: ET.Element, strip: Strip, number: int) -> None:
    top, bottom = number * ROW + 22, (number + 1) * ROW - 8
    means = thin(strip.values, _POINTS)
    good = means[np.isfinite(means)]
    _text(root, LEFT, top - 6, visible(strip.title, longest=84), bold=number == 0)
    _text(root, WIDTH - 10, top - 6, visible(strip.note), end=True)
    ET.SubElement(root, "path", {"d": f"M{LEFT},{bottom}H{WIDTH - 10}", "stroke": FAINT, "fill": "none"})
    if not len(good):
        return
    low, high = min(0.0, float(good.min())), float(good.max())
    if float(good.min()) > 0.5 * high:
        low = float(good.min())  # a level far from nothing
    size = (high - low) or 1.0
    scale = _numbers.scale(strip.unit, max(abs(low), abs(high)))
    for value, y in ((high, top + 4), (low, bottom)):
        _text(root, LEFT - 6, y + 4, _numbers.number(value * scale.factor), end=True, size=10)
    _text(root, LEFT - 6, (top + bottom) // 2 + 4, visible(scale.label, longest=13), end=True, size=10)
    across = np.linspace(LEFT, WIDTH - 10, len(means))
    pieces, pen = [], "M"
    for x, v in zip(across.tolist(), means.tolist(), strict=True):
        if math.isnan(v):
            pen = "M"
            continue
        # A moment alone between two gaps is a dot, not nothing.
        pieces.append(
            f"{pen}{x:.1f},{bottom - (v - low) / size * (bottom - top - 4):.1f}"
            + ("h.1" if pen == "M" else "")
        )
        pen = "L"
    colour = COLOURS[1] if number == 0 else COLOURS[0]
    line = {"d": "".join(pieces), "fill": "none", "stroke": colour, "stroke-width": "1.3"}
    ET.SubElement(root, "path", line | {"stroke-linejoin": "round", "stroke-linecap": "round"})
    if strip.shift is not None:
        x = LEFT + strip.shift / max(1, len(strip.values) - 1) * (WIDTH - 10 - LEFT)
        mark = {"d": f"M{x:.1f},{top}V{bottom}", "stroke": INK, "stroke-dasharray": "2 3", "fill": "none"}
        ET.SubElement(ET.SubElement(root, "path", mark), "title").text = "shift of level"


def _axis(root: ET.Element, time_s: Floats, count: int, at: int) -> None:
    good = np.flatnonzero(np.isfinite(time_s))
    if not len(good):
        return
    long = time_s[good[-1]] - time_s[good[0]] > 2 * 86_400
    for k in range(count):
        place = k * (len(time_s) - 1) // max(1, count - 1)
        near = int(good[np.argmin(np.abs(good - place))])
        x = LEFT + near / max(1, len(time_s) - 1) * (WIDTH - 10 - LEFT)
        anchor = "start" if k == 0 else "end" if k == count - 1 else "middle"
        _text(root, x, at + 16, clock(float(time_s[near]), date=long or k == 0), anchor=anchor, size=11)


def clock(time_s: float, *, date: bool = True) -> str:
    """A moment in UTC, or a dash where the clock told nonsense."""
    try:
        return datetime.fromtimestamp(time_s, UTC).strftime("%d %b %H:%M" if date else "%H:%M")
    except (ValueError, OverflowError, OSError):
        return "–"


def _text(
    root: ET.Element,
    x: float,
    y: float,
    words: str,
    *,
    end: bool = False,
    bold: bool = False,
    size: int = 12,
    anchor: str = "",
) -> None:
    attributes = {"x": f"{x:.0f}", "y": f"{y:.0f}", "fill": INK, "font-size": str(size)}
    attributes |= {"text-anchor": anchor or ("end" if end else "start")}
    if bold:
        attributes["font-weight"] = "bold"
    ET.SubElement(root, "text", attributes).text = words
