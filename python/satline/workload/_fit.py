"""From sessions to building blocks: mix, distributions, order, each with its sample size and interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from satline.errors import InputError
from satline.stats import chi_square_tail, normal_cdf, wilson
from satline.workload._blocks import (
    Blocks,
    Class,
    Context,
    Distribution,
    InnerLine,
    Input,
    Mean,
    Order,
    Typing,
)
from satline.workload._session import Line, Session
from satline.workload._statistics import Floats, kolmogorov_distance, mean_interval

LEAST_LINES = 10
LEAST_TO_CHOOSE = 20
LEAST_FOR_TABLE = 50
REFUSED_BELOW = 0.01
SHORTEST_S = 1e-3
QUANTILES = 21
_REPETITIONS = 300
_MOST_INPUTS = 200


def fit(sessions: Sequence[Session], name: str) -> Blocks:
    """Fit blocks to sessions.

    Raises
    ------
    InputError
        Fewer than ten lines, or no think time in them.
    """
    lines = [line for session in sessions for line in session.lines]
    if len(lines) < LEAST_LINES:
        raise InputError(
            f"{len(lines)} input lines in {len(sessions)} sessions: too few to fit anything",
            hint=f"at least {LEAST_LINES} are needed; 200 or more tell something",
        )
    notes = [note for session in sessions for note in session.notes]
    if len(sessions) < 5:
        notes.append(f"{len(sessions)} sessions: intervals say how these people would vary, not others")
    if any(session.keys == "echo" for session in sessions):
        notes.append("some sessions hold no keys: their think and typing times are of what was shown")
    thinks = [_values([line.think_s for line in session.lines]) for session in sessions]
    if not sum(map(len, thinks)):
        raise InputError(
            "no think time in these sessions", hint="record sessions of several commands, with their keys"
        )
    classes = _classes(sessions, lines)
    few = [one.name for one in classes if (one.count or 0) < 5]
    if few:
        notes.append(f"fewer than 5 lines: {', '.join(few)}: their shares are guesses")
    return Blocks(
        **{"class": classes},
        name=name,
        sessions=len(sessions),
        lines=len(lines),
        notes=list(dict.fromkeys(notes)),
        think=fit_seconds(thinks),
        typing=fit_typing(lines),
        characters=_mean([[line.characters for line in session.lines] for session in sessions]),
        output_bytes=_mean([[line.output_bytes for line in session.lines] for session in sessions]),
        order=fit_order([[group[0].klass for group in session.commands()] for session in sessions]),
    )


def fit_seconds(groups: Sequence[Floats], seed: int = 1) -> Distribution:
    """The distribution of times in sessions, chosen by a stated criterion.

    From 20 times on, lognormal or exponential by the lower BIC = k ln n − 2 ln L, k = 1 for the exponential,
    2 for the lognormal; from 50 on a table of quantiles where a bootstrapped Kolmogorov–Smirnov test refuses
    that one (p < 0.01).
    """
    values = np.concatenate(groups)
    n = len(values)
    low, high = mean_interval(groups)
    mean = float(values.mean())
    common: dict[str, Any] = {"low_seconds": low, "high_seconds": high, "count": n}
    if n < LEAST_TO_CHOOSE or mean == 0:
        chosen = f"exponential by default: {n} times are too few to choose (from {LEAST_TO_CHOOSE} on)"
        return Distribution(distribution="exponential", mean_seconds=mean, chosen=chosen, **common)
    exponential, lognormal = _bic(values)
    is_lognormal = lognormal < exponential
    kind: Literal["lognormal", "exponential"] = "lognormal" if is_lognormal else "exponential"
    chosen = f"BIC lognormal {lognormal:.1f}, exponential {exponential:.1f}"
    if n >= LEAST_FOR_TABLE:
        p = _fits(values, is_lognormal, seed)
        chosen += f"; {kind} fits with p = {p:.2g}"
        if p < REFUSED_BELOW:
            quantiles = np.quantile(values, np.linspace(0, 1, QUANTILES))
            table_mean = float((quantiles[:-1] + quantiles[1:]).mean() / 2)
            return Distribution(
                distribution="table",
                mean_seconds=table_mean,
                sd_seconds=float(values.std(ddof=1)),
                quantiles_seconds=quantiles.tolist(),
                chosen=chosen + ": refused",
                **common,
            )
    if not is_lognormal:
        return Distribution(distribution=kind, mean_seconds=mean, chosen=chosen, **common)
    logs = np.log(np.maximum(values, SHORTEST_S))
    mu, square = float(logs.mean()), float(logs.var(ddof=1))
    model_mean = math.exp(mu + square / 2)
    return Distribution(
        distribution="lognormal",
        mean_seconds=model_mean,
        sd_seconds=model_mean * math.sqrt(math.expm1(square)),
        chosen=chosen,
        **common,
    )


def _bic(values: Floats) -> tuple[float, float]:
    n, mean = len(values), float(values.mean())
    logs = np.log(np.maximum(values, SHORTEST_S))
    square = max(float(logs.var()), 1e-12)
    exponential = 2 * n * (1 + math.log(mean)) + math.log(n)
    lognormal = n * (math.log(2 * math.pi * square) + 1) + 2 * float(logs.sum()) + 2 * math.log(n)
    return exponential, lognormal


def _fits(values: Floats, is_lognormal: bool, seed: int) -> float:
    """p of the Kolmogorov distance with estimated parameters, by parametric bootstrap."""
    random = np.random.default_rng(seed)

    def distance(sample: Floats) -> float:
        if not is_lognormal:
            mean = float(sample.mean())
            return kolmogorov_distance(sample, lambda x: -np.expm1(-np.maximum(x, 0) / mean))
        logs = np.log(np.maximum(sample, SHORTEST_S))
        scaled = (logs - logs.mean()) / max(float(logs.std(ddof=1)), 1e-9)
        return kolmogorov_distance(scaled, normal_cdf)

    seen = distance(values)
    n = min(len(values), 5000)
    scale = math.sqrt(len(values) / n)
    drawn = [
        distance(random.lognormal(0, 1, n) if is_lognormal else random.exponential(1, n))
        for _ in range(_REPETITIONS)
    ]
    return (1 + sum(one >= seen * scale for one in drawn)) / (_REPETITIONS + 1)


def fit_order(sequences: Sequence[Sequence[str]]) -> Order:
    """Markov order 0, 1 or 2 of classes, by the lowest BIC on the same places; likelihood ratios beside it.

    The parameters counted are (contexts seen) × (classes − 1).
    """
    classes = len({name for sequence in sequences for name in sequence})
    places = [
        (tuple(sequence[index - 2 : index]), sequence[index])
        for sequence in sequences
        for index in range(2, len(sequence))
    ]
    if classes < 2 or len(places) < LEAST_TO_CHOOSE:
        chosen = f"{len(places)} places and {classes} classes are too few to tell an order: none taken"
        return Order(order=0, chosen=chosen)
    fits = []
    for order in (0, 1, 2):
        tallies: dict[tuple[str, ...], Counter[str]] = {}
        for before, name in places:
            tallies.setdefault(before[2 - order :], Counter())[name] += 1
        likelihood = sum(
            count * math.log(count / tally.total()) for tally in tallies.values() for count in tally.values()
        )
        fits.append((likelihood, len(tallies) * (classes - 1)))
    bic = [k * math.log(len(places)) - 2 * likelihood for likelihood, k in fits]
    orders: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)
    best = min(orders, key=lambda order: bic[order])
    ratios = []
    for order in (1, 2):
        statistic = 2 * (fits[order][0] - fits[order - 1][0])
        freedom = fits[order][1] - fits[order - 1][1]
        ratios.append(f"{order} against {order - 1} p = {chi_square_tail(statistic, max(freedom, 1)):.2g}")
    chosen = f"lowest BIC of {len(places)} places; likelihood ratio: {', '.join(ratios)}"
    return Order(order=best, bic=bic, chosen=chosen, context=_contexts(sequences, best))


def _contexts(sequences: Sequence[Sequence[str]], order: int) -> list[Context]:
    tallies: dict[tuple[str, ...], Counter[str]] = {}
    for length in range(1, order + 1):
        for sequence in sequences:
            for index in range(length, len(sequence)):
                tallies.setdefault(tuple(sequence[index - length : index]), Counter())[sequence[index]] += 1
    return [Context(after=list(after), next=dict(tally)) for after, tally in sorted(tallies.items())]


def _classes(sessions: Sequence[Session], lines: list[Line]) -> list[Class]:
    counts = Counter(line.klass for line in lines)
    inputs: dict[str, Counter[tuple[str, tuple[tuple[str, str], ...]]]] = {}
    for session in sessions:
        for command in session.commands():
            first, rest = command[0], command[1:]
            if first.program is None and not any(line.secret or line.full_screen for line in command):
                dialogue = tuple((line.text, line.prompt or "") for line in rest)
                inputs.setdefault(first.klass, Counter())[first.text, dialogue] += 1
    found = []
    for name, count in counts.most_common():
        mine = [line for line in lines if line.klass == name]
        low, high = wilson(count / len(lines), len(lines))
        found.append(
            Class(
                name=name,
                share=count / len(lines),
                low=low,
                high=high,
                count=count,
                inner=mine[0].program is not None,
                characters=_mean([[line.characters for line in mine]]),
                output_bytes=_mean([[line.output_bytes for line in mine]]),
                input=[
                    Input(
                        input=text,
                        count=times,
                        dialogue=[InnerLine(input=said, prompt=prompt) for said, prompt in dialogue],
                    )
                    for (text, dialogue), times in inputs.get(name, Counter()).most_common(_MOST_INPUTS)
                ],
            )
        )
    return found


def fit_typing(lines: list[Line]) -> Typing:
    """Gaps between keys.

    A line of c characters with its end has c − 1. The variation is that of lines, × √gaps.
    """
    timed = [(line.typing_s, line.characters - 1) for line in lines if line.typing_s and line.characters > 2]
    if not timed:
        return Typing(count=0)
    seconds, gaps = (np.array(column, dtype=float) for column in zip(*timed, strict=True))
    gap = float(seconds.sum() / gaps.sum())
    deviations = (seconds - gap * gaps) / np.sqrt(gaps)
    variation = float(np.sqrt(np.mean(deviations**2))) / gap
    return Typing(
        characters_per_second=min(1 / gap, 1e6), variation=min(variation, 10.0), count=int(gaps.sum())
    )


def _values(values: Sequence[float | int | None]) -> Floats:
    return np.array([value for value in values if value is not None], dtype=float)


def _mean(groups: Sequence[Sequence[float | int | None]]) -> Mean | None:
    values = [_values(group) for group in groups]
    count = sum(map(len, values))
    if count == 0:
        return None
    mean = float(np.concatenate(values).mean())
    if count < 2:
        return Mean(mean=mean, count=count)
    low, high = mean_interval(values)
    return Mean(mean=mean, low=low, high=high, count=count)
