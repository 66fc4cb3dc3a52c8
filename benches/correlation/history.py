"""How often a history raises a false alarm on a quiet host, and how often it sees a change.

    python benches/correlation/history.py [--json] [--months N] [--users N]

Makes months of a host whose work does not change: a load with a daily and a weekly course that drifts by
some percent a day, and series of the system, of devices and of users: in proportion to load, autocorrelated
over days, random walks, heavy-tailed, rare bursts; users who come on some days and stay away on others.
Each of the last 30 of 45 days is held against those before it by `satline.history.judge` at its usual
setting; days with any alarm are false ones. Then the same with a change put into the day: one device 1.5
times as slow, one whose cache statistics vanish, a user who appears on a host of regular users, a leak.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402

from satline.history import Figures, judge  # noqa: E402

DAYS, FIRST = 45, 15
Names = list[tuple[str, str, str, str]]


def month(
    seed: int, users: int = 60, devices: int = 8, regular: bool = False
) -> tuple[list[date], Names, Any]:
    """Days, names and hourly means, shape (days, 24, series)."""
    random = np.random.default_rng(seed)
    days = [date(2026, 9, 7) + timedelta(days=k) for k in range(DAYS)]
    weekend = np.array([d.weekday() >= 5 for d in days])
    shape = np.exp(-(((np.arange(24) - 13) / 4.0) ** 2))
    level = np.where(weekend, 0.25, 1.0) * (1 + np.cumsum(random.normal(0, 0.03, DAYS)))
    level = np.maximum(0.05, level)[:, None]

    def noise(phi: float, size: float) -> Any:
        e = random.normal(0, size, DAYS * 24)
        x = np.zeros(DAYS * 24)
        for t in range(1, len(x)):
            x[t] = phi * x[t - 1] + e[t]
        return x.reshape(DAYS, 24)

    load = np.maximum(0.1, 40 * level * (0.1 + shape) * (1 + noise(0.9, 0.05)))
    names: Names = [("system", "", "active_users", "users")]
    values = [load]

    def add(scope: str, entity: str, variable: str, v: Any) -> None:
        names.append((scope, entity, variable, "per second"))
        values.append(v)

    for k in range(120):
        made = (
            lambda: load * random.uniform(0.5, 2) * np.exp(noise(0.8, 0.1)),
            lambda: 10 + noise(0.97, 0.2),
            lambda: 100 + np.cumsum(random.normal(0, 0.15, DAYS * 24)).reshape(DAYS, 24) + 0.1 * load,
            lambda: np.exp(noise(0.5, 0.6)),
        )[k % 4]()
        add("system", "", f"v{k}", made)
    for e in range(devices):
        share = random.uniform(0.2, 1)
        for k in range(18):
            if k < 15:
                add(
                    "device", f"sd{e}", f"d{k}", share * load * (1 + 0.3 * (k % 3)) * np.exp(noise(0.7, 0.15))
                )
            else:
                add("device", f"sd{e}", f"rare{k}", (random.random((DAYS, 24)) < 0.01).astype(float))
    for u in range(users):
        here = random.random(DAYS) < np.where(weekend, 0.3, random.uniform(0.6, 1))
        here |= regular
        for k in range(18):
            v = np.exp(noise(0.6, 0.5)) * shape * level * random.uniform(0.1, 3)
            if k >= 14:
                burst = random.random((DAYS, 24)) < 0.03
                v = np.where(burst, np.exp(random.normal(0, 1.5, (DAYS, 24))), 0.0)
            add("user", f"u{u}", f"u{k}", np.where(here[:, None], v, np.nan))
    return days, names, np.stack(values, axis=2)


def changed(kind: str, names: Names, values: Any, day: int) -> Any:
    """The values up to `day`, with a change in it."""
    found = values[: day + 1].copy()
    if kind == "a device 1.5 times as slow":
        found[day, :, [k for k, n in enumerate(names) if n[1] == "sd2"]] *= 1.5
    elif kind == "a device vanishes":
        found[day, :, [k for k, n in enumerate(names) if n[1] == "sd3"]] = np.nan
    elif kind == "a user appears (regular users)":
        new = [k for k, n in enumerate(names) if n[1] == "u5"]
        found[:day, :, new] = np.nan
    elif kind == "a leak in one variable":
        found[day, :, 2] += np.linspace(0, 12, 24)
    return found


def run(months: int, users: int) -> list[dict[str, Any]]:
    """A row for quiet days and each change."""
    quiet = {"what": "quiet", "days": 0, "days with alarms": 0, "alarms": 0}
    kinds = ("a device 1.5 times as slow", "a device vanishes", "a leak in one variable")
    kinds = (*kinds, "a user appears (regular users)")
    seen = {k: {"what": k, "days": 0, "days with alarms": 0, "alarms": 0} for k in kinds}
    series = 0
    for seed in range(months):
        days, names, values = month(seed, users)
        series = len(names)
        for d in range(FIRST, DAYS):
            alarms = judge(Figures.of(days[: d + 1], names, values[: d + 1])).alarms
            quiet["days"] += 1
            quiet["days with alarms"] += alarms > 0
            quiet["alarms"] += alarms
        regular = month(seed, 6, regular=True)
        for kind in kinds:
            for d in (25, 32, 40):
                source = regular if "regular" in kind else (days, names, values)
                found = changed(kind, source[1], source[2], d)
                alarms = judge(Figures.of(source[0][: d + 1], source[1], found)).alarms
                seen[kind]["days"] += 1
                seen[kind]["days with alarms"] += alarms > 0
                seen[kind]["alarms"] += alarms
    rows = [quiet, *seen.values()]
    return [{**r, "a week": round(7 * r["days with alarms"] / r["days"], 2), "series": series} for r in rows]


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--months", type=int, default=4)
    parser.add_argument("--users", type=int, default=60)
    options = parser.parse_args()
    rows = run(options.months, options.users)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("  ".join(f"{key:>18}" for key in rows[0]))
    for row in rows:
        print("  ".join(f"{v!s:>18}" for v in row.values()))


if __name__ == "__main__":
    main()
