"""How well `satline analyse predict` foretells a simulated machine, of which the truth is known.

    python benches/prediction/simulated.py [CASE …] [--replications N] [--truth-seconds S] [--json]

Each case records short steps of several loads, predicts all loads from the lower half of them, and compares
with long runs under other random numbers; several replications tell the mean error and how often the 95 %
intervals hold the truth. What-if answers are compared with runs of the changed machine under the same
random numbers as the unchanged. On central-server the truth is exact mean value analysis, and the long run
is checked against it.

The program satline-machine is found as everywhere: in $SATLINE_BIN_DIR, beside the interpreter, or on the
PATH.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from satline.diagnosis import fit_hinge as hinge  # noqa: E402
from satline.prediction import (  # noqa: E402
    CustomerClass,
    Network,
    Prediction,
    Scenario,
    Station,
    changes,
    exact_single,
    predict,
)
from satline.recording import Recording  # noqa: E402
from satline.reduction import reduce  # noqa: E402
from satline.systems.binaries import find_binary  # noqa: E402

TRUTH_SEED = 1001
AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Case:
    """A machine and a workload, the loads, and lengths of a step as recorded, s.

    changed
        What-if → what is set in the machine file to make it true. A factor written as {f} is how much faster
        `faster` serves a transaction, alone, after the change.
    """

    machine: str
    workload: str
    loads: tuple[int, ...]
    step_s: int
    changed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    faster: str = ""


CASES = {
    "central-server": Case(
        "central-server",
        "central-server",
        (5, 10, 15, 20, 25, 30, 35, 40),
        600,
        (("cpu=2x", ("processors.speed=2",)), ("processors=2", ("processors.count=2",))),
    ),
    "cms": Case(
        "155-II-1.5mb",
        "cms",
        (8, 12, 16, 20, 24, 28, 32, 40),
        1200,
        (
            ("cpu=2x", ("processors.speed=1.6",)),
            ("processors=2", ("processors.count=2",)),
            ("storage=1.5x", ("storage.bytes=2359296", "storage.pageable_frames=450")),
        ),
    ),
    "tso310": Case(
        "3081D",
        "tso310",
        (50, 100, 150, 200, 240, 280, 310, 340),
        300,
        (
            ("cpu=2x", ("processors.speed=10.3",)),
            ("storage=1.5x", ("storage.bytes=25165824", "storage.pageable_frames=5250")),
        ),
    ),
    "io-heavy": Case(
        "155-II-1.5mb",
        "io-heavy",
        (2, 4, 6, 8, 10, 12, 16, 20),
        1200,
        (
            ("device:page-pack-1={f}x,device:page-pack-2={f}x", ("device.page-pack.type=3350",)),
            ("cpu=2x", ("processors.speed=1.6",)),
        ),
        "page-pack-1",
    ),
    "compute-background": Case("155-II-1.5mb", "compute-background", (4, 8, 12, 16, 20, 28, 36, 44), 1200),
}


def run(
    case: Case,
    loads: Sequence[int],
    step_s: float,
    seed: int,
    changed: Sequence[str] = (),
    record: Path | None = None,
) -> dict[str, Any]:
    """The machine's own account of a run with these loads."""
    warmup = max(120.0, step_s / 6)
    command = [
        str(find_binary("satline-machine")),
        "run",
        str(ROOT / "machines" / f"{case.machine}.toml"),
        str(ROOT / "workloads/simulated" / f"{case.workload}.toml"),
        *("--users", ",".join(map(str, loads)), "--seed", str(seed), "--json"),
        *("--step-seconds", f"{step_s + warmup:.0f}", "--warmup-seconds", f"{warmup:.0f}"),
        *(part for one in changed for part in ("--set", one)),
        *(("--record", str(record)) if record else ("--sample-seconds", "60")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return dict(json.loads(done.stdout))


def measured(account: dict[str, Any]) -> dict[int, tuple[float, float]]:
    """Throughput and response time by load."""
    return {
        s["users"]: (s["measures"]["throughput_per_s"], s["measures"]["response_s"]) for s in account["steps"]
    }


def per_request(case: Case, changed: Sequence[str]) -> float:
    """Busy time of `faster` for each transaction of a single user, s."""
    (step,) = run(case, [1], 20_000, TRUTH_SEED, changed)["steps"]
    made = step["measures"]
    return float(made[f"device_busy:{case.faster}"] / made["throughput_per_s"])


def factors(case: Case) -> list[tuple[str, tuple[str, ...]]]:
    """The what-ifs, with how much faster a device is."""
    found = []
    for text, sets in case.changed:
        if "{f}" in text:
            text = text.replace("{f}", f"{per_request(case, ()) / per_request(case, sets):.3f}")
        found.append((text, sets))
    return found


def exact(account: dict[str, Any]) -> dict[int, tuple[float, float]]:
    """Central server: a processor of 0.4 s, and the packs as a delay of what the run says they took."""
    found = {}
    for step in account["steps"]:
        made = step["measures"]
        delay = made["share_io_wait"] * made["in_transaction"] / made["throughput_per_s"]
        network = Network((CustomerClass("u", step["users"], 10 + delay),), (Station("cpu", (0.4,)),))
        rate = float(exact_single(network).throughput[0])
        found[step["users"]] = (rate, step["users"] / rate - 10)
    return found


def bend(truth: dict[int, tuple[float, float]]) -> float:
    """Where a broken line through the true throughput bends."""
    loads = np.array(sorted(truth), dtype=float)
    rate = np.array([[truth[int(n)][0] for n in loads]])
    return float(hinge(loads, rate, 1 / np.maximum(rate[0], 0.2 * rate.max()), origin=True).at[0])


def predictions(case: Case, what_if: Sequence[str], count: int) -> list[Prediction]:
    """Predictions from the lower half, each of a recording of its own."""
    found = []
    for seed in range(1, count + 1):
        place = Path(tempfile.mkdtemp(suffix=".satline"))
        try:
            run(case, case.loads, case.step_s, seed, record=place / "r.satline")
            recording = Recording.open(place / "r.satline")
            answer = predict(
                recording,
                reduce(recording),
                half=True,
                users=case.loads,
                what_if=[changes(text) for text in what_if],
            )
            found.append(answer)
        finally:
            shutil.rmtree(place)
    return found


def errors(scenarios: Sequence[Scenario], truth: dict[int, tuple[float, float]]) -> list[dict[str, float]]:
    """By load: truth, mean relative error with its standard deviation over recordings, and coverage."""
    rows = []
    for users, (rate, response) in sorted(truth.items()):
        row: dict[str, float] = {"users": users, "X": rate, "R": response}
        for name, true in (("throughput", rate), ("response_s", response)):
            made = [getattr(r, name) for s in scenarios for r in s.rows if r.users == users]
            off = np.array([e.value / true - 1 for e in made])
            row[f"{name}_error"] = float(off.mean())
            row[f"{name}_sd"] = float(off.std(ddof=1)) if len(off) > 1 else float("nan")
            row[f"{name}_held"] = float(np.mean([e.low <= true <= e.high for e in made]))
            row[f"{name}_width"] = float(np.mean([(e.high - e.low) / 2 / true for e in made]))
        rows.append(row)
    return rows


def ratios(
    answers: Sequence[Prediction],
    number: int,
    before: dict[int, tuple[float, float]],
    after: dict[int, tuple[float, float]],
) -> list[dict[str, float]]:
    """By load: what the change makes of throughput and response, predicted (mean) and true."""
    rows = []
    for users in sorted(before):
        row: dict[str, float] = {"users": users}
        for k, name in enumerate(("throughput", "response_s")):
            made = [
                getattr(new, name).value / getattr(old, name).value
                for a in answers
                if a.base is not None
                for old, new in zip(a.base.rows, a.scenarios[number].rows, strict=True)
                if old.users == users
            ]
            row[f"{name}_predicted"] = float(np.mean(made))
            row[f"{name}_true"] = after[users][k] / before[users][k]
            held = [r for a in answers for r in a.scenarios[number].rows if r.users == users]
            row[f"{name}_held"] = float(
                np.mean([getattr(r, name).low <= after[users][k] <= getattr(r, name).high for r in held])
            )
        rows.append(row)
    return rows


def study(case: Case, count: int, truth_s: float) -> dict[str, Any]:
    """Everything about a case."""
    what_if = factors(case)
    account = run(case, case.loads, truth_s, TRUTH_SEED)
    simulated = measured(account)
    truth = exact(account) if case.machine == "central-server" else simulated
    answers = predictions(case, [text for text, _ in what_if], count)
    told = [a for a in answers if a.base is not None]
    bases = [a.base for a in told if a.base is not None]
    changed = [
        {
            "what_if": text,
            "rows": ratios(told, k, simulated, measured(run(case, case.loads, truth_s, TRUTH_SEED, sets))),
        }
        for k, (text, sets) in enumerate(what_if)
    ]
    at = bend(truth)
    return {
        "recordings": count,
        "told": len(told),
        "reasons": sorted({r for a in answers for r in a.reasons}),
        "from": [told[0].from_low, told[0].from_high],
        "first": {f: sum(b.first == f for b in bases) for f in sorted({b.first for b in bases})},
        "bend_true": at,
        "bend_predicted": float(np.mean([b.bend_users.value for b in bases])),
        "bend_held": float(np.mean([b.bend_users.low <= at <= b.bend_users.high for b in bases])),
        "saturation_users": float(np.mean([b.saturation_users.value for b in bases])),
        "simulated_by_exact": max(abs(simulated[n][0] / truth[n][0] - 1) for n in truth),
        "rows": errors(bases, truth),
        "what_if": changed,
        "warnings": list(told[0].warnings),
    }


def show(name: str, made: dict[str, Any]) -> None:
    """Print a case."""
    print(
        f"\n{name}: {made['recordings']} recordings, {made['told']} predicted, from"
        f" {made['from'][0]:g} to {made['from'][1]:g} users; first {made['first']}"
    )
    for reason in made["reasons"]:
        print(f"  cannot tell: {reason}")
    print(
        f"  bend: true {made['bend_true']:.1f}, predicted {made['bend_predicted']:.1f}, held"
        f" {made['bend_held']:.0%}; N* {made['saturation_users']:.1f};"
        f" long run against truth {made['simulated_by_exact']:.2%}"
    )
    print("  users       X   error ± sd     ±   held        R   error ± sd     ±   held")
    for r in made["rows"]:
        print(
            f"  {r['users']:5.0f} {r['X']:7.3f} {r['throughput_error']:+7.1%} {r['throughput_sd']:5.1%}"
            f" {r['throughput_width']:5.1%} {r['throughput_held']:6.0%}  {r['R']:7.3f}"
            f" {r['response_s_error']:+7.1%} {r['response_s_sd']:5.1%} {r['response_s_width']:5.1%}"
            f" {r['response_s_held']:6.0%}"
        )
    for change in made["what_if"]:
        print(f"  {change['what_if']}: after / before, predicted and true, and how often the interval held")
        for r in change["rows"]:
            rate, response = (
                f"{r[f'{n}_predicted']:5.2f} {r[f'{n}_true']:5.2f} {r[f'{n}_held']:5.0%}"
                for n in ("throughput", "response_s")
            )
            print(f"  {r['users']:5.0f}  X {rate}   R {response}")
    for warning in made["warnings"]:
        print(f"  ! {warning}")


def print_all(
    about: str | None,
    cases: Mapping[str, Case],
    each: Callable[[Case, int, float], dict[str, Any]],
    shown: Callable[[str, dict[str, Any]], None],
    replications: int,
    truth_s: float,
) -> None:
    """Run the cases that the command line asks for, and print a table of each, or all as JSON."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help=f"{'; '.join(cases)}; default: all")
    parser.add_argument("--replications", type=int, default=replications, help="recordings of each case")
    parser.add_argument("--truth-seconds", type=float, default=truth_s, help="length of a step of the truth")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    found = {}
    for name in options.case or cases:
        found[name] = each(cases[name], options.replications, options.truth_seconds)
        if not options.json:
            shown(name, found[name])
    if options.json:
        print(json.dumps(found, indent=2))


def main() -> None:
    """Run the bench and print its tables."""
    print_all(__doc__, CASES, study, show, replications=10, truth_s=20_000)


if __name__ == "__main__":
    main()
