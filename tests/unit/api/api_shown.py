"""What a result shows: its text, its HTML, and the points of its chart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs, f"{tag} has attributes"
        self.found.add(tag)


def assert_harmless(shown: Any) -> None:
    """Its text holds no control character, its HTML no tag but its own."""
    text, page = repr(shown), shown._repr_html_()
    assert "\x1b" not in text + page
    assert Tags(page).found <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b", "br"}


def dots(chart: Any) -> list[dict[str, Any]]:
    """The points that a chart draws, each once; the chart is whole by Vega-Lite's schema."""
    text = chart.to_json()
    assert "\x1b" not in text
    found: list[dict[str, Any]] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            data = value.get("data", {})
            if isinstance(data, dict):
                found.extend(row for row in data.get("values", ()) if row not in found)
            for inner in value.values():
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    content = json.loads(text)
    look(content)
    for rows in content.get("datasets", {}).values():
        found.extend(row for row in rows if row not in found)
    return found
