"""`satline experiment power`: how many replicates, or how long a window, an experiment needs."""

from __future__ import annotations

import math
from pathlib import Path

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, print_json, print_text
from satline.errors import InputError

LEVEL = option("Probability of a false finding.", type=click.FloatRange(1e-6, 0.5), default=0.05)


@command("""\b
Examples:
  satline experiment power memory=640,1024 cpus=1,2 --difference 0.2 --sd 0.15
  satline experiment power a=1,2 --difference 9 --sd 30 --autocorrelation 0.8
  satline experiment power a=1,2 --difference 9 --pilot old.csv --response ms
""")
def power(
    factors: tuple[str, ...] = argument("FACTOR=LEVEL,LEVEL[,…]…"),
    difference: float = option("Difference between two levels that is to be detected.", required=True),
    deviation: float | None = option(
        "Standard deviation of runs; of observations if these are autocorrelated.", "--sd"
    ),
    replicates: int | None = option("Number of replicates, if it is fixed.", type=click.IntRange(1, 1000)),
    autocorrelation: float | None = option(
        "Of successive observations of a run: say how long runs must be.", metavar="R"
    ),
    interval_s: float | None = option(
        "Seconds between observations. [default: 1]", "--interval", metavar="S"
    ),
    pilot: Path | None = option(
        "Observations of earlier runs, in their order: scatter and autocorrelation come from them.",
        metavar="TABLE",
    ),
    response: str | None = option("For the pilot: column of what was observed.", metavar="COLUMN"),
    run: str | None = option("For the pilot: column that numbers its runs. [default: run]", metavar="COLUMN"),
    run_sd: float = option(
        "Standard deviation between equal runs, regardless of their length.",
        type=click.FloatRange(0.0),
        default=0.0,
        show_default=False,
    ),
    wanted: float = option(
        "Probability of detecting it.", "--power", type=click.FloatRange(0.06, 0.9999), default=0.8
    ),
    level: float = LEVEL,
    as_json: bool = JSON,
) -> None:
    """Say how many replicates of a full design are needed to detect a difference between two levels of any
    factor, or, for autocorrelated observations, how long each run must be.

    The standard deviation comes from earlier runs: the square root of the error's MS of `satline experiment
    anova`; or, for observations, from a --pilot.
    """
    from satline.experiment.designs import check_factors, parse_factor
    from satline.present.power import answer

    made = [parse_factor(text) for text in factors]
    check_factors(made)
    before = ""
    if pilot is not None:
        if response is None or deviation is not None or autocorrelation is not None:
            raise InputError(
                "--pilot stands for --sd and --autocorrelation", hint="give it and --response, not them"
            )
        deviation, autocorrelation, before = _piloted(pilot, response, run)
    elif deviation is None:
        raise InputError("how much do runs scatter?", hint="give --sd, or --pilot with --response")
    for name, value in (("--difference", difference), ("--sd", deviation)):
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} {value:g}", hint="above 0, in the unit of the response")
    if not math.isfinite(run_sd):
        raise InputError(f"--run-sd {run_sd:g}", hint="0 or more, in the unit of the response")
    if autocorrelation is not None and not -0.995 <= autocorrelation <= 0.9999:
        raise InputError(
            f"--autocorrelation {autocorrelation:g}", hint="below 1: 0.8 means that 0.8 is left at the next"
        )
    if autocorrelation is None and (interval_s is not None or run_sd):
        raise InputError(
            "--interval and --run-sd are of autocorrelated observations", hint="add --autocorrelation"
        )
    if interval_s is not None and not (math.isfinite(interval_s) and interval_s > 0.0):
        raise InputError(f"--interval {interval_s:g}", hint="seconds, above 0")
    found = answer(
        [len(factor.levels) for factor in made],
        difference,
        deviation,
        replicates=replicates,
        autocorrelation=autocorrelation,
        interval_s=interval_s or 1.0,
        run_deviation=run_sd,
        level=level,
        power=wanted,
    )
    if as_json:
        print_json("experiment-power" if autocorrelation is None else "experiment-power-window", found)
        return

    from satline.present import Note

    print_text(map(Note, (before + found["words"]).splitlines()))


def _piloted(path: Path, response: str, run: str | None) -> tuple[float, float, str]:
    """Standard deviation and autocorrelation of a pilot's observations, and what to say of them."""
    from satline.experiment.variance.pilot import pilot

    seen = pilot(path, response, run)
    words = (
        f"{response}, {seen.observations:,} observations of {seen.runs} runs: standard deviation"
        f" {seen.deviation:.3g}, autocorrelation {seen.correlation:.2f}.\n"
    )
    return seen.deviation, seen.correlation, words
