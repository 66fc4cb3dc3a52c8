"""Commands whose parameters are declared by their defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from satline.cli.declared import argument, command, option, several

AMOUNT = several(
    lambda **of: of, least=option("The least.", type=int), most=option("The most.", type=int, default=9)
)


@command("Examples: none.")
def made(
    files: tuple[Path, ...] = argument("FILE...", required=True),
    other: str | None = argument(),
    what_if: tuple[str, ...] = option("A change."),
    with_: int | None = option("A number."),
    as_list: bool = option("A list.", "--list"),
    share: float = option("A share.", default=0.5),
    amount: dict[str, int] = AMOUNT,
) -> dict[str, Any]:
    """Make it."""
    return locals()


BY_NAME = {one.name: one for one in made.params}


def test_names_and_kinds_come_of_the_function() -> None:
    assert [one.name for one in made.params][:6] == ["files", "other", "what_if", "with_", "as_list", "share"]
    assert BY_NAME["what_if"].opts == ["--what-if"]
    assert BY_NAME["with_"].opts == ["--with"]
    assert BY_NAME["with_"].type is click.INT
    assert isinstance(BY_NAME["files"].type, click.Path)
    assert BY_NAME["files"].required
    assert not BY_NAME["other"].required
    assert made.help == "Make it."


def test_the_function_gets_values_of_its_parameters() -> None:
    words = ["a", "b", "c", "--what-if", "x=2", "--what-if", "y", "--with", "3", "--list", "--least", "1"]
    found = made.main(words, standalone_mode=False)
    assert found["files"] == (Path("a"), Path("b"))
    assert found["other"] == "c"
    assert found["what_if"] == ("x=2", "y")
    assert (found["with_"], found["as_list"], found["share"]) == (3, True, 0.5)
    assert found["amount"] == {"least": 1, "most": 9}
    assert list(AMOUNT.without("most").options) == ["least"]


def test_help_shows_defaults_that_are_given() -> None:
    text = made.get_help(click.Context(made))
    assert "[default: 0.5]" in text
    assert "--with INTEGER" in text
    assert "Examples: none." in text
