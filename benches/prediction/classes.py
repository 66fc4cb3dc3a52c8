"""How well `analyse predict --by-class` foretells simulated machines with mixed work, beside one class.

    python benches/prediction/classes.py [CASE …] [--replications N] [--truth-seconds S] [--json]

Each case records short steps of several loads, and predicts all of them from the lower half, once with all
transactions taken for alike and once by class. Both are compared with long runs under other random numbers,
whose transactions are recorded too, so that the response of each class is known.

The program satline-machine is found as everywhere: in $SATLINE_BIN_DIR, beside the interpreter, or on the
PATH.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from simulated import TRUTH_SEED, Case, bend, measured, print_all, run

from satline.prediction import Prediction, predict
from satline.recording import Recording
from satline.reduction import reduce

CASES = {
    "central-server, cms": Case("central-server", "cms", (4, 8, 12, 16, 20, 28, 36, 44), 1200),
    "central-server, interactive": Case(
        "central-server", "interactive", (6, 12, 18, 24, 32, 40, 50, 60), 1200
    ),
    "155-II, cms": Case("155-II-1.5mb", "cms", (8, 12, 16, 20, 24, 28, 32, 40), 1200),
    "155-II, interactive": Case("155-II-1.5mb", "interactive", (4, 8, 12, 16, 20, 24, 28, 36), 1200),
    "4341-2, interactive": Case("4341-2", "interactive", (10, 20, 30, 40, 50, 60, 70, 90), 900),
    "3081D, tso310": Case("3081D", "tso310", (50, 100, 150, 200, 240, 280, 310, 340), 300),
}
BY_CLASS = """
SELECT t.users, t.class, count(*), sum(t.response_us) / 1e6 FROM transaction t
WHERE t.phase = 'window' AND t.outcome = 'ok' AND t.response_us IS NOT NULL GROUP BY ALL ORDER BY ALL"""
Truth = dict[int, dict[str, tuple[float, float]]]
ALL = "all"


def truth(case: Case, seconds: float) -> Truth:
    """By load and class, and of all: throughput per second and response time."""
    place = Path(tempfile.mkdtemp(suffix=".satline"))
    try:
        account = run(case, case.loads, seconds, TRUTH_SEED, record=place / "r.satline")
        rows = Recording.open(place / "r.satline").connect().execute(BY_CLASS).fetchall()
    finally:
        shutil.rmtree(place)
    found: Truth = {}
    for users, (rate, response) in measured(account).items():
        own = [(name, count, total) for load, name, count, total in rows if load == users]
        every = sum(count for _, count, _ in own)
        found[users] = {ALL: (rate, response)}
        found[users] |= {name: (rate * count / every, total / count) for name, count, total in own}
    return found


def prediction(case: Case, seed: int) -> Prediction:
    """By class, from the lower half of a recording of its own."""
    place = Path(tempfile.mkdtemp(suffix=".satline"))
    try:
        run(case, case.loads, case.step_s, seed, record=place / "r.satline")
        recording = Recording.open(place / "r.satline")
        return predict(recording, reduce(recording), half=True, users=case.loads, classes=True)
    finally:
        shutil.rmtree(place)


def told(answer: Prediction, users: int) -> dict[str, tuple[tuple[float, float], tuple[float, float]]]:
    """Throughput and response with their intervals' ends: of all before and by class, and of each class."""
    assert answer.base is not None
    assert answer.by_class is not None
    assert answer.by_class.base is not None
    (old,) = (r for r in answer.base.rows if r.users == users)
    (new,) = (r for r in answer.by_class.base.rows if r.users == users)
    found = {"before": (old.throughput, old.response_s), ALL: (new.total.throughput, new.total.response_s)}
    for kind, level in zip(answer.by_class.classes, new.classes, strict=True):
        found[kind.name] = (level.throughput, level.response_s)
    return {name: tuple((e.value, e.low, e.high) for e in pair) for name, pair in found.items()}  # type: ignore[misc]


def study(case: Case, count: int, seconds: float) -> dict[str, Any]:
    """Errors by load: of all transactions before and by class, and of each class."""
    true = truth(case, seconds / (5 if case.machine == "3081D" else 1))
    answers = [prediction(case, seed) for seed in range(1, count + 1)]
    fit = [a for a in answers if a.by_class is not None and a.by_class.base is not None]
    rows = []
    for users in case.loads:
        made = [told(a, users) for a in fit]
        row: dict[str, Any] = {"users": users, "X": true[users][ALL][0], "R": true[users][ALL][1]}
        for name in ("before", *true[users]):
            for k, what in enumerate(("X", "R")):
                right = true[users][ALL if name == "before" else name][k]
                own = [m[name][k] for m in made if name in m]
                if not own:
                    continue
                off = np.array([v[0] / right - 1 for v in own])
                row[f"{name} {what}"] = {
                    "error": float(off.mean()),
                    "sd": float(off.std(ddof=1)) if len(off) > 1 else None,
                    "held": float(np.mean([low <= right <= high for _, low, high in own])),
                    "true": right,
                }
        rows.append(row)
    bases = [(a.base, a.by_class.base) for a in fit if a.base and a.by_class and a.by_class.base]
    return {
        "recordings": count,
        "predicted": len(fit),
        "reasons": sorted({r for a in answers if a.by_class for r in a.by_class.reasons}),
        "rows": rows,
        "bend_true": bend({n: v[ALL] for n, v in true.items()}),
        "bend_before": float(np.mean([one.bend_users.value for one, _ in bases])),
        "bend_by_class": float(np.mean([new.bend_users.value for _, new in bases])),
        "saturation_before": float(np.mean([one.saturation_users.value for one, _ in bases])),
        "saturation_by_class": float(np.mean([new.saturation_users.value for _, new in bases])),
        "first": sorted({(one.first, new.first) for one, new in bases}),
    }


def show(name: str, made: dict[str, Any]) -> None:
    """Print a case."""
    print(f"\n{name}: {made['recordings']} recordings, {made['predicted']} predicted; first {made['first']}")
    for reason in made["reasons"]:
        print(f"  cannot tell: {reason}")
    print(
        f"  bend: true {made['bend_true']:.1f}, before {made['bend_before']:.1f}, by class"
        f" {made['bend_by_class']:.1f}; N* {made['saturation_before']:.1f}, {made['saturation_by_class']:.1f}"
    )
    for row in made["rows"]:
        print(f"  {row['users']:5d} users, X {row['X']:.3f}, R {row['R']:.3f}")
        for place, cell in row.items():
            if isinstance(cell, dict):
                sd = "" if cell["sd"] is None else f" ({cell['sd']:.1%})"
                print(
                    f"      {place:16} {cell['true']:8.3f} {cell['error']:+7.1%}{sd}  held {cell['held']:.0%}"
                )


def main() -> None:
    """Run the bench and print its tables."""
    print_all(__doc__, CASES, study, show, replications=6, truth_s=10_000)


if __name__ == "__main__":
    main()
