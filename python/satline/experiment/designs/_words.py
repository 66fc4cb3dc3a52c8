"""Words of the algebra of two-level designs: a set of factors is a number, factor i its bit 2^i."""

from __future__ import annotations

from collections.abc import Sequence

from satline.errors import InputError
from satline.experiment.designs._factors import LETTERS, Factor


def letters(mask: int) -> str:
    """0b1011 → ABD; the mean is I."""
    return "".join(LETTERS[i] for i in range(mask.bit_length()) if mask >> i & 1) or "I"


def names(mask: int, factors: Sequence[Factor]) -> str:
    """0b11 → memory × channels."""
    return " × ".join(factor.name for i, factor in enumerate(factors) if mask >> i & 1) or "mean"


def length(mask: int) -> int:
    """How many factors are in it."""
    return mask.bit_count()


def parse_word(text: str, factors: Sequence[Factor], where: str) -> int:
    """``ABD`` by letters, or ``memory*channels`` by names.

    Raises
    ------
    InputError
        A factor that the design has not, or one twice. `where` says what was being read.
    """
    by_name = {factor.name: i for i, factor in enumerate(factors)}
    text = text.strip()
    pieces = [piece.strip() for piece in text.split("*")] if "*" in text or text in by_name else list(text)
    mask = 0
    for piece in pieces:
        place = by_name.get(piece, LETTERS.find(piece.upper()) if len(piece) == 1 else -1)
        if not 0 <= place < len(factors):
            key = ", ".join(f"{LETTERS[i]} {factor.name}" for i, factor in enumerate(factors))
            raise InputError(f"{where}: there is no factor {piece!r}", hint=f"the factors are {key}")
        if mask >> place & 1:
            raise InputError(f"{where}: {piece} is there twice", hint="name each factor once")
        mask |= 1 << place
    if not mask:
        raise InputError(f"{where} is empty", hint="such as ABC, or memory*channels")
    return mask


def span(generators: Sequence[int]) -> list[int]:
    """All products of some of the words, but for the empty one: the group that they make."""
    group = [0]
    for word in generators:
        group += [word ^ other for other in group]
    return group[1:]


def independent(generators: Sequence[int]) -> bool:
    """No word is the product of others."""
    return 0 not in span(generators)
