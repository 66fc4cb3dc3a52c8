"""`satline analyse capacity`: how many users are carried while enough of their reactions are quick."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import command, option
from satline.cli.options import RECORDING, opened_in_its_words, part_of
from satline.cli.outputs import JSON, print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.diagnosis.capacity import Capacity, Step, What
    from satline.reduction import Reduction


@command("""\b
Examples:
  satline analyse capacity host.satline
  satline analyse capacity host.satline --within 0.5 --part 95% --of response
  satline analyse capacity host.satline --json | jq .users
""")
def capacity(
    recording: Path = RECORDING,
    within_s: float = option("Time limit in seconds.", "--within", default=2.0, metavar="S"),
    part: str = option("Share that must be in time.", default="90%", metavar="PART"),
    what: What = option(
        "Measure to the first character of the answer, or to the next prompt.",
        "--of",
        type=click.Choice(["reaction", "response"]),
        default="reaction",
    ),
    as_json: bool = JSON,
) -> None:
    """Say for how many users enough reactions are in time, with a 95 % interval, and what limits it.

    The recording should be of a study that steps its users. Failed interactions count as late. It also prints
    the peak: the largest number of interactions per minute and the users at which it is reached, like the
    peak in AIM's multiuser benchmark; and, for comparison, Login VSI's VSImax 4.1 and AIM's crossover.
    """
    from satline.diagnosis import diagnose
    from satline.diagnosis.capacity import capacity as capacity_of
    from satline.diagnosis.classic import crossover_of, vsimax_of
    from satline.diagnosis.peak import peak_of
    from satline.present.documents import plain
    from satline.reconcile import Answers, story
    from satline.reduction import reduce

    wanted, opened = part_of("--part", part, "90% or 0.9"), opened_in_its_words(recording)
    try:
        curves: Reduction | None = reduce(opened)
        diagnosis = diagnose(opened, curves)
    except InputError:  # without readings of the system no cause can be told
        curves, diagnosis = None, None
    answer = capacity_of(opened, diagnosis, within_s=within_s, part=wanted, what=what)
    peak = peak_of(opened, diagnosis)
    classic = {"vsimax": vsimax_of(opened), "crossover": None if peak is None else crossover_of(peak.rates)}
    text = words(answer)
    told = None
    if curves is not None:
        told = story(opened, curves, "capacity", Answers(diagnosis=diagnosis, capacity=answer))
        text += told.lines
    others = {"peak": peak, **classic}
    if as_json:
        more = {name: one and {**plain(one), "words": one.words} for name, one in others.items()}
        print_json("analyse-capacity", answer, more, words=text, agreement=told)
        return
    from rich.console import Console

    from satline.present import Table, print_table, visible

    console = Console(highlight=False)
    for line in (*text, *(one.words for one in others.values() if one is not None)):
        console.print(visible(line), markup=False)
    console.print()
    head = ("users", f"{what}s", "failed", f"within {within_s:g} s", "median", "90 %")
    print_table(Table.of([head, *map(_row, answer.steps)], text=()), console)


def words(answer: Capacity) -> list[str]:
    """The answer in sentences."""
    from satline.diagnosis import LOG_ON_ADVICE

    aim = f"{answer.part:.0%} of {answer.what}s within {answer.within_s:g} s"
    least, most = answer.steps[0].users, answer.steps[-1].users
    if answer.users is not None:
        low = f"below {least}" if answer.low is None else f"{answer.low:.1f}"
        high = f"above {most}" if answer.high is None else f"{answer.high:.1f}"
        interval = f" [{low}, {high}]" if answer.told else ""
        first = f"Carries {answer.users:.1f} users{interval} at {aim}"
    elif answer.steps[0].within < answer.part:
        first = f"Carries fewer than {least} users at {aim}: no load seen reaches it"
        first += f", though up to {answer.high:.1f} cannot be excluded" if answer.high is not None else ""
    else:
        first = f"Carries {most} users or more at {aim}: every load seen reaches it"
        first += f", though as few as {answer.low:.1f} cannot be excluded" if answer.low is not None else ""
    causes = [
        cause if chance is None else f"{cause} ({chance:.2f})"
        for cause, chance in zip_longest(answer.causes, answer.chances)
    ]
    if len(causes) > 1:
        first += f"; what limits it cannot be told: {' or '.join(causes)}"
    elif causes:
        first += f"; limited by: {causes[0]}"
    found = [first + "."]
    if not answer.causes:
        why = {
            "saturated": "what it saturates by was not found",
            "not-saturated": "it is not saturated in the range seen",
            "never-reached": "at the lightest load, too, they take long, of themselves or for something that "
            "load does not change",
        }.get(answer.saturation, "whether it saturates in the range seen cannot be told")
        found.append(f"No cause is named: {why} (satline diagnose).")
    if answer.between is not None:
        low_load, high_load = answer.between
        found.append(f"Between {low_load} and {high_load} users, which were seen, a straight line is taken.")
    if answer.absent is not None:
        found.append(f"No interval: {answer.absent}. {LOG_ON_ADVICE}")
    elif not answer.told:
        found.append(
            "No interval: some load has too few transactions, or in too few moments; use longer windows."
        )
    return found


def _row(step: Step) -> tuple[str, ...]:
    interval = "" if step.low is None or step.high is None else f" [{step.low:.0%}, {step.high:.0%}]"
    times = ("–" if s is None else f"{s:.3g} s" for s in (step.median_s, step.p90_s))
    return (str(step.users), str(step.reactions), str(step.failed), f"{step.within:.0%}{interval}", *times)
