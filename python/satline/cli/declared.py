"""Commands as functions whose parameters say what each option is: its default value is its declaration.

The name of an option is its parameter's, and the kind of value its annotation's, unless the declaration says
otherwise: `--what-if` of `what_if: tuple[str, ...]` may be given several times, `bool` is a flag.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

_KINDS: dict[str, Any] = {"Path": click.Path(path_type=Path), "int": int, "float": float}
_SEVERAL = re.compile(r"(?:tuple|Sequence)\[(\w+)")


class Declared:
    """One option or argument; `make` turns it into click's when its name is known."""

    def __init__(self, kind: type[click.Parameter], spellings: tuple[str, ...], settings: dict[str, Any]):
        self.kind, self.spellings, self.settings = kind, spellings, settings

    def make(self, name: str, annotation: str) -> click.Parameter:
        """Click's parameter, by the name and annotation of the function's."""
        found = _SEVERAL.match(annotation)
        word = found[1] if found else annotation.partition(" | ")[0]
        of_kind: dict[str, Any] = {"type": _KINDS[word]} if word in _KINDS else {}
        if issubclass(self.kind, click.Argument):
            of_kind |= {"nargs": -1} if found else {"required": not annotation.endswith("None")}
            return self.kind([name], **of_kind | self.settings)
        of_kind |= {"is_flag": True} if word == "bool" else {}
        of_kind |= {"multiple": True} if found else {}
        of_kind |= {"show_default": True} if "default" in self.settings else {}
        spellings = self.spellings or (f"--{name.rstrip('_').replace('_', '-')}",)
        return self.kind([*spellings, name], **of_kind | self.settings)


class Several:
    """Options of one purpose, for many commands; a command gets what `made` makes of them."""

    def __init__(self, made: Callable[..., Any], options: dict[str, Declared]):
        self.made, self.options = made, options

    def without(self, *names: str) -> Any:
        """As this, but for options that the command has for something else, or cannot answer for."""
        return Several(self.made, {name: one for name, one in self.options.items() if name not in names})


def option(
    help: str | None = None, *spellings: str, cls: type[click.Option] = click.Option, **settings: Any
) -> Any:
    """An option; `spellings` where they are not its parameter's name, `settings` as click has them."""
    return Declared(cls, spellings, {"help": help, **settings})


def argument(metavar: str | None = None, **settings: Any) -> Any:
    """An argument; it may be left out where its annotation ends in ``None``."""
    return Declared(click.Argument, (), {"metavar": metavar, **settings})


def several(made: Callable[..., Any], **options: Any) -> Any:
    """Options of one purpose: a command gets one parameter, which `made` makes of their values."""
    return Several(made, options)


def command(epilog: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function with declared parameters; `satline.cli.tree` has its short help."""

    def of(function: Callable[..., Any]) -> click.Command:
        made: list[click.Parameter] = []
        together: dict[str, Several] = {}
        for name, one in inspect.signature(function).parameters.items():
            if isinstance(one.default, Several):
                together[name] = one.default
                made += [inner.make(key, "str | None") for key, inner in one.default.options.items()]
            elif isinstance(one.default, Declared):
                made.append(one.default.make(name, str(one.annotation)))

        @wraps(function)
        def run(**given: Any) -> Any:
            for name, one in together.items():
                given[name] = one.made(**{key: given.pop(key) for key in one.options})
            return function(**given)

        words = function.__doc__
        return click.Command(
            function.__name__, callback=run, params=made, help=words, epilog=epilog, **settings
        )

    return of
