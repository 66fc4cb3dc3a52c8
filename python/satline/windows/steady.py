"""Is the measured window steady? A trend in it says that the warm-up was too short, or that load grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satline.stats import f_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import numpy as np
    from numpy.typing import NDArray

BLOCKS = 10
LEAST = 5 * BLOCKS
LEVEL = 0.01
MATERIAL = 0.20


@dataclass(frozen=True)
class Steady:
    """What a window says of its steadiness.

    steady
        ``None``: too few interactions to tell.
    words
        What was found, empty where it is steady.
    """

    steady: bool | None
    words: str = ""


def steadiness(seconds: Sequence[float], times: Sequence[float], window_s: float) -> Steady:
    """Judge a window by its interactions: when each began, from the window's start, and its response.

    The window is cut into ten equal parts of time; a straight line is fitted to their numbers of
    interactions, and to their mean logarithms of response, which are close to independent of each other
    where a part is long against one interaction. It is not steady where the slope of either is sure (t-test,
    1 %, Holm) and the line changes by a fifth at least over the window: less does no harm.
    """
    import numpy as np

    if len(seconds) < LEAST or window_s <= 0:
        return Steady(None, f"{len(seconds)} interactions are too few to tell whether it was steady")
    part = np.clip((np.asarray(times) / window_s * BLOCKS).astype(int), 0, BLOCKS - 1)
    counts = np.bincount(part, minlength=BLOCKS).astype(float)
    logs = np.bincount(part, weights=np.log(np.maximum(seconds, 1e-6)), minlength=BLOCKS)
    if (counts == 0).any():
        return Steady(False, "for a tenth of it nothing happened")
    found = []
    for words, y, relative in (("interactions", counts, False), ("response", logs / counts, True)):
        change, chance = _trend(y)
        part_of = math.expm1(change) if relative else change / float(y.mean())
        found.append((chance, part_of, words))
    found.sort()
    told = []
    for place, (chance, part_of, words) in enumerate(found):
        if chance * (len(found) - place) > LEVEL:
            break
        if abs(part_of) >= MATERIAL:
            told.append(f"{words} changed by {part_of:+.0%} over it")
    return Steady(not told, f"not steady: {', '.join(told)}" if told else "")


def _trend(y: NDArray[np.float64]) -> tuple[float, float]:
    """Change of the fitted line over the window; significance of its slope: t² = F with 1, n − 2 df."""
    import numpy as np

    n = len(y)
    x = np.arange(n) - (n - 1) / 2
    slope = float(x @ y) / float(x @ x)
    explained = slope * slope * float(x @ x)
    rest = float(((y - y.mean()) ** 2).sum()) - explained
    if explained == 0.0:
        return 0.0, 1.0
    f = explained * (n - 2) / rest if rest > 0.0 else math.inf
    return slope * n, f_tail(f, 1, n - 2) if math.isfinite(f) else 0.0


def window_steadiness(connection: duckdb.DuckDBPyConnection, step: int, run: int | None = None) -> Steady:
    """Judge the window of a step of an open recording; run: of the emulator's, ``None``: it has one."""
    of_run = "" if run is None else f" AND run = {int(run)}"
    bounds = connection.execute(
        "SELECT max(monotonic_ns) FILTER (event = 'window-start'), max(monotonic_ns) FILTER "
        f"(event = 'window-end') FROM event WHERE step = ?{of_run}",
        [step],
    ).fetchone()
    if bounds is None or None in bounds:
        return Steady(None, "it has no whole window")
    rows = connection.execute(
        "SELECT (monotonic_ns - ?) / 1e9, response_us / 1e6 FROM transaction WHERE phase = 'window' "
        f"AND step = ?{of_run} AND response_us IS NOT NULL AND outcome IN ('ok', 'unexpected')",
        [bounds[0], step],
    ).fetchall()
    return steadiness([row[1] for row in rows], [row[0] for row in rows], (bounds[1] - bounds[0]) / 1e9)
