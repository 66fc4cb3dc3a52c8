"""Hostile text becomes visible text."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from satline.present._escape import cell, visible


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("two\nlines\ttab", "two\\nlines\\ttab"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202edef", "abc\\u202edef"),
        ("a\u200bb", "a\\u200bb"),
        ("a\u2028b", "a\\u2028b"),
        ("\udcff", "\\udcff"),
        ("\x00", "\\x00"),
        ("naïve µ 日本", "naïve µ 日本"),
        ("<script>[red]", "<script>[red]"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@given(st.text())
def test_nothing_that_is_obeyed_gets_through(text: str) -> None:
    assert not {unicodedata.category(c) for c in visible(text)} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_long_names_are_cut_with_a_mark() -> None:
    assert visible("x" * 50, longest=10) == "x" * 9 + "…"
    assert visible("x" * 10, longest=10) == "x" * 10


def test_rich_reads_neither_markup_nor_emoji_codes() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    console.print(cell("[red]a[/red] :smile: [link=http://x]y[/link]"))
    assert console.file.getvalue() == "[red]a[/red] :smile: [link=http://x]y[/link]\n"  # type: ignore[attr-defined]


def test_without_utf8_our_signs_become_plain_ones() -> None:
    assert cell("1 ± 2 µs – ü 日", encoding="ascii").plain == "1 +/- 2 us - \\xfc \\u65e5"
    assert cell("ü ±", encoding="latin-1").plain == "ü +/-"
