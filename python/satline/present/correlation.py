"""Correlations as text in a terminal, as a page and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich.console import Console

from satline.correlation import Correlation, Hit, Layers
from satline.present import _numbers
from satline.present._escape import cell, visible
from satline.present._stacked import Strip, clock, layered, spark, stacked
from satline.present._text import say
from satline.present.blocks import Block, Headline, Note, Table, Tiles

_WIDEST = 100
_HEADING = ("", "series", "rank", "r", "at once", "lag", "pairs", "worth", "chance", "rate")


def lead(found: Correlation) -> str:
    """The answer in a sentence."""
    n, tested = len(found.found), found.tested
    several = sum(len(h.members) for h in found.found)
    if not n:
        return f"Nothing surely moves with it: chance alone may bring what is seen in {tested:,} series."
    groups = f" in {n:,} groups" if several > n else ""
    sure = f"{several:,} of {tested:,} series surely move with it{groups}"
    return f"{sure}; up to {found.rate:.0%} of these may be false."


def notes(found: Correlation) -> list[str]:
    """What the reader must know beside: what was taken out, left out, and looked at."""
    panel = found.panel
    lines = []
    reach = found.lags * found.step_s
    looked = (
        f"lags up to {found.lags} observations ({duration(reach)}) either way" if found.lags else "no lags"
    )
    lines.append(f"Observations of {duration(found.step_s)}; {looked}, which the chances allow for.")
    if found.given:
        lines.append(
            f"At equal {' and '.join(found.given)}: what these explain was taken out of all series first."
        )
    left = [f"{panel.constant:,} never change"] if panel.constant else []
    left += [f"{panel.sparse:,} have fewer than 20 values"] if panel.sparse else []
    left += [f"{found.unpaired:,} share too few moments with it"] if found.unpaired else []
    left += [f"{len(found.related):,} are made of the same counters"] if found.related else []
    if left:
        lines.append(f"Left out: {', '.join(left)}.")
    if found.shift is not None:
        when = clock(float(panel.time_s[found.shift.place]))
        lines.append(f"Its own level shifts at {when} UTC; ⇅ marks those that shift at the same time.")
    return [*lines, *found.notes]


def duration(seconds: float) -> str:
    """``10 s``, ``5 min``, ``2 h``, good to half a percent: steps are hardly ever of whole seconds."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        whole = round(seconds / size)
        if whole and abs(seconds / size - whole) <= 0.005 * whole:
            return f"{whole} {unit}"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def lag_words(hit: Hit) -> str:
    """When it moves: ``at once``, ``30 s before``, ``1 min after``."""
    if not hit.lag:
        return "at once"
    return f"{duration(abs(hit.lag_s))} {'before' if hit.lag > 0 else 'after'}"


def print_correlation(found: Correlation, console: Console, *, top: int = 10, walk: str = "") -> None:
    """Print `found`, no wider than 100 columns; the series as sparklines under the PQM's."""
    width = min(console.width, _WIDEST)
    plain = not console.encoding.lower().replace("-", "").startswith("utf")
    say(f"What moves with {visible(found.pqm, longest=60)}", console, "bold")
    say(lead(found), console)
    shown = found.hits[:top] if not found.found else found.found[:top]
    strip = max(12, width - 61)
    console.print()
    if not found.found:
        say("The nearest, any of which chance may have brought:", console)
    head = f"{'':4}{'rank':>6} {'r':>6}  {'when':<12} {'series':<28}"
    console.print(cell(f"{head[: width - strip - 1]}", "bold", encoding=console.encoding), soft_wrap=True)
    values = found.panel.values
    own = spark(values[found.place], strip, plain=plain)
    line = f"{'':32}{visible(found.pqm, longest=28):<28} {own}"
    console.print(cell(line, encoding=console.encoding), soft_wrap=True, crop=True)
    for number, hit in enumerate(shown, start=1):
        shift = "⇅" if hit.shift is not None and not plain else ""
        name = visible(hit.name, longest=27 if shift else 28) + shift
        line = (
            f"{number:>3} {_sign(hit.spearman):>6} {_sign(hit.pearson):>6}  {lag_words(hit):<12} {name:<28}"
        )
        console.print(
            cell(f"{line} {spark(values[hit.place], strip, plain=plain)}", encoding=console.encoding),
            soft_wrap=True,
        )
        if len(hit.members) > 1:
            first = visible(hit.members[1], longest=width - 56)
            others = f", and {len(hit.members) - 2:,} more" if len(hit.members) > 2 else ""
            line = f"{'':32}  = {first}{others}"
            console.print(cell(line, "dim", encoding=console.encoding), soft_wrap=True)
    if len(found.found) > len(shown):
        say(
            f"{len(found.found) - len(shown):,} more: --top chooses how many, --json and --html give all",
            console,
            "dim",
        )
    console.print()
    for line in notes(found):
        say(line, console, "dim")
    if walk:
        say(walk, console)


def _sign(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.2f}".replace("-", "−")


def print_layers(found: Layers, console: Console) -> None:
    """The layers as sparklines, each with its share of the whole."""
    width = min(console.width, _WIDEST)
    plain = not console.encoding.lower().replace("-", "").startswith("utf")
    console.print(cell(f"How {found.variable} is divided", "bold", encoding=console.encoding), soft_wrap=True)
    strip = max(12, width - 40)
    for name, share, row in zip(found.names, found.share, found.values, strict=True):
        line = f"{share:>6.1%}  {visible(name, longest=30):<30} {spark(row, strip, plain=plain)}"
        console.print(cell(line, encoding=console.encoding), soft_wrap=True)


def strips(found: Correlation, top: int) -> list[Strip]:
    """The PQM and its strongest hits, as charts on one time axis."""
    values = found.panel.values
    made = [
        Strip(
            str(found.pqm),
            "",
            values[found.place],
            found.pqm.unit,
            None if found.shift is None else found.shift.place,
        )
    ]
    for hit in (found.found or found.hits)[:top]:
        alike = f" (and {len(hit.members) - 1} like it)" if len(hit.members) > 1 else ""
        sure = "" if hit.found else ", may be chance"
        made.append(
            Strip(
                visible(hit.name) + alike,
                f"rank {_sign(hit.spearman)}, r {_sign(hit.pearson)}, {lag_words(hit)}{sure}",
                values[hit.place],
                hit.name.unit,
                None if hit.shift is None else hit.shift.place,
            )
        )
    return made


def svg(found: Correlation, *, top: int = 10, standalone: bool = True) -> str:
    """The stacked charts."""
    return stacked(strips(found, top), found.panel.time_s, standalone=standalone)


def layers_svg(found: Layers, *, standalone: bool = True) -> str:
    """The layer chart."""
    return layered(found.names, found.values, found.time_s, found.unit, standalone=standalone)


def page(recording: Path, found: Correlation, *, top: int = 10) -> str:
    """The page: stacked charts, all discoveries with their figures, the members of groups."""
    from satline.present.html import blocks_page

    return blocks_page(recording, _page(found, top), drawing=Markup(svg(found, top=top, standalone=False)))


def _page(found: Correlation, top: int) -> Iterator[Block]:
    shown = found.found or found.hits[:top]
    yield Headline(f"What moves with {found.pqm}", 1)
    yield Note(lead(found), "strong")
    yield from (Note(line, "quiet") for line in notes(found))
    if shown:
        yield Headline("Discoveries" if found.found else "The nearest, any of which chance may have brought")
        yield Table.of(table(shown), text=(1,))
    groups = [(str(h.name), ", ".join(map(str, h.members[1:]))) for h in shown if len(h.members) > 1]
    if groups:
        yield Headline("What stands for others like it")
        yield Tiles(tuple(groups))


def layers_page(recording: Path, found: Layers) -> str:
    """The page of a layer chart."""
    from satline.present.html import blocks_page

    shares = [(name, f"{share:.1%}") for name, share in zip(found.names, found.share, strict=True)]
    blocks = (
        Headline(f"How {found.variable} is divided", 1),
        Note(f"{found.variable} of each, on top of each other, over time.", "strong"),
        Headline("Over all time"),
        Table.of([("who", "share of the whole"), *shares]),
    )
    return blocks_page(recording, blocks, drawing=Markup(layers_svg(found, standalone=False)))


def table(hits: Sequence[Hit]) -> list[tuple[str, ...]]:
    """A heading row and a row for each hit."""
    rows: list[tuple[str, ...]] = [_HEADING]
    for number, h in enumerate(hits, start=1):
        rows.append(
            (
                str(number), str(h.name), _sign(h.spearman), _sign(h.pearson), _sign(h.at_once), lag_words(h),
                f"{h.pairs:,}", _numbers.number(h.effective), f"{h.p:.1g}", f"{h.q:.1g}",
            )
        )  # fmt: skip
    return rows


def content(found: Correlation, recording: Path) -> dict[str, Any]:
    """For JSON: every series that was held against the PQM."""
    return {
        "recording": str(recording),
        "pqm": str(found.pqm),
        "step_s": found.step_s,
        "lags": found.lags,
        "given": list(found.given),
        "rate": found.rate,
        "control": found.control,
        "tested": found.tested,
        "constant": found.panel.constant,
        "sparse": found.panel.sparse,
        "unpaired": found.unpaired,
        "related": [str(n) for n in found.related],
        "hits": [
            {
                "name": str(h.name),
                "scope": h.name.scope,
                "unit": h.name.unit,
                "pearson": h.pearson,
                "spearman": h.spearman,
                "at_once": h.at_once,
                "lag_s": h.lag_s,
                "pairs": h.pairs,
                "effective": h.effective,
                "p": h.p,
                "q": h.q,
                "found": h.found,
                "members": [str(m) for m in h.members],
                "shifts_together": h.shift is not None,
            }
            for h in found.hits
        ],
    }
