"""An analysis of variance as blocks, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from satline.experiment.variance import Analysis, Contrast
from satline.present._numbers import number
from satline.present.blocks import Block, Note, Table
from satline.present.documents import plain

Rows = list[tuple[str, ...]]
_YATES_MOST = 32
_CHECKED = {
    "normal": "normal distribution",
    "run order": "no trend over the runs",
}


def shown(value: float | None, digits: int = 4) -> str:
    """A number of a table."""
    if value is not None and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "–" if value is None else number(value, digits=digits)


def chance(value: float | None) -> str:
    """A significance: three places, never 0."""
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def variance_table(found: Analysis) -> Table:
    """Sums of squares, degrees of freedom, mean squares, F, significance."""
    judged = any(row.chance is not None for row in found.rows)
    together = judged and found.adjust != "none"
    head = ["source", "SS", "df", "MS"] + (["F", "p"] if judged else []) + (["p of all"] if together else [])
    table: Rows = [tuple(head)]
    for row in found.rows:
        line = [row.source, shown(row.squares, 6), str(row.freedom)]
        line.append("" if row.source == "total" else shown(row.mean_square, 6))
        if judged:
            line += [
                "" if row.chance is None else f"{row.f:.2f}",
                "" if row.chance is None else chance(row.chance),
            ]
        if together:
            line.append("" if row.adjusted is None else chance(row.adjusted))
        table.append(tuple(line))
        if row.source == "error":
            for part in found.error_parts:
                line = [f"  {part.source}", shown(part.squares, 6), str(part.freedom)]
                table.append((*line, shown(part.mean_square, 6), *[""] * (len(head) - 4)))
    return Table.of(table)


def effects_table(found: Analysis) -> Table:
    """Differences with intervals; as ratios if the analysis was of logarithms."""
    head = "ratio" if found.log else "effect"
    lenth = found.lenth
    if lenth is not None:
        table: Rows = [("effect of", head, "p", "p of all")]
        for one, p, of_all in zip(found.contrasts, lenth.chances, lenth.adjusted, strict=True):
            table.append((_what(one), shown(_back(one.value, found.log)), chance(p), chance(of_all)))
        return Table.of(table)
    table = [("effect of", head, "low", "high", "")]
    for one in found.contrasts:
        ends = [shown(_back(end, found.log)) for end in (one.value, one.low, one.high)]
        table.append((_what(one), *ends, _verdict(one)))
    return Table.of(table)


def _verdict(one: Contrast) -> str:
    if one.value is None:
        return "not estimable"
    if one.low is None or one.high is None:
        return ""
    return "cannot tell" if one.low <= 0.0 <= one.high else "up" if one.value > 0 else "down"


def _what(one: Contrast) -> str:
    return one.source if one.between is None else f"{one.source} {one.between[0]} → {one.between[1]}"


def _back(value: float | None, log: bool) -> float | None:
    return math.exp(value) if log and value is not None else value


def means_table(found: Analysis) -> Table:
    """Mean at each level; geometric if the analysis was of logarithms."""
    table: Rows = [("level", "geometric mean" if found.log else "mean", "low", "high")]
    for one in found.means:
        ends = (shown(_back(end, found.log)) for end in (one.value, one.low, one.high))
        table.append((f"{one.factor} {one.level}", *ends))
    return Table.of(table)


def yates_table(found: Analysis) -> Table:
    """Yates' table, its passes left out."""
    table: Rows = [("Yates", "total", "contrast", "effect", "SS")]
    for row in found.yates:
        words = found.layout.words(row.factors)
        numbers = (row.total, row.contrast, row.effect, row.sum_of_squares)
        table.append((words, *(shown(x, 6) for x in numbers)))
    return Table.of(table)


def notes(found: Analysis) -> list[str]:
    """What a reader must know of the numbers."""
    part = f"{100 * (1 - found.level):g} %"
    lines = list(found.notes)
    if found.aliases:
        pairs = [f"{b} = {a}" for a, b in found.aliases]
        more = f", and {len(pairs) - 12} more" if len(pairs) > 12 else ""
        lines.append(f"cannot be told apart by this fraction: {'; '.join(pairs[:12])}{more}")
    if found.lenth is not None:
        one = found.lenth
        lines.append(
            f"Lenth: an effect's standard error is {shown(one.pseudo_error)}; active beyond"
            f" ±{shown(one.margin)} by itself, ±{shown(one.simultaneous_margin)} among all"
            f" {len(one.chances)} ({part})"
        )
        if found.log:
            lines.append("these margins are of logarithms")
    else:
        balanced = "" if not found.model.orthogonal else "; the design is balanced: all types agree"
        lines.append(f"Sums of squares: type {found.kind}{balanced}")
        whose = f"{found.adjust.capitalize()}'s" if found.adjust == "holm" else found.adjust.capitalize()
        if found.adjust == "none":
            lines.append(f"{part} intervals and significances, each by itself: of many, some mislead")
        else:
            lines.append(
                f"{part} intervals of effects hold together (Bonferroni); p of all: {whose}; means one by one"
            )
    if any(one.value is None for one in found.means):
        lines.append("–: a mean over cells that were not run")
    if found.pooled_from is not None and found.lenth is None:
        lines.append(f"Interactions of {found.pooled_from} factors or more are the error, as declared")
    if found.seen is not None:
        seen = (
            f"a factor of {shown(math.exp(found.seen))}"
            if found.log
            else f"a difference of {shown(found.seen)}"
        )
        lines.append(f"Such an experiment sees {seen} four times in five; less may escape it")
    for check in found.checks:
        what = _CHECKED.get(check.name, check.name.replace("spread by", "equal spread at all levels of"))
        if check.chance is None:
            lines.append(f"Residuals, {what}: not checked, {check.reason}")
        else:
            verdict = "DOUBTFUL" if check.chance < 0.05 else "no sign against it"
            lines.append(f"Residuals, {what}: {verdict} (p {chance(check.chance)})")
    return lines


def analysis_blocks(found: Analysis, first: Sequence[str]) -> Iterator[Block]:
    """The tables, and the notes below them."""
    yield from map(Note, first)
    with_yates = bool(found.yates) and len(found.yates) <= _YATES_MOST
    # The sums of squares of effects by Lenth's method are in Yates' table too.
    if found.lenth is None or not with_yates:
        yield variance_table(found)
    yield effects_table(found)
    if found.lenth is None:
        yield means_table(found)
    if with_yates:
        yield yates_table(found)
    yield from map(Note, notes(found))


def content(found: Analysis, class_name: str | None, before: Iterable[str]) -> dict[str, Any]:
    """For JSON; effects and means of logarithms are logarithms, as `log` says."""
    return {
        "class": class_name,
        "factors": dict(zip(found.layout.names, found.layout.levels, strict=True)),
        "runs": len(found.model.y),
        "type": found.kind,
        "level": found.level,
        "adjust": found.adjust,
        "log": found.log,
        "pooled_from": found.pooled_from,
        "variance": [{**plain(row), "mean_square": row.mean_square} for row in found.rows],
        "error_parts": [{**plain(row), "mean_square": row.mean_square} for row in found.error_parts],
        "effects": found.contrasts,
        "means": found.means,
        "yates": [
            {**plain(row), "factors": [found.layout.names[i] for i in row.factors]} for row in found.yates
        ],
        "lenth": found.lenth,
        "checks": found.checks,
        "smallest_difference_seen": found.seen,
        "aliases": [{"effect": b, "same": a} for a, b in found.aliases],
        "notes": [*before, *found.notes],
    }
