"""Does what users typed agree with the building blocks? A table of tests, corrected for their number.

- The order: chi-square of each class's followers against the chain, contexts added up; without an order, of
  the mix.
- Think times: Kolmogorov–Smirnov against the blocks' distribution.
- Typing, characters of a line, bytes of an answer: the mean against the blocks', by users where there are
  eight.

Each user's first think time is left out: the emulator starts users anywhere within one. Where too few lines
came, nothing can be told, and that is what the table says.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from satline.stats import chi_square_tail, holm, kolmogorov_tail
from satline.workload._blocks import Blocks, Mean
from satline.workload._generate import Draws, next_shares, shell_shares
from satline.workload._statistics import chi_square, kolmogorov_distance

LEAST = 30
LEVEL = 0.05
_LEAST_USERS = 8


@dataclass(frozen=True)
class Test:
    """One line of the table.

    stated, drawn
        The figure in the blocks and in the draws; of a mix: the largest difference of a share, and its class
        in `what`.
    p, p_corrected
        None: nothing can be told.
    verdict
        ``agrees``, ``differs`` or ``cannot tell``.
    """

    what: str
    test: str
    unit: str
    n: int
    stated: float | None
    drawn: float | None
    statistic: float | None
    p: float | None
    p_corrected: float | None = None
    verdict: str = "cannot tell"


def compare(blocks: Blocks, draws: Draws) -> list[Test]:
    """All tests that blocks and draws allow, Holm-corrected at 5 %."""
    tests = [_mix(blocks, draws)]
    if blocks.order.order:
        tests.append(_order(blocks, draws))
    tests.append(_think(blocks, draws))
    gaps = [characters - 1 for characters in draws.characters]
    typed = [
        (time, gap, user) for time, gap, user in zip(draws.typing_s, gaps, draws.user, strict=True) if gap > 0
    ]
    if blocks.typing.characters_per_second and typed:
        rates = [time / gap for time, gap, _ in typed]
        wanted = 1 / blocks.typing.characters_per_second
        tests.append(_mean("time between keys", "s", rates, [user for *_, user in typed], Mean(mean=wanted)))
    for what, unit, values, stated in (
        ("characters of a line", "", draws.characters, blocks.characters),
        ("bytes of an answer", "bytes", draws.output_bytes, blocks.output_bytes),
    ):
        if stated is not None and len(values):
            tests.append(_mean(what, unit, [float(value) for value in values], draws.user, stated))
    told = [index for index, test in enumerate(tests) if test.p is not None]
    corrected = holm([tests[index].p or 0.0 for index in told])
    for index, p in zip(told, corrected, strict=True):
        verdict = "differs" if p < LEVEL else "agrees"
        tests[index] = Test(**{**tests[index].__dict__, "p_corrected": p, "verdict": verdict})
    return tests


def shares(blocks: Blocks, draws: Draws) -> list[tuple[str, float | None, float, int]]:
    """Class, share stated, share drawn, lines; classes that the blocks do not know come last, with None."""
    counts = Counter(draws.klass)
    total = max(counts.total(), 1)
    stated = {one.name: one.share for one in blocks.klass}
    names = [*stated, *(name for name in counts if name not in stated)]
    return [(name, stated.get(name), counts[name] / total, counts[name]) for name in names]


def _mix(blocks: Blocks, draws: Draws) -> Test:
    inner = {one.name for one in blocks.klass if one.inner}
    counts = Counter(name for name in draws.klass if name not in inner)
    wanted = shell_shares(blocks)
    names = [*wanted, *(name for name in counts if name not in wanted)]
    n = sum(counts.values())
    worst = max(names, key=lambda name: abs(counts[name] / max(n, 1) - wanted.get(name, 0.0)))
    result = chi_square([counts[name] for name in names], [wanted.get(name, 0.0) for name in names])
    strange = any(name not in wanted for name in counts)
    # With an order the lines are not independent: the order's own test tells.
    p = None if blocks.order.order or n < LEAST else 0.0 if strange else result.p
    return Test(
        f"mix, farthest: {worst}",
        "chi-square" if not blocks.order.order else "(see order)",
        "share",
        n,
        wanted.get(worst, 0.0),
        counts[worst] / n if n else None,
        result.statistic if p is not None else None,
        p,
    )


def _order(blocks: Blocks, draws: Draws) -> Test:
    inner = {one.name for one in blocks.klass if one.inner}
    names = list(shell_shares(blocks))
    tallies: dict[tuple[str, ...], Counter[str]] = {}
    wanted: dict[tuple[str, ...], dict[str, float]] = {}
    before: list[str] = []
    for user, name, first in zip(draws.user, draws.klass, draws.first, strict=True):
        if first:
            before = []
        if name in inner:
            continue
        if before:
            context, expected = next_shares(blocks, names, before)
            wanted[context] = expected
            tallies.setdefault(context, Counter())[name] += 1
        before.append(name)
        assert user
    statistic, freedom, n, strange = 0.0, 0, 0, 0
    for context, tally in tallies.items():
        expected = wanted[context]
        strange += sum(count for name, count in tally.items() if name not in expected)
        kept = list(expected)
        result = chi_square([tally[name] for name in kept], [expected[name] for name in kept])
        if result.freedom:
            statistic += result.statistic
            freedom += result.freedom
            n += tally.total()
    p = chi_square_tail(statistic, freedom) if freedom else None
    if strange:
        p = 0.0
    return Test(
        f"order {blocks.order.order}: followers",
        "chi-square",
        "",
        n,
        None,
        None,
        statistic if freedom else None,
        p,
    )


def _think(blocks: Blocks, draws: Draws) -> Test:
    values = np.array([t for t, first in zip(draws.think_s, draws.first, strict=True) if not first])
    enough = len(values) >= LEAST
    distance = kolmogorov_distance(values, blocks.think.cdf) if enough else None
    return Test(
        f"think time, {blocks.think.distribution}",
        "Kolmogorov–Smirnov",
        "s",
        len(values),
        blocks.think.mean_seconds,
        float(values.mean()) if len(values) else None,
        distance,
        kolmogorov_tail(distance, len(values)) if distance is not None else None,
    )


def _mean(what: str, unit: str, values: list[float], users: list[str], stated: Mean) -> Test:
    """The mean against a stated one.

    Z = (mean − stated) / s.e., s.e. from users' totals where there are eight.
    """
    data = np.array(values)
    n = len(data)
    mean = float(data.mean())
    names, index = np.unique(np.array(users), return_inverse=True)
    if len(names) >= _LEAST_USERS:
        totals = np.bincount(index, data - mean)
        error = math.sqrt(float((totals**2).sum()) * len(names) / (len(names) - 1)) / n
    else:
        error = float(data.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    p = z = None
    if n >= LEAST:
        z = 0.0 if mean == stated.mean else (mean - stated.mean) / error if error > 0 else math.inf
        p = math.erfc(abs(z) / math.sqrt(2))
    return Test(what, "mean", unit, n, stated.mean, mean, z, p)


def draws_of_recording(path: Path) -> Draws:
    """The lines that emulated users typed in a recording, set-up lines left out.

    Raises
    ------
    SatlineError
        It is no recording, or holds no transactions.
    """
    from satline.errors import SatlineError
    from satline.recording import Recording

    recording = Recording.open(path)
    if "transaction" not in recording.tables():
        raise SatlineError(
            f"{path}: no transactions", hint="name a recording of emulated users, as `satline study` makes"
        )
    with recording.connect() as connection:
        rows = connection.execute(
            """SELECT "user", class, think_us / 1e6, typing_us / 1e6, input_characters, output_bytes
            FROM "transaction" WHERE class <> 'setup' AND outcome <> 'cut' AND phase <> 'logon'
            ORDER BY "user", monotonic_ns"""
        ).fetchall()
    draws = Draws()
    for user, klass, think, typing, characters, output in rows:
        draws.first.append(not draws.user or draws.user[-1] != user)
        draws.user.append(user)
        draws.klass.append(klass)
        draws.think_s.append(think)
        draws.typing_s.append(typing)
        draws.characters.append(characters)
        draws.output_bytes.append(output)
    return draws
