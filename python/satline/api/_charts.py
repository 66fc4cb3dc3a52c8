"""Altair charts of the API: lines with their intervals against load, a colour for each series.

Names reach a chart as data or as plain titles, never as expressions or markup; see `_plain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from satline.extras import optional_library

WIDTH, HEIGHT = 460, 290
_PURPOSE = "charts are made with it"


@dataclass(frozen=True)
class Dot:
    """One point of a series; what is missing is ``None``, an interval without an end is not drawn."""

    series: str
    x: float
    y: float | None
    low: float | None = None
    high: float | None = None


def line_chart(
    dots: Sequence[Dot], x_title: str, y_title: str, *, line: bool = True, zero: bool = True
) -> Any:
    """Lines through the points of each series, with bars for their intervals.

    Parameters
    ----------
    x_title, y_title
        What the axes show, with the unit.
    line
        Connect the points.
    zero
        Let the vertical axis begin at 0.
    """
    alt = optional_library("altair", _PURPOSE)

    rows = [
        {"series": _plain(d.series), "x": d.x, "y": d.y, "low": d.low, "high": d.high}
        for d in dots
        if d.y is not None
    ]
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("x:Q", title=_plain(x_title)),
        color=alt.Color("series:N", title=None, scale=_colours(names), legend=_legend(names)),
    )
    scale = alt.Scale(zero=zero)
    y = alt.Y("y:Q", title=_plain(y_title), scale=scale)
    hover = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:Q", title=_plain(x_title), format=".4g"),
        alt.Tooltip("y:Q", title=_plain(y_title), format=".4g"),
        alt.Tooltip("low:Q", title="from", format=".4g"),
        alt.Tooltip("high:Q", title="to", format=".4g"),
    ]
    bars = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(strokeWidth=1.5)
    layers = [
        bars.encode(y=alt.Y("low:Q", title=_plain(y_title), scale=scale), y2="high:Q", tooltip=hover),
        *([base.mark_line(strokeWidth=1.8).encode(y=y)] if line else []),
        base.mark_point(filled=True, opacity=1, size=46).encode(y=y, tooltip=hover),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def with_band(chart: Any, at: float, low: float, high: float, words: str) -> Any:
    """The chart with a place on its horizontal axis marked, and the interval of that place shaded."""
    alt = optional_library("altair", _PURPOSE)

    place = alt.Chart(_data([{"x": at, "low": low, "high": high, "words": _plain(words)}]))
    hover = [alt.Tooltip("words:N", title="marked")]
    shade = place.mark_rect(color="#8a63b8", opacity=0.16).encode(x="low:Q", x2="high:Q", tooltip=hover)
    rule = place.mark_rule(color="#8a63b8", strokeWidth=1.4, strokeDash=[2, 2]).encode(x="x:Q", tooltip=hover)
    return alt.layer(shade, rule, chart).properties(width=WIDTH, height=HEIGHT)


def below_each_other(charts: Sequence[Any]) -> Any:
    """One chart as it is, several below each other."""
    alt = optional_library("altair", _PURPOSE)

    return charts[0] if len(charts) == 1 else alt.vconcat(*charts).resolve_scale(color="independent")


def _plain(text: str) -> str:
    """Text for a chart. Altair writes charts into a page's script as they are, which a name with `</script>`
    would end: so that none can, `<` is shown as `‹`."""
    from satline.present import visible

    return visible(text).replace("<", "‹")


def _data(rows: list[dict[str, Any]]) -> Any:
    alt = optional_library("altair", _PURPOSE)

    return alt.InlineData(values=rows)


def _colours(names: Sequence[str]) -> Any:
    alt = optional_library("altair", _PURPOSE)

    from satline.present import COLOURS

    return alt.Scale(domain=list(names), range=[COLOURS[k % len(COLOURS)] for k in range(len(names))])


def _legend(names: Sequence[str]) -> Any:
    alt = optional_library("altair", _PURPOSE)

    return alt.Legend(labelLimit=240, orient="bottom", columns=2) if len(names) > 1 else None
