"""A simulated study as a page: Markdown with its tables, and its figures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from satline.extras import can_draw
from satline.present import visible
from satline.simulation._run_study import StudyResult
from satline.simulation.show import notes, plot, rows
from satline.simulation.tables import comparison_tables, effect_tables


def write_figures(result: StudyResult, directory: Path) -> list[Path]:
    """Draw every figure of the study into `directory`; none without what draws them.

    Raises
    ------
    InputError
        It cannot be written.
    """
    from satline.present import picture
    from satline.present.html import write_page

    written: list[Path] = []
    if not can_draw():
        return written
    for plan in result.study.file.figure:
        drawn = plot(plan, result.arms)
        if not any(line.marks for line in drawn.lines):
            continue
        path = directory / f"{drawn.name}.svg"
        write_page(path, picture(drawn))
        written.append(path)
    return written


_COMPARED = """\
Changes are at equal load under common random numbers, with 95 % intervals; `?`: the interval holds 0."""
_EFFECTS = """\
An effect is the mean change from off to on over all combinations of the other parts; that of two together
(×) is half of how much the effect of one changes with the other. Intervals hold for all effects of a measure
at one place together (95 %, Bonferroni); `?`: the interval holds 0."""


def write_study_page(result: StudyResult, path: Path) -> list[Path]:
    """Write the page and, in a directory of its name beside it, every figure. Returns all files written.

    Raises
    ------
    InputError
        They cannot be written.
    """
    from satline.present.html import write_page
    from satline.simulation.page import write_figures

    directory = path.with_suffix("")
    directory.mkdir(parents=True, exist_ok=True)
    figures = write_figures(result, directory)
    if not figures:
        directory.rmdir()
    write_page(path, "\n".join(_lines(result, figures, directory.name)) + "\n")
    return [path, *figures]


def _lines(result: StudyResult, figures: Sequence[Path], directory: str) -> Iterator[str]:
    study = result.study
    yield f"# {_text(study.file.title)}"
    yield ""
    if study.file.question:
        yield _text(study.file.question)
        yield ""
    load = study.file.load
    yield (
        f"Made by `satline simulate {study.name} --page FILE`: machine {_text(study.machine.stem)}, workload "
        f"{_text(study.workload.stem)}, {load.replications} replications of {load.seconds:g} s, "
        f"from seed {load.seed}."
    )
    for title, table in (*comparison_tables(result), *effect_tables(result)):
        yield from ("", f"## {_text(title)}", "")
        yield from _table(table)
    if study.file.compare:
        yield from ("", _COMPARED)
    if study.file.factor:
        yield from ("", _EFFECTS)
    for figure in figures:
        yield from ("", f"![{_text(figure.stem)}]({directory}/{figure.name})")
    if not study.file.factor:
        for name, simulated in result.arms.items():
            yield from ("", f"## {_text(name or 'All points')}", "")
            yield from _table(rows(simulated.points, study.file.measures))
            yield ""
            for note in notes(simulated, study.file.measures):
                yield f"{_text(note)}."


def _table(table: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *lines = table
    yield _row(head)
    yield "|" + "|".join(" --- " if number == 0 else " ---: " for number in range(len(head))) + "|"
    yield from (_row(line) for line in lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_text(one) for one in cells) + " |"


def _text(words: str) -> str:
    """Text that Markdown takes as no markup."""
    return "".join(f"\\{char}" if char in "\\|*_`<>[]#" else char for char in visible(words))
