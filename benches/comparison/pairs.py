"""Synthetic pairs of periods whose difference is known: shifting loads, noise that resembles itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.comparison import Observed

DAY_S = 86400.0


@dataclass(frozen=True)
class Case:
    """One kind of pair.

    days, every_s
        Of each side; observations lie `every_s` apart, from 8 to 18 o'clock, or all day long.
    effect
        Relative difference of the measure at any load.
    shift
        The load after, against that before.
    day_load, day_sd
        Lognormal deviation of a day's load, and of a day's measure at equal load.
    noise_sd, correlation_s
        Of each observation's lognormal noise, and the time in which its correlation falls to 1/e.
    """

    name: str
    days: int = 10
    every_s: float = 60.0
    effect: float = 0.0
    shift: float = 1.0
    day_load: float = 0.2
    day_sd: float = 0.03
    noise_sd: float = 0.5
    correlation_s: float = 600.0
    all_day: bool = False


def made(case: Case, random: np.random.Generator) -> tuple[Observed, Observed]:
    """Both sides of a pair."""
    return _side(case, random, 0.0, 1.0, 0.0), _side(case, random, case.effect, case.shift, 1000.0)


def _side(case: Case, random: np.random.Generator, effect: float, shift: float, first_day: float) -> Observed:
    begin, end = (0.0, 24.0) if case.all_day else (8.0, 18.0)
    each = int((end - begin) * 3600 / case.every_s)
    of_day = (begin * 3600 + case.every_s * (0.5 + np.arange(each)))[None, :]
    days = np.arange(case.days)[:, None]
    hour = of_day / 3600
    # A working day with two peaks, the height of which differs from day to day.
    shape = 0.15 + np.exp(-((hour - 10.5) ** 2) / 4) + np.exp(-((hour - 15) ** 2) / 5)
    height = np.exp(case.day_load * random.normal(size=(case.days, 1)))
    wanted = 20 * shift * height * shape * np.exp(_noise(case, random, each, 0.15))
    users = np.maximum(1.0, random.poisson(wanted)).astype(np.float64)
    # Response climbs towards saturation; what users do differs by the hour.
    service = 0.2 * (1 + effect) * (1 + 0.1 * np.sin(2 * np.pi * hour / 24))
    response = service / (1 - np.minimum(users, 38) / 40)
    response = response * np.exp(case.day_sd * random.normal(size=(case.days, 1)))
    mean = response * np.exp(_noise(case, random, each, case.noise_sd) - case.noise_sd**2 / 2)
    count = random.poisson(users * case.every_s / 15.0).astype(np.float64)
    total = mean * random.gamma(np.maximum(count, 1e-9))
    total = np.where(count > 0, total, 0.0)
    middle = (first_day + days) * DAY_S + of_day

    def flat(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(values, middle.shape).reshape(-1))

    seconds = np.full(middle.size, case.every_s)
    blocks = int(np.ceil(each / np.ceil(0.8 * np.sqrt(each))))
    batch = days * blocks + (np.arange(each)[None, :] // int(np.ceil(0.8 * np.sqrt(each))))
    of_hour = flat(hour.astype(np.int64))
    return Observed(
        middle_s=flat(middle),
        seconds=seconds,
        load=flat(users),
        values=flat(total),
        weights=flat(count),
        work=seconds * 0.02 * flat(users),
        worked=seconds,
        day=flat(days),
        hour=flat(days) * 24 + of_hour,
        of_day=of_hour,
        batch=flat(batch),
        source=np.zeros(middle.size, dtype=np.int64),
        index=np.arange(middle.size),
    )


def _noise(case: Case, random: np.random.Generator, each: int, sd: float) -> np.ndarray:
    """Autoregressive normal noise of standard deviation `sd`, a row for each day."""
    keep = float(np.exp(-case.every_s / case.correlation_s))
    x = random.normal(size=(case.days, each)) * sd
    x[:, 1:] *= np.sqrt(1 - keep**2)
    for i in range(1, each):
        x[:, i] += keep * x[:, i - 1]
    return x
