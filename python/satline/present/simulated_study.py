"""A simulated study as blocks for the terminal and for its page in Markdown, with its figures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from satline.extras import can_draw
from satline.present._numbers import Scale
from satline.present._written import markdown
from satline.present.blocks import Block, Curve, Headline, Note, Table
from satline.present.documents import plain
from satline.present.html import write_page
from satline.present.simulation import heading, last, plot, point_blocks, scale_of, shown
from satline.simulation import ArmRow, Effects, Estimate, StudyResult, against, effects, measure

Titled = tuple[str, list[tuple[str, ...]]]
UNSURE = " ?"
_COMPARED = (
    "Changes are at equal load under common random numbers, with 95 % intervals; `?`: the interval holds 0."
)
_EFFECTS = (
    "An effect is the mean change from off to on over all combinations of the other parts; that of two"
    " together (×) is half of how much the effect of one changes with the other. Intervals hold for all"
    " effects of a measure at one place together (95 %, Bonferroni); `?`: the interval holds 0."
)


def study_blocks(
    result: StudyResult, names: Sequence[str], *, made: str = "", figures: Sequence[Curve] = ()
) -> Iterator[Block]:
    """Comparisons and effects first, then the points that they are made of.

    Parameters
    ----------
    names
        Measures of the points.
    made
        How the page was made; empty: it is no page.
    """
    file = result.study.file
    yield Headline(file.title, 1)
    if file.question:
        yield Note(file.question)
    if made:
        yield Note(made)
    for title, rows in (*comparison_tables(result), *effect_tables(result)):
        yield Headline(title)
        yield Table.of(rows)
    if file.compare:
        yield Note(_COMPARED, "quiet")
    if file.factor:
        yield Note(_EFFECTS, "quiet")
    yield from figures
    for name, simulated in () if file.factor else result.arms.items():
        if name or len(result.arms) > 1:
            yield Headline(name or "All points")
        yield from point_blocks(simulated, names)


def write_study_page(result: StudyResult, path: Path) -> list[Path]:
    """Write the page and, in a directory of its name beside it, every figure. Returns all files written.

    Raises
    ------
    InputError
        They cannot be written.
    """
    study = result.study
    load = study.file.load
    made = (
        f"Made by `satline simulate {study.name} --markdown FILE`: machine {study.machine.stem}, "
        f"workload {study.workload.stem}, {load.replications} replications of {load.seconds:g} s, "
        f"from seed {load.seed}."
    )
    directory = path.with_suffix("")
    directory.mkdir(parents=True, exist_ok=True)
    figures = write_figures(result, directory)
    if not figures:
        directory.rmdir()
    blocks = study_blocks(result, study.file.measures, made=made, figures=figures)
    write_page(path, markdown(blocks))
    return [path, *(path.parent / one.file for one in figures)]


def write_figures(result: StudyResult, directory: Path) -> list[Curve]:
    """Draw every figure of the study into `directory`; their files are relative to where that lies.

    None without what draws them.

    Raises
    ------
    InputError
        It cannot be written.
    """
    from satline.present._draw import picture

    written: list[Curve] = []
    if not can_draw():
        return written
    for plan in result.study.file.figure:
        drawn = plot(plan, result.arms)
        if any(line.marks for line in drawn.lines):
            path = directory / f"{drawn.name}.svg"
            write_page(path, picture(drawn))
            written.append(Curve(drawn, f"{directory.name}/{path.name}"))
    return written


def compared(result: StudyResult) -> dict[str, list[ArmRow]]:
    """By the name of the other arm: its rows against the first arm; empty where nothing is to be compared."""
    if not result.study.file.compare:
        return {}
    (_, base), *others = result.arms.items()
    return {name: against(base, other, result.study.file.measures) for name, other in others}


def comparison_tables(result: StudyResult) -> Iterator[Titled]:
    """Title and rows: with one place a table of all measures, with several one for each measure."""
    base = next(iter(result.arms))
    for other, rows in compared(result).items():
        places = {tuple(row.label.items()) for row in rows}
        title = f"{other} against {base}"
        if len(places) == 1:
            place = ", ".join(f"{value} {last(key)}" for key, value in rows[0].label.items())
            lines = [_cells(row, _scale_of([row]), words=True) for row in rows]
            yield f"{title}, {place}", [("measure", base, other, "change"), *lines]
            continue
        for name in result.study.file.measures:
            same = [row for row in rows if row.measure == name]
            if not any(row.base.value or row.other.value for row in same):
                continue
            scale = _scale_of(same)
            keys = tuple(last(key) for key in same[0].label)
            lines = [(*row.label.values(), *_cells(row, scale)) for row in same]
            yield f"{title}: {heading(name, scale)}", [(*keys, base, other, "change"), *lines]


def _scale_of(rows: Sequence[ArmRow]) -> Scale:
    return scale_of(rows[0].measure, [estimate for row in rows for estimate in (row.base, row.other)])


def _cells(row: ArmRow, scale: Scale, *, words: bool = False) -> tuple[str, ...]:
    numbers = (shown(row.base, scale), shown(row.other, scale), percent(row.change))
    return (heading(row.measure, scale), *numbers) if words else numbers


def percent(change: Estimate) -> str:
    """``+12 % [9, 15]``; a question mark where the interval holds 0."""
    if change.value is None:
        return "–"
    text = f"{_whole(change.value)} %"
    if change.low is None or change.high is None:
        return text
    sure = not change.low <= 0.0 <= change.high
    return f"{text} [{_whole(change.low)}, {_whole(change.high)}]" + ("" if sure else UNSURE)


def _whole(part: float) -> str:
    """A part as percent with its sign, with a decimal where it is small."""
    value = 100.0 * part
    rounded = round(value, 1) if abs(value) < 10 else round(value)
    return f"{rounded or 0:+g}".replace("-", "−")


def all_effects(result: StudyResult) -> list[Effects]:
    """Effects of the study's factors on each of its measures; empty where it has none."""
    if not result.study.file.factor:
        return []
    return [one for name in result.study.file.measures for one in effects(result.study, result.arms, name)]


def effect_tables(result: StudyResult) -> Iterator[Titled]:
    """For each measure the effects by place; interactions only where one is sure somewhere."""
    found = all_effects(result)
    for name in result.study.file.measures:
        same = [one for one in found if one.measure == name]
        if not same or all(one.off.value is None for one in same):
            continue
        scale = scale_of(name, [estimate for one in same for estimate in (one.off, one.on)])
        places = [", ".join(f"{last(k)} {v}" for k, v in one.label.items()) or "all" for one in same]
        lines = [
            ("all off", *(shown(one.off, scale) for one in same)),
            ("all on", *(shown(one.on, scale) for one in same)),
        ]
        for number, effect in enumerate(same[0].found):
            row = [one.found[number] for one in same]
            if len(effect.factors) == 1 or any(cell.sure for cell in row):
                lines.append(
                    (
                        effect.words,
                        *(
                            percent(cell.change) if one.relative else _difference(cell.change, scale)
                            for cell, one in zip(row, same, strict=True)
                        ),
                    )
                )
        yield heading(name, scale), [("effect", *places), *lines]


def _difference(change: Estimate, scale: Scale) -> str:
    low, high = change.low, change.high
    sure = low is not None and high is not None and not low <= 0.0 <= high
    return shown(change, scale) + ("" if sure else UNSURE)


def comparison_content(result: StudyResult) -> list[dict[str, Any]]:
    """Comparisons and effects for JSON."""
    return [
        {
            "arm": other,
            "label": dict(row.label),
            "measure": row.measure,
            "unit": measure(row.measure).unit,
            "base": row.base,
            "other": row.other,
            "relative_change": row.change,
        }
        for other, rows in compared(result).items()
        for row in rows
    ]


def effect_content(result: StudyResult) -> list[dict[str, Any]]:
    """Effects for JSON."""
    return [
        {
            "label": dict(one.label),
            "measure": one.measure,
            "relative": one.relative,
            "all_off": one.off,
            "all_on": one.on,
            "effects": [{"factors": list(e.factors), **plain(e.change)} for e in one.found],
        }
        for one in all_effects(result)
    ]
