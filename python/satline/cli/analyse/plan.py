"""`satline analyse plan`: how much load may be allowed, and what a load needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import command, option
from satline.cli.filters import FILTERS
from satline.cli.options import LOAD, RECORDING, opened_in_its_words, part_of
from satline.cli.outputs import JSON, print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.reconcile import Story
    from satline.recording import Recording
    from satline.reduction import Filters, Reduction
    from satline.reduction.planning import Allowance, Demand


@command("""\b
Examples:
  satline analyse plan host.satline --saturated 'total_cpu_fraction > 0.9'
  satline analyse plan host.satline --variable memory_used --at in_queue=6
""")
def plan(
    recording: Path = RECORDING,
    saturated: str | None = option(
        "Condition for saturation: 'total_cpu_fraction > 0.9'.", metavar="CONDITION"
    ),
    chance: str = option("Acceptable probability of saturation.", default="25%", metavar="PART"),
    load_axis: str | None = LOAD,
    variable: str | None = option("The variable whose percentile to estimate.", metavar="NAME"),
    at: str | None = option("The load in question, such as in_queue=6.", metavar="AXIS=LOAD"),
    percentile: float = option("Percentile to estimate.", default=90, metavar="P"),
    filters: Filters | None = FILTERS,
    as_json: bool = JSON,
) -> None:
    """Say how much load to admit so that the probability of saturation is at most PART, or, with --variable
    and --at, what a load needs P % of the time.
    """
    from satline.reduction import reduce
    from satline.reduction.planning import Condition, allowance, demand

    if (saturated is None) == (variable is None) or (variable is None) != (at is None):
        raise click.UsageError("give --saturated, or --variable and --at", click.get_current_context())
    opened = opened_in_its_words(recording)
    answer: Allowance | Demand
    told = None
    if saturated is not None:
        condition, part = Condition.parse(saturated), part_of("--chance", chance, "25% or 0.25")
        # All variables, and not the condition's alone: the diagnosis beside the answer needs them.
        curves = reduce(opened, load_axis, filters=filters, also=[condition.variable])
        answer = allowance(curves, condition, part)
        told = _story(opened, curves, answer)
        first, *rest = allowance_words(answer)
        text = [first, *told.lines, *rest]
    else:
        axis, load = _load(at or "")
        curves = reduce(opened, axis, filters=filters, variables=[variable or ""])
        answer = demand(curves, variable or "", load, percentile)
        text = demand_words(answer)
    if as_json:
        kind, more = ("demand", {}) if told is None else ("allowance", {"agreement": told})
        print_json(f"analyse-plan-{kind}", answer, more, filters=curves.filters, words=text)
        return
    from satline.present import visible

    for line in (*text, *((f"Only {curves.filters}.",) if curves.filters else ())):
        click.echo(visible(line))


def _story(recording: Recording, curves: Reduction, answer: Allowance) -> Story:
    """What the other answers say of this recording."""
    from satline.reconcile import Allowed, Answers, story

    limit = answer.outcome == "limit"
    allowed = Allowed(
        answer.condition,
        answer.chance,
        answer.load_axis,
        answer.load if limit else None,
        answer.low if limit else None,
        answer.high if limit else None,
        answer.low if answer.outcome == "beyond" else None,
    )
    return story(recording, curves, "plan", Answers(allowed=allowed))


def _load(text: str) -> tuple[str, float]:
    axis, _, number = text.partition("=")
    try:
        return axis.strip(), float(number)
    except ValueError:
        raise InputError(f"--at {text!r}", hint="write an axis and a load: in_queue=6") from None


def allowance_words(answer: Allowance) -> list[str]:
    """The answer first, then what is known of each load class."""
    axis = answer.load_axis.replace("_", " ")
    that = f"the chance of {answer.condition} is at most {answer.chance:.3g}"
    if answer.outcome == "limit":
        first = f"Up to {answer.load:.4g} {axis} [{answer.low:.4g}, {answer.high:.4g}]: then {that}."
    elif answer.outcome == "beyond":
        first = f"At least {answer.low:.4g} {axis}: up to there {that}; {answer.reason}."
    elif answer.outcome == "none":
        first = f"None: {answer.reason}, {answer.high:.4g} {axis}."
    else:
        known = [f"surely enough up to {answer.low:.4g}"] if answer.low is not None else []
        known += [f"surely too much from {answer.high:.4g}"] if answer.high is not None else []
        first = f"Cannot tell: {'; '.join((answer.reason, *known))}."
    lines = [first]
    for one in answer.classes:
        lines.append(
            f"  {one.load_class.label} {axis}: {one.chance:.3f} [{one.low:.3f}, {one.high:.3f}],"
            f" {one.n} observations worth {one.effective_n:.3g}"
        )
    return lines


def demand_words(answer: Demand) -> list[str]:
    """The answer, and what it rests on."""
    from satline.present import quantity

    axis = answer.load_axis.replace("_", " ")
    if answer.value is None:
        return [f"Cannot tell: {answer.reason}."]

    def shown(value: float | None) -> str:
        return "?" if value is None else quantity(value, answer.unit)

    what = f"{answer.percentile:g} % of the time {answer.variable} is at most {shown(answer.value)}"
    first = f"At {answer.at:g} {axis}, {what} [{shown(answer.low)}, {shown(answer.high)}]."
    if answer.reason:
        first = f"Cannot tell for sure: {answer.reason}. {first}"
    worth = "" if answer.effective_n is None else f", worth {answer.effective_n:.3g} independent ones"
    return [
        first,
        f"From {answer.n} observations at {answer.load_low:g} to {answer.load_high:g} {axis}{worth}.",
    ]
