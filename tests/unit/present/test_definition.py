"""Report definitions: what may stand in them, and what is said of mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.present.definition import GROUPINGS, SHIPPED, Definition, find, read, shipped

Defined = Callable[[str], Definition]


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_definition_is_good(name: str) -> None:
    body = find(name).body
    assert body.what.endswith(".")
    assert len(body.what) < 110
    assert bool(body.variables) != bool(body.parts)


def test_the_standard_set_and_every_way_of_grouping_are_shipped() -> None:
    by = {find(name).body.group.by for name in shipped()}
    assert by == set(GROUPINGS)
    assert {"standard", "against-mpl", "overview", "users", "devices", "locks", "diagnosis"} <= set(shipped())
    shown = {v.name for part in find("standard").body.parts for v in find(part).body.variables}
    assert {
        "problem_state",
        "supervisor_state",
        "total_cpu",
        "response",
        "idle_wait",
        "page_wait",
        "io_wait",
        "paging_rate",
        "mpl",
        "memory_used",
        "storage_demanded_fraction",
        "eligible",
        "fast_paging_rate",
        "lock_spin",
        "device_rate",
    } <= shown


@pytest.mark.parametrize(
    ("written", "read_as"),
    [("mon-fri", (0, 1, 2, 3, 4)), ("Sat, Sunday", (5, 6)), ("fri-mon", (0, 4, 5, 6)), ("wed", (2,))],
)
def test_days(defined: Defined, written: str, read_as: tuple[int, ...]) -> None:
    body = defined(f'variables = [{{ name = "mpl" }}]\n[filters]\ndays = "{written}"\nhours = "22-6"').body
    assert body.filters.days == read_as
    assert body.filters.hours == (22, 6)


@pytest.mark.parametrize("page", ["guides/reports.md", "reference/report-definitions.md"])
def test_the_examples_in_the_documentation_are_good(tmp_path: Path, page: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / page).read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert examples
    for number, example in enumerate(examples):
        path = tmp_path / f"{number}.toml"
        path.write_text(example, encoding="utf-8")
        assert read(path).body.variables
    questions = text.partition("## Which report for")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z-]+)`", questions))
    assert named <= set(shipped())


def test_what_is_left_out_has_its_default(defined: Defined) -> None:
    body = defined('variables = [{ name = "mpl" }]').body
    assert (body.group.by, body.plot.kind, body.table.rows) == ("load", "lines", "groups")
    assert (body.variables[0].statistic, body.variables[0].draw) == ("mean", "line")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("15min", 900), ("15 m", 900), ("1h", 3600), ("1.5h", 5400), ("1d", 86400)],
)
def test_lengths_of_time(defined: Defined, written: str, seconds: float) -> None:
    body = defined(f'variables = [{{ name = "mpl" }}]\n[group]\nby = "time"\nevery = "{written}"').body
    assert body.group.every == seconds


@pytest.mark.parametrize(
    ("text", "line", "key", "says", "remedy"),
    [
        ('variables = [\n  { name = "mlp" },\n]', 4, "variables[1].name", 'no variable "mlp"', "mpl"),
        (
            'variables = [{ name = "mpl", colour = "red" }]',
            3,
            "variables[1].colour",
            "unknown key",
            "known here",
        ),
        ('variables = [{ name = "mpl" }]\n[group]\nby = "lode"', 5, "group.by", '"lode"', "load"),
        ('variables = [{ name = "mpl" }]\n[group]\nevery = "soon"', 5, "group.every", "length of time", "1h"),
        ('variables = [{ name = "mpl" }]\n[plot]\nkind = "pie"', 5, "plot.kind", "'pie' is none of", ""),
        (
            'variables = [{ name = "mpl", statistic = "p99" }]',
            3,
            "variables[1].statistic",
            "'p99' is none",
            "",
        ),
        ('variables = [{ name = "mpl", statistic = "rate" }]', 3, "variables[1].statistic", "no time of", ""),
        ('variables = [{ name = "device_rate", of = "row" }]', 3, "variables[1].of", "parts of a row", ""),
        (
            'variables = [{ name = "mpl" }]\nlacking = [{ label = "x" }]',
            4,
            "lacking[1].reason",
            "missing",
            "",
        ),
        ('variables = [{ name = "mpl:x" }]', 3, "variables[1].name", "no members", 'write "mpl"'),
        ('variables = [{ name = "response", unit = "MiB" }]', 3, "variables[1].unit", "is in s", "ms"),
        (
            'variables = [{ name = "mpl", per = "device_rate" }]',
            3,
            "variables[1].per",
            "each device",
            "another",
        ),
        (
            'variables = [{ name = "mpl", per = "load_cpu", statistic = "p90" }]',
            3,
            "variables[1].statistic",
            "only means",
            "leave",
        ),
        ("", 1, "variables", "missing", "[[variables]]"),
        ('parts = ["cpus"]', 3, "parts[1]", 'no report "cpus"', "cpu-mpl"),
        (
            'variables = [{ name = "mpl" }]\n[group]\nby = "device"\n[plot]\nkind = "bars"',
            3,
            "variables[1].name",
            "not measured by device",
            "load",
        ),
        (
            'variables = [{ name = "mpl" }]\n[group]\nby = "user"\n[plot]\nkind = "bars"',
            3,
            "variables[1].name",
            "not measured by user",
            "load",
        ),
        (
            'variables = [{ name = "user_run" }]\n[group]\nby = "user"',
            1,
            "plot.kind",
            "users have none",
            "bars",
        ),
        ('variables = [{ name = "mpl" }]\n[plot]\nkind = "scatter"', 4, "plot.x", "across", "x ="),
        ('variables = [{ name = "mpl" }]\n[plot]\nx = "mpl"', 5, "plot.x", "only a scatter", "leave x out"),
        ('variables = [{ name = "mpl" }]\n[filters]\nload = [9, 1]', 5, "filters.load", "least", "[least"),
        ('variables = [{ name = "mpl" }]\n[filters]\nhours = "9-30"', 5, "filters.hours", "24", ""),
        ('variables = [{ name = "mpl" }]\n[filters]\ndays = "mon-someday"', 5, "filters.days", "someday", ""),
        (
            'variables = [{ name = "mpl" }]\n[filters]\ntimezone = "Mars/Base"',
            5,
            "filters.timezone",
            "Mars",
            "",
        ),
        ('variables = [{ name = "mpl", split = "class" }]', 3, "variables[1].split", "no classes", "leave"),
        ('variables = [{ name = "mpl" }]\nverdict = true', 4, "verdict", "load curves", "parts"),
        ('variables = "mpl"', 3, "variables", "not a list", "brackets"),
    ],
)
def test_a_mistake_is_told_with_its_line_key_and_remedy(
    defined: Defined, text: str, line: int, key: str, says: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        defined(text)
    error = caught.value
    assert f"mine.toml:{line}: {key}: " in error.message, error.message
    assert says in error.message
    assert remedy in error.hint or remedy in error.message, error.hint
    assert error.hint


def test_all_mistakes_are_told_at_once(defined: Defined) -> None:
    with pytest.raises(InputError) as caught:
        defined('variables = [\n  { name = "mlp" },\n  { name = "cpu" },\n]\n[group]\nby = "lode"')
    message = caught.value.message
    assert message.startswith("3 errors")
    for place in (":8: group.by", ":4: variables[1].name", ":5: variables[2].name"):
        assert place in message


def test_what_cannot_be_read_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml: No such file"):
        read(tmp_path / "nowhere.toml")
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text"):
        read(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text("title = x")
    with pytest.raises(InputError, match=r"not TOML.*line 1"):
        read(tmp_path / "b.toml")


def test_a_name_that_is_nearly_right_has_a_suggestion() -> None:
    with pytest.raises(InputError, match="there is no report processor") as caught:
        find("processor")
    assert caught.value.hint == 'did you mean "processors"?'


def test_a_copy_of_a_shipped_definition_is_the_same(tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(find("users").text)
    assert read(copy).body == find("users").body


def test_the_shipped_definitions_are_found_beside_the_package() -> None:
    assert SHIPPED.is_dir()
    assert find("users").path.parent == SHIPPED
