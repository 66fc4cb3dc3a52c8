"""A calibration as blocks for the terminal and for its page, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from satline.present._numbers import number, quantity
from satline.present._numbers import scale as scale_for
from satline.present._written import markdown
from satline.present.blocks import Block, Headline, Note, Table
from satline.simulation import measure
from satline.simulation.calibration import Calibrated, Fitted, Line, number_text

Rows = list[tuple[str, ...]]


def target_rows(result: Calibrated) -> Rows:
    """Measured against simulated, with fresh seeds."""
    head = ("line", "measured", "simulated", "error", "tolerance", "within", "error at start")
    return [head, *(_line(line) for line in result.lines)]


def constant_rows(result: Calibrated) -> Rows:
    """Each constant before and after."""
    head = ("constant", "start", "fitted", "95 % from", "to", "range", "remark")
    return [head, *(_constant(one) for one in result.constants)]


def _line(line: Line) -> tuple[str, ...]:
    scale = scale_for(measure(line.target.measure).unit, line.target.value)
    estimate = line.simulated
    simulated = "–"
    if estimate.value is not None:
        half = None if estimate.half_width is None else estimate.half_width * scale.factor
        simulated = quantity(estimate.value * scale.factor, "", half)
    unit = "per s" if scale.label in ("per second", "transactions/s") else scale.label
    measured = f"{number(line.target.value * scale.factor)} {unit}".rstrip()
    within = ("yes" if line.within else "no") + ("" if line.sure else "?")
    error = percent(line.error.value)
    return (
        line.target.name,
        measured,
        simulated,
        error,
        f"{line.tolerance:.0%}",
        within,
        percent(line.start),
    )


def percent(part: float | None) -> str:
    """A relative error with its sign."""
    if part is None:
        return "–"
    if abs(part) >= 10.0:
        return f"× {1.0 + part:.3g}"
    return "0.0 %" if abs(part) < 5e-4 else f"{part * 100.0:+.1f} %".replace("-", "−")


def _constant(one: Fitted) -> tuple[str, ...]:
    low, high = ("–" if x is None else number_text(x) for x in (one.low, one.high))
    axis = one.axis
    return (
        axis.constant.name,
        number_text(axis.start),
        number_text(one.value),
        low,
        high,
        f"{number_text(axis.low)} to {number_text(axis.high)}",
        one.words,
    )


def verdict(result: Calibrated) -> str:
    """One sentence."""
    missed = [line for line in result.lines if not line.within]
    words = f"{result.within} of {len(result.lines)} lines within their tolerance"
    if not missed:
        return f"{words}."
    impossible = [line.target.name for line in missed if line.obstacle and not line.obstacle.reachable]
    return words + (f"; impossible with these constants: {', '.join(impossible)}." if impossible else ".")


def remarks(result: Calibrated) -> list[str]:
    """What stands against each line that was missed; what the numbers rest on."""
    said = [_why(line, result) for line in result.lines if not line.within]
    run = result.calibration.file.run
    if any(not line.sure for line in result.lines):
        said.append("?: the 95 % interval reaches over the tolerance; more check_replications would tell")
    if not result.fit.settled:
        said.append(f"the search had not settled after {result.fit.rounds} rounds; give [run] more rounds")
    said.append(
        f"simulated: {run.check_replications} runs of {run.seconds:g} s with seed {run.check_seed}, which "
        f"the fit never saw, ± half of the 95 % interval; fitted by {result.points} points, {result.runs} "
        f"runs in all, seed {run.seed}; misfit {number(result.misfit[0])} at the start, "
        f"{number(result.misfit[1])} at the end"
    )
    said.append("constants: 95 % by the slopes at the end and the noise of the runs, if the model is right")
    return said


def _why(line: Line, result: Calibrated) -> str:
    why = line.obstacle
    name = line.target.name
    if why is None:
        return f"{name}: missed"
    if not why.reachable:
        return (
            f"{name}: impossible with these constants in their ranges: neither a point tried nor the slopes "
            f"bring it nearer than {percent(why.nearest)}"
        )
    if why.costs:
        costs = ", ".join(f"{result.lines[i].target.name} {percent(error)}" for i, error in why.costs.items())
        return f"{name}: it can be met, but by the slopes only with {costs}"
    return f"{name}: by the slopes it can be met at little cost; more rounds or a smaller ridge may do it"


def calibrated(result: Calibrated) -> Iterator[Block]:
    """What was measured against what is simulated, the constants, and what stands against a line."""
    yield Headline(result.calibration.file.title, 1)
    yield Table.of(target_rows(result))
    yield Table.of(constant_rows(result), text=(0, -1))
    yield Note(verdict(result), "strong")
    yield from (Note(words, "quiet") for words in remarks(result))


def page(result: Calibrated) -> str:
    """The fit as Markdown: what was measured, how each line was read, what was free and why."""
    return markdown(_page(result))


def _page(result: Calibrated) -> Iterator[Block]:
    calibration = result.calibration
    file = calibration.file
    yield Headline(file.title, 1)
    yield Note(f"Made by `satline simulate calibrate {calibration.path.name}`. {verdict(result)}")
    if file.note:
        yield from (Note(part) for part in file.note.strip().split("\n\n"))
    yield Table.of(target_rows(result))
    yield from (Note(words, item=True) for words in remarks(result))
    yield Headline("How the lines are read")
    head: tuple[str, ...] = ("line", "measure", "reading", "source")
    read = [(t.name, f"`{t.measure}`", t.reading, t.source) for t in file.target]
    yield Table.of([head, *read], text=range(4))
    yield Headline("Constants")
    yield Table.of(constant_rows(result), text=(0, -1))
    yield Note("Why each is free:")
    yield from (Note(f"{c.name}: {c.why}", item=True) for c in file.constant)


def content(result: Calibrated) -> dict[str, Any]:
    """For JSON: relative errors as parts, values in the measures' units; ``None`` where missing."""
    return {
        "calibration": result.calibration.name,
        "machine": result.calibration.machine.stem,
        "workload": result.calibration.workload.stem,
        "within": result.within,
        "lines": [
            {
                "name": line.target.name,
                "measure": line.target.measure,
                "measured": line.target.value,
                "simulated": line.simulated.value,
                "low": line.simulated.low,
                "high": line.simulated.high,
                "error": line.error.value,
                "tolerance": line.tolerance,
                "within": line.within,
                "sure": line.sure,
                "error_at_start": line.start,
                "error_with_fit_seeds": line.fitted,
                "impossible": None if line.obstacle is None else not line.obstacle.reachable,
                "nearest_error": None if line.obstacle is None else line.obstacle.nearest,
            }
            for line in result.lines
        ],
        "constants": [
            {
                "name": one.axis.constant.name,
                "keys": dict(one.axis.settings(one.value)),
                "start": one.axis.start,
                "fitted": one.value,
                "low": one.low,
                "high": one.high,
                "range": [one.axis.low, one.axis.high],
                "identified": one.certainty.identified and one.certainty.end == 0,
                "resolution": one.certainty.resolution if one.certainty.end == 0 else None,
                "at_end": one.certainty.end,
            }
            for one in result.constants
        ],
        "misfit": {"start": result.misfit[0], "fitted": result.misfit[1]},
        "rounds": result.fit.rounds,
        "settled": result.fit.settled,
        "points": result.points,
        "runs": result.runs,
    }
