"""Designs: which combinations of factors are run, in which blocks and order."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satline.errors import InputError
from satline.experiment.designs._blocks import block_of, choose_confounded, given_up
from satline.experiment.designs._factors import (
    LETTERS,
    MOST_RUNS,
    Factor,
    Skip,
    check_factors,
    parse_factor,
    parse_skip,
)
from satline.experiment.designs._fraction import (
    ROMAN,
    Fraction,
    choose_fraction,
    fraction_of,
    parse_fraction,
    parse_generators,
    parse_resolution,
)
from satline.experiment.designs._words import length, letters, names, parse_word, span

__all__ = [
    "LETTERS",
    "ROMAN",
    "Factor",
    "Fraction",
    "Plan",
    "Run",
    "Skip",
    "check_factors",
    "choose_fraction",
    "fraction_of",
    "given_up",
    "length",
    "letters",
    "make_plan",
    "names",
    "parse_factor",
    "parse_fraction",
    "parse_generators",
    "parse_resolution",
    "parse_skip",
    "parse_word",
]


@dataclass(frozen=True)
class Run:
    """One run of a plan.

    number
        From 1, in the order in which they are to be run.
    block
        From 1; ``None`` where there are no blocks.
    replicate
        From 1.
    levels
        By factor.
    """

    number: int
    block: int | None
    replicate: int
    levels: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """Runs in their order.

    seed
        The order comes of it alone.
    fraction
        Of a design at two levels; ``None`` of others, and of a whole one.
    confounded
        Interactions (as words) that cannot be told from differences between blocks.
    skipped
        Cells that were left out because they cannot be run.
    """

    factors: tuple[Factor, ...]
    runs: tuple[Run, ...]
    replicates: int
    seed: int
    fraction: Fraction | None = None
    confounded: tuple[int, ...] = ()
    blocks: int = 1
    skipped: tuple[Mapping[str, str], ...] = ()

    @property
    def cells(self) -> int:
        """Different combinations that are run."""
        return len({tuple(run.levels.values()) for run in self.runs})


def make_plan(
    factors: Sequence[Factor],
    *,
    seed: int,
    replicates: int = 1,
    fraction: Fraction | None = None,
    blocks: int = 1,
    confound: Sequence[int] = (),
    replicate_blocks: bool = False,
    skips: Sequence[Skip] = (),
) -> Plan:
    """Plan the runs: every cell of the design, or of its fraction, `replicates` times.

    Parameters
    ----------
    blocks
        Of each replicate, a power of 2: for factors at two levels. Which interactions are given up for them
        is chosen, highest orders first, or given by `confound`.
    replicate_blocks
        Each replicate is a block by itself.
    seed
        The order is random within each block, and the blocks follow each other in random order.

    Raises
    ------
    InputError
        Factors that do not go with the fraction or the blocks, too many runs, or none left.
    """
    check_factors(factors)
    cells = math.prod(len(factor.levels) for factor in factors) >> len(fraction.words if fraction else ())
    if cells * replicates > MOST_RUNS:
        raise InputError(
            f"{cells * replicates:,} runs; at most {MOST_RUNS:,}", hint="run a fraction, or fewer levels"
        )
    words = _confounded(factors, fraction, blocks, confound)
    if replicate_blocks and words:
        raise InputError("replicates as blocks, and blocks within them", hint="choose one of the two")
    kept, skipped = [], []
    for cell, high in _cells(factors, fraction):
        if any(skip.holds(cell) for skip in skips):
            skipped.append(cell)
        else:
            kept.append((cell, high))
    if not kept:
        raise InputError("every cell is skipped", hint="skip fewer levels")
    groups: dict[tuple[int, int], list[dict[str, str]]] = {}
    for replicate in range(1, replicates + 1):
        for cell, high in kept:
            within = block_of(high, words)
            groups.setdefault((replicate if words or replicate_blocks else 0, within), []).append(
                cell | {"": str(replicate)}
            )
    return Plan(
        tuple(factors),
        _ordered(list(groups.values()), seed, bool(words) or replicate_blocks),
        replicates,
        seed,
        fraction if fraction and fraction.words else None,
        tuple(span(words)),
        len(groups),
        tuple(skipped),
    )


def _cells(factors: Sequence[Factor], fraction: Fraction | None) -> list[tuple[dict[str, str], int]]:
    """The cells in standard order, the first factor fastest, and which factors are high in each."""
    names = [factor.name for factor in factors]
    made = []
    for reverse in itertools.product(*(range(len(factor.levels)) for factor in reversed(factors))):
        places = reverse[::-1]
        high = sum(1 << i for i, place in enumerate(places) if place)
        if fraction is None or fraction.holds(high):
            levels = (factor.levels[place] for factor, place in zip(factors, places, strict=True))
            made.append((dict(zip(names, levels, strict=True)), high))
    return made


def _ordered(groups: list[list[dict[str, str]]], seed: int, blocked: bool) -> tuple[Run, ...]:
    chance = random.Random(seed)
    chance.shuffle(groups)
    runs: list[Run] = []
    for number, group in enumerate(groups, 1):
        chance.shuffle(group)
        for cell in group:
            replicate = int(cell.pop(""))
            runs.append(Run(len(runs) + 1, number if blocked else None, replicate, cell))
    return tuple(runs)


def _confounded(
    factors: Sequence[Factor], fraction: Fraction | None, blocks: int, confound: Sequence[int]
) -> tuple[int, ...]:
    """The words whose signs make the blocks."""
    if blocks == 1 and not confound:
        return ()
    if any(len(factor.levels) != 2 for factor in factors):
        raise InputError(
            "blocks within a replicate need factors at two levels",
            hint="have each replicate as a block",
        )
    whole = fraction or Fraction(len(factors))
    return choose_confounded(whole, blocks, tuple(confound))
