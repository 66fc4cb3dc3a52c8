"""The peak of a load series: the most interactions per minute, at how many users, and why no more [AW79].

AIM's multiuser benchmark (Suite VII) has the same figure of its own work: the most jobs per minute, and the
number of tasks at which they are reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from satline.diagnosis import Diagnosis
    from satline.reduction import Source

BLOCKS = 10
REPLICATES = 2000
TAIL = 0.025
_SEED = 20261122


@dataclass(frozen=True)
class Peak:
    """The most interactions per minute that a load series saw.

    low, high
        95 % interval of the greatest rate among these loads; ``None`` where no step has enough parts.
    users
        At which it was seen.
    users_low, users_high
        Loads whose rate cannot be told from the greatest.
    reached
        A greater load was seen that has surely less, or two that have not more: the series went far enough.
    causes
        By the diagnosis; empty: none is named.
    """

    per_minute: float
    low: float | None
    high: float | None
    users: int
    users_low: int
    users_high: int
    reached: bool
    causes: tuple[str, ...]
    rates: tuple[tuple[int, float], ...]

    @property
    def words(self) -> str:
        """In sentences."""
        interval = "" if self.low is None or self.high is None else f" [{self.low:.0f}, {self.high:.0f}]"
        text = f"Peak: {self.per_minute:.0f} interactions per minute{interval} at {self.users} users"
        if self.users_low != self.users_high:
            text += f"; {self.users_low} to {self.users_high} cannot be told from it"
        if not self.reached:
            text += "; more users might bring more: the series ends before it"
        if self.causes:
            text += f". What holds it there: {' or '.join(self.causes)}"
        return text + "."


def peak_of(recording: Source, diagnosis: Diagnosis | None) -> Peak | None:
    """The peak of a recorded load series; ``None``: fewer than two whole windows.

    Each window is cut into ten parts of equal length. The interval is a basic bootstrap one of the greatest
    of the steps' rates, parts drawn anew within each step: the greatest of several is greater than any by
    chance, and 2 x − x* takes back what that adds.
    """
    import numpy as np

    windows = _windows(recording)
    if len(windows) < 2:
        return None
    users = np.array([one[0] for one in windows])
    parts = np.stack([one[1] for one in windows])
    rates = parts.mean(axis=1)
    random = np.random.default_rng(_SEED)
    drawn = random.integers(0, BLOCKS, size=(REPLICATES, len(windows), BLOCKS))
    means = np.take_along_axis(np.broadcast_to(parts, drawn.shape), drawn, axis=2).mean(axis=2)
    greatest = means.max(axis=1)
    best = int(rates.argmax())
    low, high = (2 * float(rates[best]) - float(q) for q in np.quantile(greatest, (1 - TAIL, TAIL)))
    lags = means[:, [best]] - means
    # Surely less than at the peak: the difference is above 0 in nearly all draws.
    less = np.quantile(lags, TAIL, axis=0) > 0
    alike = _around(~less, best)
    beyond = range(best + 1, len(windows))
    causes: tuple[str, ...] = ()
    if diagnosis is not None:
        from satline.diagnosis.capacity import causes_of

        causes = causes_of(diagnosis)[0]
    return Peak(
        float(rates[best]),
        max(0.0, low),
        high,
        int(users[best]),
        int(users[alike[0]]),
        int(users[alike[-1]]),
        len(beyond) >= 2 or any(bool(less[n]) for n in beyond),
        causes,
        tuple((int(n), float(rate)) for n, rate in zip(users, rates, strict=True)),
    )


def _around(same: NDArray[np.bool_], best: int) -> list[int]:
    """The places next to `best` without a gap that are alike."""
    first = last = best
    while first > 0 and same[first - 1]:
        first -= 1
    while last + 1 < len(same) and same[last + 1]:
        last += 1
    return list(range(first, last + 1))


def _windows(recording: Source) -> list[tuple[int, NDArray[np.float64]]]:
    """Users, and interactions per minute in each tenth of the window, of every whole step.

    An interaction counts when its answer begins to come, whatever step it was begun in.
    """
    import numpy as np

    with recording.connect(tables=["event", "transaction"]) as connection:  # type: ignore[call-arg]
        bounds = connection.execute(
            "SELECT step, any_value(users), max(monotonic_ns) FILTER (event = 'window-start') AS t0, "
            "max(monotonic_ns) FILTER (event = 'window-end') AS t1 FROM event WHERE step IS NOT NULL "
            "GROUP BY run, step HAVING t0 IS NOT NULL AND t1 > t0 ORDER BY run, step"
        ).fetchall()
        times = connection.execute(
            "SELECT monotonic_ns + coalesce(reaction_us, response_us) * 1000 FROM transaction "
            "WHERE phase <> 'logon' AND outcome IN ('ok', 'unexpected') AND response_us IS NOT NULL"
        ).fetchnumpy()
    moments = np.sort(np.asarray(next(iter(times.values())), dtype=np.float64))
    found = []
    for _, users, begin, end in bounds:
        counts = np.histogram(moments, bins=BLOCKS, range=(begin, end))[0]
        found.append((int(users), counts * BLOCKS * 6e10 / (end - begin)))
    return found
