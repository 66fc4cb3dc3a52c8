"""Pairs of the simulated machine: five working days before, five after, at shifted loads.

After, the device for paging is another one, or the same: then the truth is no difference. What another device
does depends on the load, so that each pair has a truth of its own: there it is counted how often it is seen.
"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from satline import share
from satline.comparison import compare
from satline.recording import Recording
from satline.systems.binaries import find_binary

PAIRS = 8
DAYS = 5
OLD, NEW = "2305-2", "3350"
SHIFTS = (1.0, 1.2, 0.8)
SHAPE = (10, 15, 18, 19, 12, 14, 19, 20, 16, 9)
FIRST_HOUR = 8


def of_machine(pairs: int = PAIRS) -> list[dict[str, object]]:
    """Coverage of the intervals, with another drum and with the same."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        machines = directory / "machines"
        shutil.copytree(share.path("machines"), machines)
        text = (machines / "155-II-1mb.toml").read_text()
        (machines / "other.toml").write_text(text.replace(f'type = "{OLD}"', f'type = "{NEW}"'))

        def one(number: int) -> list[tuple[float, float, float, float]]:
            found = []
            before = _run(directory, machines / "155-II-1mb.toml", 3 * number, 1.0)
            for kind, machine in enumerate(("155-II-1mb.toml", "other.toml")):
                shift = SHIFTS[number % len(SHIFTS)]
                after = _run(directory, machines / machine, 3 * number + 1 + kind, shift)
                answer = compare([Recording.open(before)], [Recording.open(after)])
                size = answer.matched.relative if answer.matched else None
                raw = answer.after.raw / answer.before.raw - 1
                shutil.rmtree(after)
                if size is None or size.low is None or size.high is None:
                    found.append((math.nan, math.nan, math.nan, raw))
                else:
                    found.append((size.value, size.low, size.high, raw))
            shutil.rmtree(before)
            return found

        with ThreadPoolExecutor(2) as pool:
            results = np.array(list(pool.map(one, range(pairs))))
    return [_told(f"{OLD} → {OLD}", results[:, 0], True), _told(f"{OLD} → {NEW}", results[:, 1], False)]


def _told(what: str, rows: np.ndarray, same: bool) -> dict[str, object]:
    """How often a difference was claimed; where the device is the same, how often no difference was held."""
    rows = rows[np.isfinite(rows[:, 0])]
    return {
        "case": what,
        "pairs": len(rows),
        "mean": float(np.expm1(np.log1p(rows[:, 0]).mean())),
        "held": float(((rows[:, 1] <= 0) & (rows[:, 2] >= 0)).mean()) if same else None,
        "claimed": float(((rows[:, 1] > 0) | (rows[:, 2] < 0)).mean()),
        "half_width": float(((rows[:, 2] - rows[:, 1]) / 2).mean()),
        "raw_means": [round(float(v), 3) for v in rows[:, 3]],
    }


def _run(directory: Path, machine: Path, number: int, shift: float) -> Path:
    """Record some working days with loads of their own."""
    chosen = random.Random(1000 + number)
    hours = []
    for day in range(DAYS):
        height = shift * chosen.lognormvariate(0, 0.12)
        hours.append([24 * day, 1])
        for place, users in enumerate(SHAPE):
            wanted = users * height * chosen.lognormvariate(0, 0.15)
            hours.append([24 * day + FIRST_HOUR + place, max(1, min(28, round(wanted)))])
        hours.append([24 * day + FIRST_HOUR + len(SHAPE), 1])
    text = (share.path("workloads") / "simulated" / "cms.toml").read_text()
    workload = directory / f"week-{number}.toml"
    workload.write_text(text.replace("users = 20", f"users_from_hour = {hours}"))
    recording = directory / f"week-{number}.satline"
    subprocess.run(
        [
            *(str(find_binary("satline-machine")), "run", str(machine), str(workload), "--schedule"),
            *("--seconds", str(DAYS * 86400 - 5 * 3600), "--seed", str(number + 1), "--sample-seconds", "30"),
            *("--start", f"1975-{1 + number % 12:02d}-06T00:00:00Z", "--record", str(recording)),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    shutil.rmtree(recording / "segments" / "transition", ignore_errors=True)
    return recording
