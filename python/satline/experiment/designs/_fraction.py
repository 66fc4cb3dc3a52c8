"""Fractions of two-level designs: generators, resolution, aliases [Box, Hunter and Hunter, ch. 6]."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from satline.errors import InputError
from satline.experiment.designs._factors import Factor
from satline.experiment.designs._words import length, letters, parse_word, span

ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
MOST_LOOKED_AT = 20_000
MOST_FACTORS = 15  # a search over more takes minutes


@dataclass(frozen=True)
class Fraction:
    """1/2^p of a design of k factors at two levels.

    factors
        k.
    words
        The p generators as defining words: D = ABC is the word ABCD. Their signs are all +.
    generated
        The factor that each word gives its levels.
    """

    factors: int
    words: tuple[int, ...] = ()
    generated: tuple[int, ...] = ()

    @cached_property
    def defining(self) -> tuple[int, ...]:
        """The defining relation: every product of generators, short ones first."""
        return tuple(sorted(span(self.words), key=lambda w: (length(w), letters(w))))

    @property
    def resolution(self) -> int | None:
        """The length of the shortest defining word; ``None`` of a whole design."""
        return min((length(word) for word in self.defining), default=None)

    @property
    def runs(self) -> int:
        """Cells of the fraction."""
        return 1 << (self.factors - len(self.words))

    def aliases(self, effect: int) -> tuple[int, ...]:
        """The effects that cannot be told from `effect`, low orders first: effect · word for each word."""
        return tuple(sorted((effect ^ w for w in self.defining), key=lambda w: (length(w), letters(w))))

    def pattern(self) -> tuple[int, ...]:
        """How many defining words have length 1, 2, …: less at the front is less aliased."""
        lengths = [length(word) for word in self.defining]
        return tuple(lengths.count(n) for n in range(1, self.factors + 1))

    def holds(self, high: int) -> bool:
        """Is the cell with these factors high in it? Each word, as a product of ±1, must be +1."""
        return all(length(word & ~high) % 2 == 0 for word in self.words)


def parse_generators(text: str, factors: Sequence[Factor]) -> Fraction:
    """``D=ABC,E=BCD`` by letters, or ``algorithm=memory*channels`` by names.

    Raises
    ------
    InputError
        Not of that form, a factor generated twice or from others that are generated.
    """
    words, generated = [], []
    for part in text.split(","):
        where = f"generators {part.strip()!r}"
        left, equals, right = part.partition("=")
        if not equals:
            raise InputError(
                f"{where} is no generator", hint="write D=ABC: D goes with the product of A, B, C"
            )
        one = parse_word(left, factors, where)
        if length(one) != 1:
            raise InputError(f"{where}: one factor stands on the left", hint="write D=ABC")
        words.append(one ^ parse_word(right, factors, where))
        generated.append(one.bit_length() - 1)
        if length(words[-1]) < 3:
            raise InputError(f"{where}: two main effects would be one", hint="have two factors on the right")
    bits = sum(1 << place for place in set(generated))
    if len(set(generated)) < len(generated):
        raise InputError(f"generators {text!r}: a factor is generated twice", hint="generate each once")
    if any((word ^ 1 << place) & bits for word, place in zip(words, generated, strict=True)):
        raise InputError(
            f"generators {text!r}: a generated factor stands on the right",
            hint="generate from factors that are not generated themselves",
        )
    return _refused_if_confused(
        Fraction(len(factors), tuple(words), tuple(generated)), f"generators {text!r}"
    )


def _refused_if_confused(fraction: Fraction, where: str) -> Fraction:
    if (fraction.resolution or 3) < 3:
        word = letters(fraction.defining[0])
        raise InputError(
            f"{where}: the defining relation has {word}: main effects of both cannot be told apart",
            hint="choose other generators, or let them be chosen",
        )
    return fraction


def parse_fraction(text: str) -> int:
    """``1/4`` → 2, the number of generators; InputError for anything but a power of a half."""
    found = re.fullmatch(r"1\s*/\s*(\d{1,6})", text.strip())
    part = int(found[1]) if found else 0
    if part < 2 or part & (part - 1):
        raise InputError(f"fraction {text!r}", hint="write 1/2, 1/4, 1/8, …")
    return part.bit_length() - 1


def parse_resolution(text: str) -> int:
    """``IV`` or ``4`` → 4."""
    written = text.strip().upper()
    number = ROMAN.index(written) if written in ROMAN else int(written) if written.isdecimal() else 0
    if not 3 <= number < len(ROMAN):
        raise InputError(f"resolution {text!r}", hint="write III, IV or V")
    return number


def fraction_of(factors: int, generators: int) -> Fraction:
    """The fraction 1/2^generators of highest resolution, and of least aberration among those looked at.

    Raises
    ------
    InputError
        So small a fraction that main effects could not be told apart.
    """
    base = factors - generators
    _refused_if_many(factors)
    if base < 1 or generators > (1 << base) - base - 1:
        raise InputError(
            f"1/{1 << generators} of {factors} factors: main effects could not be told apart",
            hint="run a larger fraction",
        )
    for resolution in range(factors, 2, -1):
        found = itertools.islice(_with_resolution(factors, generators, resolution), 200)
        best = min(found, key=lambda one: (one.pattern(), one.words), default=None)
        if best is not None:
            return best
    raise InputError(f"no 1/{1 << generators} of {factors} factors was found", hint="name the generators")


def _refused_if_many(factors: int) -> None:
    if factors > MOST_FACTORS:
        raise InputError(
            f"a part of {factors} factors is not searched for; at most {MOST_FACTORS}",
            hint="name the generators",
        )


def choose_fraction(factors: int, resolution: int) -> Fraction:
    """The smallest fraction with at least this resolution; the whole design where none has it."""
    _refused_if_many(factors)
    for generators in range(factors - 1, 0, -1):
        if generators <= (1 << (factors - generators)) - (factors - generators) - 1:
            found = fraction_of(factors, generators)
            if (found.resolution or 0) >= resolution:
                return found
    return Fraction(factors)


def _with_resolution(factors: int, generators: int, resolution: int) -> Iterator[Fraction]:
    """Fractions of at least this resolution, by depth first, as far as a bounded search sees them."""
    base = factors - generators
    bodies = [b for b in range(1, 1 << base) if length(b) >= resolution - 1]
    bodies.sort(key=lambda b: (-length(b), letters(b)))
    looked = itertools.count()

    def further(words: tuple[int, ...], group: tuple[int, ...], start: int) -> Iterator[Fraction]:
        if len(words) == generators:
            yield Fraction(factors, words, tuple(range(base, factors)))
            return
        for place in range(start, len(bodies)):
            if next(looked) > MOST_LOOKED_AT:
                return
            word = bodies[place] | 1 << (base + len(words))
            grown = [word, *(word ^ other for other in group)]
            if all(length(one) >= resolution for one in grown):
                yield from further((*words, word), (*group, *grown), place + 1)

    yield from further((), (), 0)
