"""Docstrings as the house writes them, for mkdocstrings: a name, and indented below it what it means.

Under a heading of numpydoc (Parameters, Attributes, …) mkdocstrings knows what that is; elsewhere it takes it
for running text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

NAMES = re.compile(r"[\w*`., ]+")
UNDERLINE = re.compile(r"-{3,}")


class Definitions(griffe.Extension):
    """Make such a paragraph a definition list of Markdown."""

    def on_object(self, *, obj: griffe.Object, **_more: Any) -> None:
        """Called for each object that is read."""
        if obj.docstring is not None:
            obj.docstring.value = with_lists(obj.docstring.value)


def with_lists(text: str) -> str:
    """The text with its definitions marked as such, up to the first heading of numpydoc."""
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.splitlines()
        if any(UNDERLINE.fullmatch(line) for line in lines):
            break
        if len(lines) > 1 and NAMES.fullmatch(lines[0]) and lines[1].startswith("    "):
            paragraphs[number] = "\n".join(_marked(lines))
    return "\n\n".join(paragraphs)


def _marked(lines: list[str]) -> Iterator[str]:
    """Each first line of a meaning gets the sign of one, and each name a blank line before it."""
    for before, line in zip(["", *lines], lines, strict=False):
        if not line.startswith(" "):
            yield from ("", line) if before else (line,)
        else:
            yield ":" + line[1:] if not before.startswith(" ") else line
