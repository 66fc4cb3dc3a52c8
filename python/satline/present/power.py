"""What `satline experiment power` answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from satline.errors import InputError
from satline.experiment.variance import (
    Needed,
    effective_size,
    observations_needed,
    power_of_factor,
    replicates_needed,
    terms_of_two,
    window_variance,
)
from satline.present._numbers import number


def answer(
    levels: Sequence[int],
    difference: float,
    deviation: float,
    *,
    replicates: int | None,
    autocorrelation: float | None,
    interval_s: float,
    run_deviation: float,
    level: float,
    power: float,
) -> dict[str, Any]:
    """Replicates that are needed; the power of those given; or the length of the window.

    Raises
    ------
    InputError
        A design too large, or no number of runs is enough.
    """
    cells = math.prod(levels)
    if cells > 100_000:
        raise InputError(f"{cells:,} combinations", hint="fewer factors or levels")
    asked = {"difference": difference, "sd": deviation, "level": level, "power": power, "cells": cells}
    if autocorrelation is not None:
        return asked | _window(levels, asked, autocorrelation, replicates or 1, interval_s, run_deviation)
    needed = replicates_needed(levels, difference, deviation, level=level, power=power)
    if needed is None:
        raise InputError(
            f"a difference of {difference:g} with a standard deviation of {deviation:g}: a thousand"
            " replicates are too few",
            hint="look for a larger difference, or make runs longer",
        )
    shown = number(difference)
    if replicates is None:
        words = (
            f"{needed.replicates} replicates, {needed.runs} runs: then a difference of {shown} is seen with"
            f" chance {needed.power:.2f}."
        )
        if needed.error_freedom < 5:
            words += (
                f"\nOnly {needed.error_freedom} degrees of freedom for the error: one replicate more is wise."
            )
        return asked | _told(needed, words)
    runs = cells * replicates
    freedom = runs - 1 - min(terms_of_two(levels), cells - 1)
    if freedom < 1:
        raise InputError(
            f"{runs} runs leave nothing for the error beside main effects and interactions of two",
            hint="have --replicates 2",
        )
    chance = min(power_of_factor(difference, deviation, n, runs / n, freedom, level) for n in levels)
    words = f"With {replicates} replicates, {runs} runs, a difference of {shown} is seen"
    words += f" with chance {chance:.2f}."
    if chance < power:
        words += f"\nFor {power:g} it needs {needed.replicates} replicates, {needed.runs} runs."
    return asked | _told(Needed(replicates, runs, freedom, chance), words)


def _told(found: Needed, words: str) -> dict[str, Any]:
    content = vars(found) | {"power_reached": found.power, "words": words}
    del content["power"]  # the one asked for has this name
    return content


def _window(
    levels: Sequence[int],
    asked: Mapping[str, float],
    correlation: float,
    replicates: int,
    interval_s: float,
    between: float,
) -> dict[str, Any]:
    cells, difference, deviation = math.prod(levels), asked["difference"], asked["sd"]
    power = asked["power"]
    if cells * replicates - 1 - min(terms_of_two(levels), cells - 1) < 1:
        raise InputError(
            f"{cells * replicates} runs leave nothing for the error beside main effects and"
            " interactions of two",
            hint="have --replicates 2",
        )
    count = observations_needed(
        *(levels, difference, deviation, correlation, replicates),
        between=between,
        level=asked["level"],
        power=power,
    )
    if count is None:
        raise InputError(
            f"{replicates} replicates are too few for a difference of {difference:g}, whatever the window",
            hint="have more --replicates; a longer window does not lessen what runs differ by (--run-sd)",
        )
    worth = effective_size(count, correlation)
    of_run = math.sqrt(window_variance(count, deviation, correlation, between))
    words = (
        f"A window of {number(count * interval_s, digits=4)} s: {count:,} observations, worth {worth:.3g}"
        f" independent ones, in each of {cells * replicates} runs ({replicates} replicates).\n"
        f"Then runs scatter by {number(of_run)}, and a difference of {number(difference)} is seen with chance"
        f" {power:g}."
    )
    return {
        "replicates": replicates,
        "runs": cells * replicates,
        "autocorrelation": correlation,
        "observations": count,
        "effective_observations": worth,
        "window_s": count * interval_s,
        "run_sd": of_run,
        "words": words,
    }
