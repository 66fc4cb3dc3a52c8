"""Where in a TOML text a key stands."""

import tomllib

import pytest

from satline.problems import Place, line_of

TEXT = '''# a comment with [x]
title = "a [y] = # none"
what = """
[[variables]]
name = 3
"""
group = { by = "load", every = "1h" }
variables = [
    # { name = "no" }
    { name = "a", label = "x, }" },
    { name = "b" }, { name = 'c' },
]

[filters]
hours = "9-17"  # a comment
users = ["a",
    "b"]

[[other]]
a.b = 1
[other.sub]
k = -1
[[other]]
k = 2024-01-01
"q.r" = [[1, 2], [3]]
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("title",), 2),
        (("what",), 3),
        (("group", "every"), 7),
        (("variables", 0, "label"), 10),
        (("variables", 1, "name"), 11),
        (("variables", 2, "name"), 11),
        (("filters", "hours"), 15),
        (("filters", "users", 1), 17),
        (("other", 0, "a", "b"), 20),
        (("other", 0, "sub", "k"), 22),
        (("other", 1, "k"), 24),
        (("other", 1, "q.r", 1, 0), 25),
    ],
)
def test_a_key_is_found_in_every_way_of_writing_it(place: Place, line: int) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, place) == line


@pytest.mark.parametrize(
    ("place", "line"),
    [(("variables", 1, "statistic"), 11), (("filters", "days"), 14), (("nowhere",), 1), ((), 1)],
)
def test_what_is_not_written_has_the_line_of_what_is_around_it(place: Place, line: int) -> None:
    assert line_of(TEXT, place) == line


@pytest.mark.parametrize(
    "text", ["", "a", "a = ", "[", "[[a", "a = [1, {", 'a = "b', "a = '''x", "= 1", "}", "a.b."]
)
def test_a_broken_text_does_no_harm(text: str) -> None:
    assert line_of(text, ("a", "b")) == 1
