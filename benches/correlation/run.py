"""How long a correlation takes, beside the bare matrix products; and how often it finds what is not there.

    python benches/correlation/run.py [--json] [--repeats N] [--series N] [--moments N] [--lags N]
    python benches/correlation/run.py --false [--panels N]
    python benches/correlation/run.py --critical

Without a word: 2,000 series of 10,000 moments, autocorrelated, against one of them at lags of −60 … 60. In
turn, in one process and with the same BLAS threads: the bare products of series and lagged PQM, once for
values and once for ranks; and `satline.correlation.correlate`, which besides centres, ranks, allows for
missing moments and autocorrelation, makes the chances and folds the discoveries; it makes the products by
transforms. The same once more with a twentieth of all values missing; the bare products are then those of
values, squares and presence.

--false makes panels of series that have nothing to do with each other, of kinds on which naive tests fail,
and counts the panels with any discovery at a rate of 5 %; beside it, those of a naive test (Pearson, n − 2
degrees of freedom, Benjamini and Hochberg). --critical makes the limits of the level-shift test from random
walks.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402

from satline.correlation import (  # noqa: E402  # noqa: E402
    Panel,
    centred,
    correlate,
    self_normalised,
    tails,
)
from satline.stats import false_discoveries as adjusted  # noqa: E402

KINDS = ("white", "ar 0.5", "ar 0.9", "ar 0.98", "daily", "office hours", "heavy", "spikes", "walk", "trend")


def shifted(values: Any, lags: Any) -> Any:
    """Shape (moments, lags): column k is `values` taken `lags[k]` moments later, 0 beyond the ends."""
    n = len(values)
    found = np.zeros((len(lags), n))
    for row, lag in zip(found, lags.tolist(), strict=True):
        if lag >= 0:
            row[: n - lag] = values[lag:]
        else:
            row[-lag:] = values[:lag]
    return found.T


def autocorrelated(random: np.random.Generator, shape: tuple[int, int], phi: float) -> Any:
    """Series x_t = phi x_(t-1) + e_t."""
    e = random.normal(size=(shape[0], shape[1] + 300))
    x = np.zeros_like(e)
    for t in range(1, e.shape[1]):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x[:, 300:]


def null_panel(kind: str, random: np.random.Generator, series: int, moments: int) -> Any:
    """Series that have nothing to do with each other beyond the clock."""
    shape, t = (series, moments), np.arange(moments)
    day = moments // 7
    if kind.startswith("ar"):
        return autocorrelated(random, shape, float(kind[3:]))
    if kind == "daily":
        size = random.uniform(0.5, 1.5, (series, 1))
        return 0.6 * autocorrelated(random, shape, 0.8) + 2 * size * np.sin(2 * np.pi * t / day)
    if kind == "office hours":
        open_ = ((t % day) / day > 0.35) & ((t % day) / day < 0.75)
        noise = autocorrelated(random, shape, 0.7)
        return noise * (0.2 + 2 * open_) + open_ * random.uniform(0, 2, (series, 1))
    if kind == "heavy":
        return np.exp(1.5 * autocorrelated(random, shape, 0.5))
    if kind == "spikes":
        return (random.random(shape) < 3 / moments).astype(float)
    if kind == "walk":
        return np.cumsum(random.normal(size=shape), axis=1)
    if kind == "trend":
        drift = random.normal(size=(series, 1)) * np.linspace(-5, 5, moments)
        return autocorrelated(random, shape, 0.5) + drift
    return random.normal(size=shape)


def false_discoveries(panels: int, series: int = 200, moments: int = 1500) -> list[dict[str, Any]]:
    """Panels with any discovery, of each kind."""
    rows = []
    for kind in KINDS:
        any_found = naive = 0
        for seed in range(panels):
            values = null_panel(kind, np.random.default_rng(seed), series, moments)
            values = values[np.ptp(values, axis=1) > 0]
            found = correlate(Panel.of({f"s{k}": v for k, v in enumerate(values)}), "s0", lags=20)
            any_found += bool(found.found)
            r = np.corrcoef(values)[0, 1:]
            z = np.arctanh(np.clip(r, -0.999999, 0.999999)) * math.sqrt(moments - 3)
            naive += bool((adjusted(tails(z)) <= 0.05).any())
        rows.append({"kind": kind, "panels": panels, "with any": any_found, "naive, no lags": naive})
    return rows


def timed(series: int, moments: int, lags: int, repeats: int, missing: float) -> dict[str, Any]:
    """Both, alternately; medians."""
    random = np.random.default_rng(1)
    values = autocorrelated(random, (series + 1, moments), 0.9)
    values[1:40] += 0.5 * values[0]
    if missing:
        values[random.random(values.shape) < missing] = np.nan
    panel = Panel.of({f"s{k}": v for k, v in enumerate(values)})
    at = np.arange(-lags, lags + 1)
    x, present = centred(values[1:])
    y, there = centred(values[:1])
    ys, ms = shifted(y[0], at), shifted(there[0].astype(float), at)
    masks = present.astype(float)

    def bare() -> None:
        for _ in ("values", "ranks"):
            x @ ys
            if missing:
                x @ ms
                (x * x) @ ms
                masks @ np.concatenate([ms, ys, ys * ys], axis=1)

    bare_s, ours_s, bare_cpu, ours_cpu = [], [], [], []
    found = None
    for _ in range(repeats):
        began, busy = time.perf_counter(), time.process_time()
        bare()
        bare_s.append(time.perf_counter() - began)
        bare_cpu.append(time.process_time() - busy)
        began, busy = time.perf_counter(), time.process_time()
        found = correlate(panel, "s0", lags=lags)
        ours_s.append(time.perf_counter() - began)
        ours_cpu.append(time.process_time() - busy)
    assert found is not None
    names = {str(m) for h in found.found for m in h.members}
    planted = {f"s{k}" for k in range(1, 40)}
    return {
        "series": series,
        "moments": moments,
        "lags": 2 * lags + 1,
        "missing": missing,
        "bare_s": statistics.median(bare_s),
        "correlate_s": statistics.median(ours_s),
        "ratio": statistics.median(ours_s) / statistics.median(bare_s),
        "cpu_ratio": statistics.median(ours_cpu) / statistics.median(bare_cpu),
        "planted_found": len(names & planted),
        "planted": len(planted),
        "false": len(names - planted),
    }


def critical(walks: int = 20_000, steps: int = 240) -> dict[str, float]:
    """Quantiles of the level-shift statistic in series without a shift."""
    random = np.random.default_rng(7)
    found, _ = self_normalised(random.normal(size=(walks, steps)))
    return {f"{p:g}": float(np.quantile(found, 1 - p)) for p in (0.05, 0.01, 0.001)}


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--moments", type=int, default=10_000)
    parser.add_argument("--lags", type=int, default=60, help="each way")
    parser.add_argument("--false", dest="false", action="store_true", help="count false discoveries")
    parser.add_argument("--panels", type=int, default=40)
    parser.add_argument("--critical", action="store_true", help="make the limits of the level-shift test")
    options = parser.parse_args()
    rows: list[dict[str, Any]]
    if options.critical:
        rows = [critical()]
    elif options.false:
        rows = false_discoveries(options.panels)
    else:
        rows = [
            timed(options.series, options.moments, options.lags, options.repeats, missing)
            for missing in (0.0, 0.05)
        ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("  ".join(f"{key:>14}" for key in rows[0]))
    for row in rows:
        print("  ".join(f"{v:>14.4g}" if isinstance(v, float) else f"{v:>14}" for v in row.values()))


if __name__ == "__main__":
    main()
