"""The catalogue and the page that is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.catalogue import PAGE, catalogue, main, parse, reference_page
from satline.errors import InputError

SMALL = """
format = 1
[common.time_ns]
kind = "identity"
type = "int"
meaning = "when"
[user.user]
kind = "identity"
meaning = "who"
[user.cpu_us]
kind = "accumulator"
unit = "us"
meaning = "a | b"
linux = "/proc"
[user.name]
kind = "identity"
meaning = "after a counter: no part of the entity"
[user.busy]
kind = "derived"
formula = "d_cpu_us / period_s"
meaning = "busy"
[observation.wait]
kind = "derived"
formula = "1"
meaning = "wait"
"""


def test_common_columns_come_first_and_derived_ones_are_not_stored() -> None:
    parsed = parse(SMALL)
    assert list(parsed.tables) == ["user"]
    user = parsed.tables["user"]
    assert [(c.name, c.type) for c in user.columns] == [
        ("time_ns", "int"),
        ("user", "text"),
        ("cpu_us", "int"),
        ("name", "text"),
    ]
    assert user.entity == ("user",)
    assert [v.name for v in user.derived] == ["busy"]
    assert [v.name for v in parsed.derived()] == ["busy", "wait"]
    assert [str(f.type) for f in user.arrow_schema()] == ["int64", "string", "int64", "string"]


def test_entities_of_the_shipped_tables() -> None:
    entities = {name: table.entity for name, table in catalogue().tables.items()}
    assert entities["system"] == ()
    assert entities["processor"] == ("processor",)
    assert entities["device"] == ("device", "device_kind")
    assert entities["user"] == ("user",)
    assert entities["task"][:3] == ("pid", "tid", "start_ticks")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[t.c]\nkind = "gauge"\nmeaning = ""', r"\[t\.c\]: kind is 'gauge'"),
        ('[t.c]\nkind = "level"\ntype = "real"\nmeaning = ""', r"\[t\.c\]: type is 'real'"),
        ('[t.c]\nkind = "level"', r"\[t\.c\]: no meaning"),
        ('[t.c]\nkind = "derived"\nmeaning = ""', r"\[t\.c\]: no formula"),
        ("[t]\nc = 1", r"\[t\.c\]: not a table"),
        ("[t", "file"),
    ],
)
def test_a_wrong_variable_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text, "file")


def test_the_page_shows_every_variable_and_escapes_cells() -> None:
    page = reference_page(parse(SMALL))
    assert "| `cpu_us` | accumulator | int | us | a \\| b | `/proc` |" in page
    assert "| `busy` |  |  | busy | `d_cpu_us / period_s` |" in page
    assert "## observation" in page


def test_the_committed_page_is_current(tmp_path: Path) -> None:
    assert main([str(tmp_path / "page.md")]) == 0
    assert PAGE.read_text() == (tmp_path / "page.md").read_text(), "run `python -m satline.catalogue`"
