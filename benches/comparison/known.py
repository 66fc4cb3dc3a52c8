"""Pairs of simulated machines before and after a planted change, whose truth is known from long runs.

A machine is run for a day, changed, and run again under users who come and go in another way: more of them,
or fewer, and more or less evenly. The truth is not that of the pair: both machines also run for weeks under
all kinds of users, with other random numbers, and from these weeks come both means at each load, weighted as
the pair's own. So an interval that holds it has seen through the loads, and through what a day happens to
bring.
"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from satline import share
from satline.comparison import Blocks, Readings, common, hold, level, make_means, observed, read, slopes
from satline.recording import Recording
from satline.systems.binaries import find_binary

AXIS, MEASURE = "active_users", "response"
MOST_LOAD = 400
# Terminals in the mean, and the standard deviation of each hour's logarithm.
MIXES = {"as before": (14.0, 0.25), "more": (18.0, 0.35), "fewer": (11.0, 0.3)}
TRUTH_DAYS, TRUTH_RUNS = 7, 1


@dataclass(frozen=True)
class Change:
    """What is planted: settings of the machine before and after, and what stays."""

    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


_SHORT_OF_STORAGE = ("storage.pageable_frames=30",)
CHANGES = (
    Change("nothing"),
    Change("processor 1.1 times as fast", after=("processors.speed=1.1",)),
    Change("processor 1.4 times as fast", after=("processors.speed=1.4",)),
    Change("processor 0.9 times as fast", after=("processors.speed=0.9",)),
    Change("30 → 300 frames", before=_SHORT_OF_STORAGE, after=("storage.pageable_frames=300",)),
)


@dataclass(frozen=True)
class Length:
    """So many recordings of so many hours on each side."""

    name: str
    recordings: int
    hours: int


LENGTHS = (Length("1 + 1 of 24 h", 1, 24), Length("6 + 6 of 4 h", 6, 4))


class Truth:
    """Sums of the measure, of its weight and of load times weight by load, of a machine under every mix."""

    def __init__(self, sums: np.ndarray) -> None:
        self.sums = sums

    @classmethod
    def of(cls, directory: Path, sets: tuple[str, ...], seed: int, scale: float) -> Truth:
        sums = np.zeros((MOST_LOAD, 3))
        hours = max(24, round(24 * TRUTH_DAYS * scale))
        for number, (mix, _) in enumerate((m, r) for m in MIXES for r in range(TRUTH_RUNS)):
            path = run(directory, sets, mix, hours, seed + number)
            r = read(Recording.open(path), AXIS, MEASURE, None)
            values, weights = r.sums(MEASURE)
            good = np.isfinite(r.load) & (weights > 0)
            at = np.rint(r.load[good]).astype(np.int64)
            for k, v in enumerate((values, weights, weights * np.nan_to_num(r.load))):
                sums[:, k] += np.bincount(at, v[good], MOST_LOAD)[:MOST_LOAD]
            shutil.rmtree(path)
        return cls(sums)

    def cells(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The same by cells of load: shape (1, cells, 3)."""
        ends = np.concatenate([np.zeros((1, 3)), np.cumsum(self.sums, axis=0)])
        first, last = np.rint(low).astype(int), np.rint(high).astype(int) + 1
        return np.asarray((ends[last] - ends[first])[None])


def of_known(pairs: int, scale: float = 1.0) -> list[dict[str, object]]:
    """Coverage for each change and each length: `pairs` of each."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        directory = Path(name)
        machines = list(dict.fromkeys(sets for c in CHANGES for sets in (c.before, c.after)))
        work = [
            pool.submit(Truth.of, directory, sets, 500_000 + 1000 * k, scale)
            for k, sets in enumerate(machines)
        ]
        truths = {sets: w.result() for sets, w in zip(machines, work, strict=True)}
        rows = []
        for number, (change, length) in enumerate((c, n) for c in CHANGES for n in LENGTHS):
            both = truths[change.before], truths[change.after]
            work = [
                pool.submit(_pair, directory, change, length, both, 1000 * (number + 1) + k)
                for k in range(pairs)
            ]
            rows.append(_told(change, length, [w.result() for w in work]))
            print(table(rows[-1:]), file=sys.stderr, flush=True)
    return rows


def _pair(
    directory: Path, change: Change, length: Length, truths: tuple[Truth, Truth], seed: int
) -> tuple[float, float, float, float, float]:
    """What was found with its interval, the truth, and the difference of raw means."""
    after_mix = ("more", "fewer")[seed % 2]
    sides: list[list[Readings]] = []
    paths = []
    for k, (sets, mix) in enumerate(((change.before, "as before"), (change.after, after_mix))):
        side = []
        for part in range(length.recordings):
            path = run(directory, sets, mix, length.hours, 100 * seed + 50 * k + part)
            side.append(read(Recording.open(path), AXIS, MEASURE, None))
            paths.append(path)
        sides.append(side)
    seen = observed(sides[0], AXIS, MEASURE, "", "UTC"), observed(sides[1], AXIS, MEASURE, "", "UTC")
    held = hold(seen, AXIS, 50, Blocks.of(seen))
    first, second = held.seen
    means = make_means(
        held.sides,
        held.cells,
        (first.values, second.values),
        (first.weights, second.weights),
        (first.load, second.load),
    )
    weight = common(means)
    load, slope = slopes(means, weight)
    true = [float(level(t.cells(held.cells.low, held.cells.high), weight, load, slope)[0]) for t in truths]
    raw = [float(o.values.sum() / o.weights.sum()) for o in held.seen]
    for path in paths:
        shutil.rmtree(path)
    found = held.matched.relative if held.matched is not None else None
    answer = (found.value, found.low, found.high) if found is not None else (math.nan, None, None)
    low, high = (math.nan if v is None else v for v in answer[1:])
    return answer[0], low, high, true[1] / true[0] - 1, raw[1] / raw[0] - 1


def _told(change: Change, length: Length, found: Sequence[tuple[float, ...]]) -> dict[str, object]:
    rows = np.array(found)
    told = rows[np.isfinite(rows[:, 1])]
    value, low, high, true, raw = told.T
    return {
        "change": change.name,
        "length": length.name,
        "pairs": len(rows),
        "told": len(told),
        "truth": float(true.mean()),
        "mean": float(value.mean()),
        "held": int(((low <= true) & (true <= high)).sum()),
        "claimed": int(((low > 0) | (high < 0)).sum()),
        "wrong_sign": int((((low > 0) & (true < 0)) | ((high < 0) & (true > 0))).sum()),
        "half_width": float(((high - low) / 2).mean()),
        "raw_low": float(raw.min()),
        "raw_high": float(raw.max()),
    }


def run(directory: Path, sets: Sequence[str], mix: str, hours: int, seed: int) -> Path:
    """Record a machine for so many hours, with as many users in each as the mix brings."""
    chosen = random.Random(seed)
    terminals, sd = MIXES[mix]
    each = [
        [h, max(1, min(60, round(terminals * chosen.lognormvariate(-(sd**2) / 2, sd))))] for h in range(hours)
    ]
    text = (share.path("workloads") / "simulated" / "central-server.toml").read_text()
    workload = directory / f"users-{seed}.toml"
    workload.write_text(text.replace("users = 30", f"users_from_hour = {each}"))
    recording = directory / f"run-{seed}.satline"
    more = ["workload.class.user.transaction.task.cpu_between_ios_ms=100", *sets]
    subprocess.run(
        [
            *(str(find_binary("satline-machine")), "run"),
            *(str(share.path("machines") / "central-server.toml"), str(workload), "--schedule"),
            *("--seconds", str(hours * 3600), "--warmup-seconds", "600", "--seed", str(seed + 1)),
            *("--sample-seconds", "60", "--record", str(recording)),
            *(word for one in more for word in ("--set", one)),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    workload.unlink()
    shutil.rmtree(recording / "segments" / "transition", ignore_errors=True)
    return recording


def table(rows: Sequence[dict[str, object]]) -> str:
    """As text."""
    lines = [
        f"{'change':<30}{'recordings':<16}{'pairs':>6}{'truth':>8}{'mean':>8}{'held':>6}{'claimed':>9}{'wrong':>7}"
        f"{'±':>7}  raw means"
    ]
    lines += [
        f"{r['change']:<30}{r['length']:<16}{r['told']:>6}{r['truth']:>8.1%}{r['mean']:>8.1%}{r['held']:>6}"
        f"{r['claimed']:>9}{r['wrong_sign']:>7}{r['half_width']:>7.1%}"
        f"  {r['raw_low']:+.0%} to {r['raw_high']:+.0%}"
        for r in rows
    ]
    whole = sum(int(str(r["told"])) for r in rows)
    held = sum(int(str(r["held"])) for r in rows)
    return "\n".join([*lines, f"held in {held} of {whole} ({held / max(1, whole):.1%})"])
