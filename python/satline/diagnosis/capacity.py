"""How many users a system carries while enough of their reactions are quick [AW79]: an interval, and a cause.

Satisfaction at a load is the part of reactions within a threshold, 2 s by default. It does not rise with
load, so it is fitted by the nearest course that falls (isotonic regression), and the capacity is where that
crosses the part asked for, by a straight line between the loads next to it. The interval comes from
resampling blocks of time within each load: reactions of one moment are alike, so that single ones would say
too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._lateness import LATE_US
from satline.diagnosis._results import Diagnosis, Finding
from satline.diagnosis._warnings import absent_users
from satline.diagnosis.rules._worth import undecided
from satline.errors import InputError
from satline.reduction import Source, reading
from satline.stats import isotonic

Floats = NDArray[np.float64]
What = Literal["reaction", "response"]

BLOCKS = 10
LEAST_BLOCKS = 5
LEAST_REACTIONS = 30
REPLICATES = 1000
TAIL = 0.025
# Columns of a block: good, all, and good had late lines got their answers as much later, or earlier.
LATEST, EARLIEST = 2, 3
_SEED = 20261122


@dataclass(frozen=True)
class Step:
    """Reactions at one load.

    within
        Part of them within the threshold, with its 95 % interval; ``None`` where they are too few for one.
        What failed, or was never answered, was not within it. The interval holds what it would be had every
        line that was late by 10 ms or more got its answer so much later, or so much earlier.
    median_s, p90_s
        Of those that came.
    """

    users: int
    reactions: int
    failed: int
    within: float
    low: float | None
    high: float | None
    median_s: float | None
    p90_s: float | None


@dataclass(frozen=True)
class Capacity:
    """The answer of a load series.

    users
        Users up to whom the part asked for is reached; ``None``: beyond the loads seen, or below them.
    low, high
        Its 95 % interval; ``None`` where it goes beyond the loads seen on that side, or nothing tells it.
    between
        The loads that the crossing lies between.
    causes
        What holds the system back, by the diagnosis; several where it cannot tell which; empty: nothing was
        named. Where the lightest load seen does not reach the part either, it is not load that is too much.
    chances
        Of each of the causes, the chance that its remedy serves, as the diagnosis gives it; ``None``: no
        model can tell.
    saturation
        The diagnosis' outcome; ``never-reached``: the lightest load seen does not reach the part.
    absent
        Who could not log on, where somebody could not: the loads were lighter than they say, and no interval
        is told.
    """

    what: What
    within_s: float
    part: float
    users: float | None
    low: float | None
    high: float | None
    between: tuple[int, int] | None
    told: bool
    causes: tuple[str, ...]
    saturation: str
    steps: tuple[Step, ...]
    absent: str | None = None
    chances: tuple[float | None, ...] = ()


def capacity(
    recording: Source,
    diagnosis: Diagnosis | None,
    *,
    within_s: float = 2.0,
    part: float = 0.9,
    what: What = "reaction",
) -> Capacity:
    """Users up to whom `part` of the reactions (or responses) come within `within_s` seconds.

    Parameters
    ----------
    diagnosis
        Of this recording, for the cause; ``None``: no cause is told.

    Raises
    ------
    InputError
        The recording has no transactions in measured windows of at least two loads.
    """
    if not within_s > 0 or not 0 < part < 1:
        raise InputError(
            f"{part:g} of {what}s within {within_s:g} s", hint="give a time above 0, a part between 0 and 1"
        )
    found = _read(recording, within_s, what)
    if len(found) < 2:
        raise InputError(
            f"{getattr(recording, 'path', 'the recording')}: transactions in measured windows of "
            f"{len(found)} loads; two are needed",
            hint="record a study with several steps of users; `satline analyse plan` answers for others",
        )
    absent = absent_users(recording)
    # Satisfaction falls with load: for light loads of too few reactions the first that has enough stands.
    enough = [step.low is not None for step, _ in found]
    first = next((k for k in range(len(found) - 1) if enough[k] and enough[-1]), 0)
    # One of too few between others tells less than a straight line between these.
    firm = [pair for k, pair in enumerate(found) if k >= first and (enough[k] or not any(enough[k + 1 :]))]
    users, value, low, high = _fitted(firm if len(firm) > 1 else found[first:], part)
    if first and (low == float("-inf") or any(step.within < part for step, _ in found[:first])):
        first = 0
        users, value, low, high = _fitted(found, part)
    told = absent is None and enough[first] and enough[-1]
    at = int(np.searchsorted(users, value)) if np.isfinite(value) else 0
    limiting = _limiting(diagnosis)
    saturation: str = "" if diagnosis is None else diagnosis.saturation.outcome
    if value == float("-inf"):
        limiting, saturation = (), "never-reached"
    return Capacity(
        what,
        within_s,
        part,
        value if np.isfinite(value) else None,
        low if told and np.isfinite(low) else None,
        high if told and np.isfinite(high) else None,
        (int(users[at - 1]), int(users[at])) if 0 < at < len(users) else None,
        told,
        tuple(f.title for f in limiting),
        saturation,
        tuple(step for step, _ in found),
        absent,
        tuple(f.chance if f.gain is not None else None for f in limiting),
    )


def _fitted(found: Sequence[tuple[Step, Floats]], part: float) -> tuple[Floats, float, float, float]:
    """Users of the loads, the crossing and its 95 % interval."""
    users = np.array([step.users for step, _ in found], dtype=np.float64)
    counts = [blocks for _, blocks in found]
    good, whole = (np.array([b[:, k].sum() for b in counts]) for k in (0, 1))
    value = crossing(users, good, whole, part)
    ends = []
    # The lower end from the answers as late as they may have been, the upper one from the earliest.
    for k, tail in ((LATEST, TAIL), (EARLIEST, 1 - TAIL)):
        draws = np.array([crossing(users, *sums, part) for sums in _resampled(counts, k)])
        ends.append(float(np.quantile(draws, tail, method="nearest")))
    return users, value, ends[0], ends[1]


def crossing(users: Floats, good: Floats, whole: Floats, part: float) -> float:
    """The load at which the falling course nearest to ``good / whole`` crosses `part`; infinite beyond the
    greatest load, and minus infinity below the least."""
    course = isotonic(good / whole, whole, rising=False)
    below = np.flatnonzero(course < part)
    if not len(below):
        return float("inf")
    at = int(below[0])
    if at == 0:
        return float("-inf")
    span = course[at - 1] - course[at]
    return float(users[at - 1] + (users[at] - users[at - 1]) * (course[at - 1] - part) / span)


def _resampled(counts: Sequence[Floats], which: int = 0) -> list[tuple[Floats, Floats]]:
    """Sums of good (column `which`) and of all reactions at each load, of blocks drawn anew."""
    random = np.random.default_rng(_SEED)
    drawn = []
    for blocks in counts:
        # One block fewer than there are: of n blocks the spread is (n - 1)/n of what it is.
        take = random.integers(0, len(blocks), size=(REPLICATES, max(1, len(blocks) - 1)))
        drawn.append(blocks[take].sum(axis=1))
    sums = np.stack(drawn, axis=1)
    return [(one[:, which], one[:, 1]) for one in sums if (one[:, 1] > 0).all()]


def _read(recording: Source, within_s: float, what: What) -> list[tuple[Step, Floats]]:
    """The loads, each with (good, all, good at the latest, at the earliest) of its blocks of time that hold
    any."""
    connection = reading(recording)
    # A command that says nothing answers with its prompt.
    value = "response_us" if what == "response" else "coalesce(reaction_us, response_us)"
    rows = connection.execute(f"""
        WITH measured AS (
            SELECT users, run, step, monotonic_ns AS t, {value} / 1e6 AS s,
                CASE WHEN lateness_us >= {LATE_US} THEN lateness_us / 1e6 ELSE 0 END AS late,
                outcome NOT IN ('ok', 'unexpected') AS failed
            FROM transaction WHERE phase = 'window' AND step > 0 AND outcome <> 'cut' AND users IS NOT NULL),
        placed AS (
            SELECT *, coalesce(least({BLOCKS} - 1, floor({BLOCKS} * (t - min(t) OVER w)::DOUBLE
                / nullif(max(t) OVER w - min(t) OVER w, 0))), 0) AS block
            FROM measured WINDOW w AS (PARTITION BY users, run, step))
        SELECT users, run, step, block, count(*) AS n, count(*) FILTER (failed) AS failed,
            count(*) FILTER (NOT failed AND s <= {within_s!r}) AS good,
            list(s) FILTER (s IS NOT NULL) AS seconds,
            count(*) FILTER (NOT failed AND s + late <= {within_s!r}) AS latest,
            count(*) FILTER (NOT failed AND s - late <= {within_s!r}) AS earliest
        FROM placed GROUP BY ALL ORDER BY users, run, step, block
    """).fetchall()
    found = []
    for users in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == users]
        blocks = np.array([(row[6], row[4], row[8], row[9]) for row in own], dtype=np.float64)
        seconds = np.array([s for row in own for s in row[7] or ()], dtype=np.float64)
        reactions, failed = int(blocks[:, 1].sum()), sum(int(row[5]) for row in own)
        low = high = None
        if reactions >= LEAST_REACTIONS and len(blocks) >= LEAST_BLOCKS:
            for_low, for_high = (
                [float(good[0] / whole[0]) for good, whole in _resampled([blocks], k)]
                for k in (LATEST, EARLIEST)
            )
            low, high = float(np.quantile(for_low, TAIL)), float(np.quantile(for_high, 1 - TAIL))
        middle, most = (float(q) for q in np.quantile(seconds, (0.5, 0.9))) if len(seconds) else (None, None)
        within = float(blocks[:, 0].sum() / reactions)
        found.append((Step(int(users), reactions, failed, within, low, high, middle, most), blocks))
    return found


def causes_of(diagnosis: Diagnosis | None) -> tuple[tuple[str, ...], str]:
    """What the diagnosis names, by title, and its outcome."""
    outcome = "" if diagnosis is None else diagnosis.saturation.outcome
    return tuple(f.title for f in _limiting(diagnosis)), outcome


def _limiting(diagnosis: Diagnosis | None) -> tuple[Finding, ...]:
    """What holds a saturated system back; several where it cannot be told which."""
    if diagnosis is None or diagnosis.saturation.outcome != "saturated":
        return ()
    named = [f for f in diagnosis.findings if f.component != "none"]
    return undecided(named) or tuple(named[:1])
