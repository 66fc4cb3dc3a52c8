"""Throughput of a window, corrected for what the users drew in it.

A closed system of users who think and then wait has random throughput because what they draw is random: how
long they think, and which commands they type. What was drawn is known, and so is its mean: the workload file
states it. Its deviation is a control variate. Three things are done here:

- **cycles count in proportion to their time within the window** and not all at their end. A cycle is a pause
  and the answer that follows. By Campbell's theorem this has the same mean, and nothing hangs on which side
  of the window's end an answer falls.
- **the think times drawn** are held against their stated mean, and
- **the commands drawn** against the stated mix: what they count as, and how long they take at light load.

How much a deviation matters depends on how saturated the system is. In a product-form network the derivative
of ln X(N) by the logarithm of a mean time spent at station i is Q_i(N − 1) − Q_i(N), the change in the mean
number there; for thinking it is −Z (X(N) − X(N − 1)) (by Little's law). With g = N (X(N) − X(N − 1)) / X(N),
the elasticity of throughput in users, that is −g f, where f is the part of the users that think; and for all
else together −(1 − g f), since all of them sum to −1. So one number, g, says it all: 1 at light load, where
each user has a pace of its own, and 0 where the system is saturated and thinking costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# An open cycle is taken to end as those of its kind that lasted as long; so many of them will do.
DONORS = 40
# Of so many users on, what each of them did tells the error.
FEWEST_USERS = 4


@dataclass(frozen=True)
class Cycles:
    """Pauses and the answers that followed, arrays of one length.

    user
        Number of the user, any.
    kind
        The users of one kind draw from the same script.
    begin_s, end_s
        Of the whole cycle; `end_s` is NaN where it was not over at `known_s`.
    pause_s
        Its part before the line was sent, as it was; NaN where not known.
    think_s, expected_think_s
        The time drawn and the mean that it was drawn from; NaN where not known.
    work, expected_work
        What it counts as, 0 for what failed, and the mean of the kind's draws; NaN where not known.
    light_s, expected_light_s
        Response at light load of its class, and the mean of the kind's draws; NaN where not known.
    paused
        Open cycles only: it was still in its pause at `known_s`.
    known_s
        Open cycles only: up to when it is known not to have ended; NaN for others.
    """

    user: Integers
    kind: Integers
    begin_s: Floats
    end_s: Floats
    pause_s: Floats
    think_s: Floats
    expected_think_s: Floats
    work: Floats
    expected_work: Floats
    light_s: Floats
    expected_light_s: Floats
    paused: NDArray[np.bool_]
    known_s: Floats


@dataclass(frozen=True)
class Corrected:
    """What a window's blocks come to.

    throughput
        Work per second by block, each corrected; shape (blocks,). Their mean is the window's; their spread
        is such that their standard error, as if they were independent, is the window's.
    uncorrected
        The same without control variates: only cycles counted in proportion.
    elasticity
        g, as given or as the model has it.
    thinking
        Part of the users' time in which they paused.
    think_ratio
        Mean think time drawn ÷ mean stated; NaN: not known.
    work_ratio
        Mean work drawn ÷ mean stated.
    open
        Part of the users' time that is of cycles whose end is not known.
    """

    throughput: Floats
    uncorrected: Floats
    elasticity: float
    thinking: float
    think_ratio: float
    work_ratio: float
    open: float


def corrected(
    cycles: Cycles,
    begin_s: float,
    end_s: float,
    blocks: int,
    users: int,
    *,
    elasticity: float | None = None,
    left: Floats | None = None,
) -> Corrected:
    """Throughput in each of so many equal blocks of a window, of work per second.

    With f_i the part of cycle i that lies within the block, w_i its work, z_i its think time and r_i its
    response at light load, W = Σ f_i w_i / t is corrected by means of the deviations from what was expected,

        − Σ f_i (w_i − E w) + (1 − g) (w̄ / r̄) Σ f_i (r_i − E r) + g Σ f_i (w̄ / C) (z_i − E z + r_i − E r),

    each over t, with C the mean length of a cycle of the kind had it drawn what was expected. The means of
    the deviations are 0, so nothing is biased.

    Parameters
    ----------
    users
        Logged on, those of whom nothing is known included.
    elasticity
        g: of throughput in users, at this load; ``None``: by `model_elasticity`.
    left
        Part of the load's CPU that others left, by block: blocks are put on its mean, in proportion to
        (mean ÷ left)^(1 − g), which leaves the mean of the window nearly as it is.
    """
    edges = np.linspace(begin_s, end_s, blocks + 1)
    block_s = (end_s - begin_s) / blocks
    if not len(cycles.begin_s):
        none, nan = np.zeros(blocks), float("nan")
        return Corrected(none, none, 1.0 if elasticity is None else elasticity, 0.0, nan, nan, 1.0)
    c, weight = _closed(cycles)
    length = np.maximum(c.end_s - c.begin_s, 1e-9)
    inside = np.clip(
        np.minimum(c.end_s[:, None], edges[None, 1:]) - np.maximum(c.begin_s[:, None], edges[None, :-1]),
        0.0,
        None,
    )
    part = inside / length[:, None] * weight[:, None]
    of_each = part.sum(axis=1)
    time_s = (inside.sum(axis=1) * weight).sum()
    whole_s = users * (end_s - begin_s)
    pause = np.where(np.isfinite(c.pause_s), c.pause_s, 0.0)
    thinking = float((of_each * pause).sum() / whole_s) if whole_s > 0 else 0.0
    sums = _sums(c, part, length)
    if elasticity is None:
        pauses, light_s = float((of_each * pause).sum()), float(sums[:, :, _LIGHT].sum())
        alone = light_s / pauses if light_s > 0 and pauses > 0 else None
        elasticity = model_elasticity(users, thinking, alone)
    g = min(max(elasticity, 0.0), 1.0)

    plain = sums[:, :, _WORK].sum(axis=1) / block_s
    value = _value(sums.sum(axis=0), g) / block_s / blocks
    if blocks > 1:
        # Jackknife: the spread of the blocks' pseudo-values holds the error of the coefficients too.
        without = [_value(sums.sum(axis=0) - block, g) / block_s / (blocks - 1) for block in sums]
        values = blocks * value - (blocks - 1) * np.array(without)
    else:
        values = np.array([value])
    values = values.mean() + (values - values.mean()) * _to_error(c, part, length, values, g)
    if left is not None and np.isfinite(left).all() and (left > 0.05).all():
        values = values * (left.mean() / left) ** (1 - g)

    drawn = np.isfinite(c.think_s) & np.isfinite(c.expected_think_s)
    expected = float((of_each[drawn] * c.expected_think_s[drawn]).sum())
    stated = np.isfinite(c.expected_work)
    expected_work = float((of_each[stated] * c.expected_work[stated]).sum())
    is_open = ~np.isfinite(cycles.end_s)
    known_open = 0.0
    if is_open.any():
        ends = np.minimum(np.where(is_open, cycles.known_s, 0.0), end_s)
        known_open = float(np.clip(ends - np.maximum(cycles.begin_s, begin_s), 0.0, None)[is_open].sum())
    return Corrected(
        values,
        plain,
        g,
        thinking,
        float((of_each[drawn] * c.think_s[drawn]).sum()) / expected if expected > 0 else float("nan"),
        float((of_each[stated] * c.work[stated]).sum()) / expected_work
        if expected_work > 0
        else float("nan"),
        (known_open + max(0.0, whole_s - time_s)) / whole_s if whole_s > 0 else 1.0,
    )


def _to_error(c: Cycles, part: Floats, length: Floats, values: Floats, g: float) -> float:
    """By what the spread of the blocks is to be stretched so that their standard error is the window's.

    Users draw independently of each other: the jackknife leaves out one after the other, and what is left of
    its kind stands for the kind, since how many users there are of each is no chance. (Blocks resemble each
    other where cycles are longer than they are.) Of a few users that is too few to tell, and the blocks'
    spread is stretched by how much the same cycles make them alike.
    """
    of_each = part.sum(axis=1)
    by_blocks = float(np.sqrt((of_each**2).sum() / max((part**2).sum(), 1e-12)))
    square = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
    whose, there = np.unique(c.user, return_inverse=True)
    if len(whose) < FEWEST_USERS or not square > 0:
        return by_blocks
    by_user = np.zeros((len(of_each), len(whose)))
    by_user[np.arange(len(of_each)), there] = of_each
    sums = _sums(c, by_user, length)
    total = sums.sum(axis=0)
    kinds, kind = np.unique(c.kind, return_inverse=True)
    kind_of = np.zeros(len(whose), dtype=np.int64)
    kind_of[there] = kind
    error, alone = 0.0, 0
    for k in range(len(kinds)):
        own = np.flatnonzero(kind_of == k)
        if len(own) < 2:
            alone += len(own)
            continue
        without = []
        for user in own:
            left = total.copy()
            left[k] = (total[k] - sums[user, k]) * len(own) / (len(own) - 1)
            without.append(_value(left, g))
        error += (len(own) - 1) / len(own) * float(((np.array(without) - np.mean(without)) ** 2).sum())
    if alone == len(whose):
        return by_blocks
    # The only user of its kind is taken to err as the others do.
    error *= len(whose) / (len(whose) - alone)
    relative = error / max(_value(total, g), 1e-12) ** 2
    return float(np.sqrt(relative * values.mean() ** 2 / square))


_COUNT, _WORK, _CYCLE_S, _WORK_OFF, _LIGHT_OFF, _THINK_OFF, _STATED, _LIGHT = range(8)


def _sums(c: Cycles, part: Floats, length: Floats) -> Floats:
    """What is needed of each block and kind: Σ f_i of several things; shape (blocks, kinds, things)."""
    work = _deviation(c.work, c.expected_work)
    light = _deviation(c.light_s, c.expected_light_s)
    think = _deviation(c.think_s, c.expected_think_s)
    stated = np.where(np.isfinite(c.expected_work), c.expected_work, c.work)
    known = np.where(np.isfinite(c.expected_light_s), c.expected_light_s, 0.0)
    things = np.stack([np.ones(len(length)), c.work, length, work, light, think, stated, known], axis=1)
    kinds = np.unique(c.kind)
    return np.stack([part[c.kind == kind].T @ things[c.kind == kind] for kind in kinds], axis=1)


def _value(sums: Floats, g: float) -> float:
    """Work, corrected, of the sums of all kinds; shape (kinds, things)."""
    sums = sums[sums[:, _COUNT] > 1e-9]
    if not len(sums):
        return 0.0
    count = sums[:, _COUNT]
    # As if what was expected had been drawn: else C would go with the deviations, and W be biased.
    cycle_s = np.maximum((sums[:, _CYCLE_S] - sums[:, _THINK_OFF] - sums[:, _LIGHT_OFF]) / count, 1e-9)
    of_cycle = sums[:, _STATED] / count / cycle_s
    known = sums[:, _LIGHT] > 0
    light = float(sums[known, _LIGHT].sum())
    per_light = float(sums[known, _STATED].sum()) / light if light > 0 else 0.0
    change = (
        -sums[:, _WORK_OFF]
        + (1 - g) * per_light * sums[:, _LIGHT_OFF]
        + g * of_cycle * (sums[:, _THINK_OFF] + sums[:, _LIGHT_OFF])
    )
    return float((sums[:, _WORK] + change).sum())


def model_elasticity(users: int, thinking: float, alone: float | None = None) -> float:
    """N (X(N) − X(N − 1)) / X(N) of a closed system with this part of its users thinking.

    The response is met by halving: not worth loading `scipy.optimize` in the midst of a study.

    Users think for Z, are delayed for d and served for s by one server that they share; by insensitivity only
    the means matter. What is known of several servers is in it too: m of them are like a delay of s (1 − 1/m)
    and one that takes s/m [Seidmann 1987].

    Parameters
    ----------
    thinking
        f = X Z / N, so that (1 − f) / f is the response in units of Z.
    alone
        Response at light load in units of Z, d + s: s is such that the response comes to what it is. Where
        even s = d + s gives less, as where others took what there was, s is larger. ``None``: d = 0.
    """
    if users <= 1:
        return 1.0
    thinking = min(max(thinking, 1e-6), 1.0 - 1e-9)
    response = (1 - thinking) / thinking
    if alone is not None and response <= alone:
        return 1.0

    def rates(served: float) -> tuple[float, float, float]:
        """X(N), X(N − 1) and the response, in units of Z."""
        delay = 0.0 if alone is None else max(0.0, alone - served)
        here, before = _repairman(users, served / (1 + delay))
        return here, before, users * (1 + delay) / here - 1

    low, high = -14.0, 14.0
    for _ in range(50):
        middle = (low + high) / 2
        if rates(float(np.exp(middle)))[2] < response:
            low = middle
        else:
            high = middle
    here, before, _ = rates(float(np.exp((low + high) / 2)))
    return users * (here - before) / here


def _repairman(users: int, served: float) -> tuple[float, float]:
    """X(N) and X(N − 1) of N users who think for 1 and share a server that takes so long.

    X = G(N − 1) / G(N), where G(n) = Σ served^k / (n − k)! over the k of n that are served.
    """
    k = np.arange(users + 1)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, users + 1)))])

    def log_g(n: int) -> float:
        terms = k[: n + 1] * np.log(served) - factorial[n - k[: n + 1]]
        top = float(terms.max())
        return top + float(np.log(np.exp(terms - top).sum()))

    last = [log_g(n) for n in (users - 2, users - 1, users)]
    return float(np.exp(last[1] - last[2])), float(np.exp(last[0] - last[1]))


def _deviation(values: Floats, expected: Floats) -> Floats:
    difference = values - expected
    return np.where(np.isfinite(difference), difference, 0.0)


def _closed(cycles: Cycles) -> tuple[Cycles, Floats]:
    """The cycles, each open one in place of its ends by those of its kind that lasted as long; weights.

    So an open cycle counts as the mean of what those came to, draws included: neither its beginning alone,
    which would favour the short, nor nothing. One that outlasts all of its kind has half of its length before
    it, and draws as expected.
    """
    is_open = ~np.isfinite(cycles.end_s)
    if not is_open.any():
        return cycles, np.ones(len(cycles.end_s))
    whole = np.flatnonzero(~is_open)
    length = cycles.end_s - cycles.begin_s
    taken = {name: [getattr(cycles, name)[whole]] for name in Cycles.__dataclass_fields__}
    weights = [np.ones(len(whole))]
    for place in np.flatnonzero(is_open):
        age = cycles.known_s[place] - cycles.begin_s[place]
        if not age > 0:
            continue
        at_least = cycles.pause_s if cycles.paused[place] else length
        donors = whole[(cycles.kind[whole] == cycles.kind[place]) & (at_least[whole] > age)]
        if len(donors) > DONORS:
            donors = donors[np.linspace(0, len(donors) - 1, DONORS).astype(np.int64)]
        count = max(1, len(donors))
        for name, column in taken.items():
            if len(donors):
                values = getattr(cycles, name)[donors]
            else:
                values = np.full(1, _alone(cycles, name, int(place)), dtype=getattr(cycles, name).dtype)
            if name in ("begin_s", "user"):
                column_of = getattr(cycles, name)
                values = np.full(count, column_of[place], dtype=column_of.dtype)
            elif name == "end_s":
                values = cycles.begin_s[place] + (length[donors] if len(donors) else np.full(1, 2 * age))
            column.append(values)
        weights.append(np.full(count, 1 / count))
    return Cycles(**{name: np.concatenate(columns) for name, columns in taken.items()}), np.concatenate(
        weights
    )


def _alone(cycles: Cycles, name: str, place: int) -> float | int | bool:
    """A value of an open cycle that outlasts all: as expected."""
    if name in ("think_s", "light_s"):
        name = f"expected_{name}"
    value: float | int | bool = getattr(cycles, name)[place].item()
    return value
