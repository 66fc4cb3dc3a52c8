"""Factors with their levels, and cells that cannot be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satline.errors import InputError

# As the books name them: I is the mean.
LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
RESERVED = ("run", "block", "replicate")
MOST_RUNS = 100_000


@dataclass(frozen=True)
class Factor:
    """What is varied on purpose: its name, and its levels as they are written, low first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Skip:
    """Cells that cannot be run: all that have these levels."""

    levels: Mapping[str, str]

    @property
    def words(self) -> str:
        """As it was written."""
        return ",".join(f"{name}={level}" for name, level in self.levels.items())

    def holds(self, cell: Mapping[str, str]) -> bool:
        """Is `cell` one of them?"""
        return all(cell[name] == level for name, level in self.levels.items())


def parse_factor(text: str) -> Factor:
    """``memory=640,768,1024`` → a factor with three levels.

    Raises
    ------
    InputError
        No name, fewer than two levels, or one of them twice.
    """
    name, equals, rest = text.partition("=")
    name, levels = name.strip(), tuple(level.strip() for level in rest.split(","))
    hint = "write a factor and its levels: memory=640,768,1024"
    if not equals or not name:
        raise InputError(f"{text!r} is no factor", hint=hint)
    if name in RESERVED:
        raise InputError(f"{text!r}: {name} is the name of a column of the plan", hint="name it otherwise")
    if len(levels) < 2 or "" in levels:
        raise InputError(f"{text!r}: a factor has two levels or more, none empty", hint=hint)
    if len(set(levels)) < len(levels):
        raise InputError(f"{text!r}: a level is there twice", hint=hint)
    return Factor(name, levels)


def parse_skip(text: str, factors: Sequence[Factor]) -> Skip:
    """``memory=1024,channels=2`` → the cells with both.

    Raises
    ------
    InputError
        A factor or level that the design has not.
    """
    known = {factor.name: factor for factor in factors}
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, level = (piece.strip() for piece in part.partition("="))
        if name not in known:
            raise InputError(f"skip {text!r}: there is no factor {name!r}", hint=f"it has {', '.join(known)}")
        if level not in known[name].levels:
            levels = ", ".join(known[name].levels)
            raise InputError(f"skip {text!r}: {name} has no level {level!r}", hint=f"it has {levels}")
        found[name] = level
    return Skip(found)


def check_factors(factors: Sequence[Factor]) -> None:
    """Raises InputError for no factors, one twice, or more than there are letters."""
    names = [factor.name for factor in factors]
    if not names:
        raise InputError("a design needs a factor", hint="name one with its levels: memory=640,1024")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the factor {twice[0]!r} is there twice", hint="give all its levels at once")
    if len(names) > len(LETTERS):
        raise InputError(f"{len(names)} factors; at most {len(LETTERS)}", hint="leave some as they are")
