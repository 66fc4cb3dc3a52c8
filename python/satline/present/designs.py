"""A plan as blocks, CSV and JSON, and what it cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from satline.experiment.designs import (
    LETTERS,
    ROMAN,
    Factor,
    Fraction,
    Plan,
    given_up,
    length,
    letters,
    names,
)
from satline.present._written import csv_text
from satline.present.blocks import Block, Note, Table

_TOLD = 2  # orders whose aliases are told: few effects of higher orders are real


def plan_table(plan: Plan) -> Table:
    """The runs in their order."""
    blocked = any(run.block is not None for run in plan.runs)
    lead = ["run", *(["block"] if blocked else []), *(["replicate"] if plan.replicates > 1 else [])]
    rows = [(*lead, *(factor.name for factor in plan.factors))]
    for run in plan.runs:
        row = [str(run.number)]
        row += [str(run.block)] if blocked else []
        row += [str(run.replicate)] if plan.replicates > 1 else []
        rows.append((*row, *run.levels.values()))
    return Table.of(rows)


def plan_csv(plan: Plan) -> str:
    """The table; add a column of results, and `satline experiment anova` reads it."""
    return csv_text(plan_table(plan))


def plan_blocks(plan: Plan) -> Iterator[Block]:
    """The table, and what is to be known of the plan."""
    yield plan_table(plan)
    yield from map(Note, words(plan))


def aliases(fraction: Fraction) -> list[tuple[int, tuple[int, ...]]]:
    """Effects of low order, each with those of low order that it cannot be told from; each group once."""
    seen: set[int] = set()
    found = []
    every = sorted(range(1, 1 << fraction.factors), key=lambda w: (length(w), letters(w)))
    for word in every:
        if length(word) > _TOLD:
            break
        if word not in seen:
            others = fraction.aliases(word)
            seen.update(others)
            found.append((word, others))
    return found


def words(plan: Plan) -> list[str]:
    """What is to be known of the plan, a line each."""
    factors = plan.factors
    cells = math.prod(len(factor.levels) for factor in factors)
    what = f"{len(plan.runs)} runs: {plan.cells} of {cells} combinations"
    if plan.replicates > 1:
        what += f", {plan.replicates} times"
    if plan.blocks > 1:
        what += f", in {plan.blocks} blocks"
    lines = [f"{what}. The order is random, of seed {plan.seed}: the same seed gives the same plan."]
    if plan.skipped:
        cell = "; ".join(_cell(one) for one in plan.skipped[:4])
        more = f" and {len(plan.skipped) - 4} more" if len(plan.skipped) > 4 else ""
        lines.append(f"Not run: {cell}{more}. {_lost(plan)}")
    fraction = plan.fraction
    if fraction is not None:
        lines += _fraction_words(fraction, factors)
    if plan.confounded:
        whole = fraction or Fraction(len(factors))
        given = [
            w for w in given_up(whole, plan.confounded) if length(w) <= max(3, length(plan.confounded[0]))
        ]
        lines.append(f"Given up for the blocks: {'; '.join(names(w, factors) for w in given)}.")
    if plan.replicates == 1:
        lines.append(
            "Without replicates the error must come from high interactions (pooled) or Lenth's method."
        )
    return lines


def _cell(cell: Any) -> str:
    return ", ".join(f"{name} {level}" for name, level in cell.items())


def _lost(plan: Plan) -> str:
    """What the missing cells take from main effects and interactions of two."""
    import numpy as np

    from satline.experiment.variance import Layout, all_terms, estimable

    codes = [[f.levels.index(run.levels[f.name]) for f in plan.factors] for run in plan.runs]
    layout = Layout(
        tuple(f.name for f in plan.factors), tuple(f.levels for f in plan.factors), np.array(codes)
    )
    found = estimable(layout, all_terms(len(plan.factors), 2))
    hurt = [layout.words(t) for t in found.lost]
    gone = [layout.words(t) for t in found.aliased if plan.fraction is None or len(t) == 1]
    if not hurt and not gone:
        return "Main effects and interactions of two can still all be told."
    parts = [f"only in part: {', '.join(hurt)}"] if hurt else []
    parts += [f"not at all: {', '.join(gone)}"] if gone else []
    return f"Told {'; '.join(parts)}."


def _fraction_words(fraction: Fraction, factors: tuple[Factor, ...]) -> list[str]:
    key = ", ".join(f"{LETTERS[i]} {factor.name}" for i, factor in enumerate(factors))
    made = ", ".join(
        f"{LETTERS[place]} = {letters(word ^ 1 << place)}"
        for word, place in zip(fraction.words, fraction.generated, strict=True)
    )
    resolution = fraction.resolution or 0
    shown = ROMAN[resolution] if resolution < len(ROMAN) else str(resolution)
    lines = [
        f"{key}.",
        f"1/{1 << len(fraction.words)} of the whole, resolution {shown}: {made};"
        f" I = {' = '.join(letters(w) for w in fraction.defining[:8])}"
        + (" = …" if len(fraction.defining) > 8 else "")
        + ".",
    ]
    told = []
    for effect, others in aliases(fraction):
        near = [letters(w) for w in others if length(w) <= max(_TOLD, length(others[0]))][:4]
        if length(effect) + length(others[0]) <= 4:
            told.append(f"{letters(effect)} = {' = '.join(near)}")
    if told:
        more = f"; and {len(told) - 20} more" if len(told) > 20 else ""
        lines.append(f"Cannot be told apart: {'; '.join(told[:20])}{more}.")
    else:
        lines.append("Main effects and interactions of two are free of each other.")
    return lines


def content(plan: Plan) -> dict[str, Any]:
    """For JSON; `satline experiment anova` reads it too, once each run has a response."""
    factors, fraction = plan.factors, plan.fraction
    return {
        "factors": {factor.name: factor.levels for factor in factors},
        "seed": plan.seed,
        "replicates": plan.replicates,
        "blocks": plan.blocks,
        "fraction": None
        if fraction is None
        else {
            "part": 1 / (1 << len(fraction.words)),
            "resolution": fraction.resolution,
            "defining": [letters(w) for w in fraction.defining],
            "aliases": [
                {"effect": names(w, factors), "same": [names(o, factors) for o in others]}
                for w, others in aliases(fraction)
            ],
        },
        "confounded": [names(w, factors) for w in plan.confounded],
        "not_run": plan.skipped,
        "runs": [
            {"run": r.number, "block": r.block, "replicate": r.replicate, "levels": r.levels}
            for r in plan.runs
        ],
    }
