"""Blocks of two-level designs: interactions given up so that what differs between blocks harms no other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from satline.errors import InputError
from satline.experiment.designs._fraction import Fraction
from satline.experiment.designs._words import independent, length, letters, span


def block_of(high: int, words: Sequence[int]) -> int:
    """Number of the block, from 0: the signs of the words in the cell, read as bits."""
    return sum((length(word & ~high) & 1) << i for i, word in enumerate(words))


def choose_confounded(fraction: Fraction, blocks: int, given: tuple[int, ...]) -> tuple[int, ...]:
    """The words that make so many blocks: those given, or those that give up the highest orders.

    All products of the words are given up too, and all aliases of both; the least order among them counts.

    Raises
    ------
    InputError
        Not a power of 2, more blocks than half the cells, or given words that give up a main effect.
    """
    if given and blocks == 1:
        blocks = 1 << len(given)
    count = blocks.bit_length() - 1
    if blocks < 2 or blocks & (blocks - 1) or blocks > fraction.runs // 2:
        raise InputError(
            f"{blocks} blocks: blocks are 2, 4, 8, … and hold two cells at least",
            hint=f"there are {fraction.runs} cells",
        )
    if given:
        if len(given) != count:
            raise InputError(
                f"{blocks} blocks and {len(given)} interactions", hint=f"{blocks} blocks confound {count}"
            )
        if not independent([*given, *fraction.words]):
            raise InputError(
                "one of the confounded interactions follows from the others", hint="name another"
            )
        least = _least(fraction, given)
        if length(least) < 2:
            raise InputError(
                f"the main effect of {letters(least)} would be confounded with the blocks",
                hint="name other interactions to confound, or let them be chosen",
            )
        return given
    every = [word for word in range(1, 1 << fraction.factors) if word not in fraction.defining]
    every.sort(key=lambda w: (-length(w), letters(w)))
    choices = itertools.islice(itertools.combinations(every, count), 20_000)
    best = max(
        (c for c in choices if independent([*c, *fraction.words])),
        key=lambda c: _worth(fraction, c),
        default=None,
    )
    if best is None or length(_least(fraction, best)) < 2:
        raise InputError(
            f"no {blocks} blocks that spare all main effects were found",
            hint="have fewer blocks, or name what to confound",
        )
    return best


def given_up(fraction: Fraction, words: Sequence[int]) -> list[int]:
    """All that cannot be told from differences between blocks, low orders first."""
    every = {one for word in span(words) for one in (word, *fraction.aliases(word))}
    return sorted(every, key=lambda w: (length(w), letters(w)))


def _least(fraction: Fraction, words: Sequence[int]) -> int:
    return given_up(fraction, words)[0]


def _worth(fraction: Fraction, words: Sequence[int]) -> tuple[int, int]:
    lengths = [length(word) for word in given_up(fraction, words)]
    return min(lengths), -lengths.count(min(lengths))
