"""What takes noise out of a window's throughput, and how much: a variance ratio for each measure.

    python benches/search/noise.py [--windows N] [--seed S]          simulated closed systems
    python benches/search/noise.py --live DIRECTORY [--rounds N]     the emulator on one processor, then --of
    python benches/search/noise.py --of DIRECTORY                    what was recorded so
    python benches/search/noise.py --errors [--windows N] [--seed S] are the windows' errors as blocks tell?

Every measure is compared with what was done before: independent draws, each line counted when it ends, by
the work that one of its class takes at light load. A ratio is of the squares of the coefficient of variation
over windows of 10 s, with its 95 % interval (bootstrap of windows); below 1 it helps, and a window is worth
1/ratio as many. `bias` is how far the mean is from that of the plain count of work, in standard errors of the
difference (simulated systems only).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _closed import Cycles, Independent, Kind, Plan, Stratified, cycles_of, exponential, simulate

from satline.simulation import mser
from satline.windows.variates import corrected

WINDOW_S, RUN_WINDOWS, RAMP_S, WARM_UP_S = 10.0, 20, 2.0, 20.0
THINK, MEAN_S = exponential(1.2, 0.1, 12.0)
MIXED = (
    Kind(
        "editor",
        2,
        (
            ("edit", 0.4, 0.01),
            ("look", 0.2, 0.012),
            ("search", 0.15, 0.012),
            ("files", 0.1, 0.02),
            ("count", 0.15, 0.06),
        ),
        0.1,
    ),
    Kind(
        "programmer",
        2,
        (("edit", 0.35, 0.01), ("compile", 0.2, 0.25), ("run", 0.25, 0.18), ("look", 0.2, 0.015)),
        0.25,
    ),
    Kind("analyst", 1, (("count", 0.4, 0.05), ("compress", 0.3, 0.12), ("look", 0.3, 0.01)), 0.1),
)
ONE = (Kind("one", 1, (("one", 1.0, 0.1),), 1.0),)
# Name, plan, loads: light, at the knee, twice as much.
SYSTEMS: tuple[tuple[str, Plan, tuple[int, int, int]], ...] = (
    ("mixed, one processor", Plan(MIXED, THINK, MEAN_S), (5, 17, 35)),
    ("mixed, four processors", Plan(MIXED, THINK, MEAN_S, servers=4), (15, 68, 136)),
    ("one class, one processor", Plan(ONE, THINK, MEAN_S), (4, 13, 26)),
    ("mixed, in turn (FIFO)", Plan(MIXED, THINK, MEAN_S, discipline="fifo"), (5, 17, 35)),
)
NAMES = (
    "stratified draws",
    "lines in proportion",
    "+ think times",
    "+ commands",
    "+ both",
    "+ both, stratified",
    "+ both, warm-up as detected",
)


def plain(cycles: Cycles, begin_s: float) -> float:
    """Work of what ended, per second."""
    ended = (cycles.end_s >= begin_s) & (cycles.end_s < begin_s + WINDOW_S)
    return float(cycles.work[ended].sum()) / WINDOW_S


def without(cycles: Cycles, think: bool, commands: bool) -> Cycles:
    nothing = np.full(len(cycles.kind), np.nan)
    if not think:
        cycles = replace(cycles, expected_think_s=nothing)
    return cycles if commands else replace(cycles, expected_work=nothing, expected_light_s=nothing)


def detected(cycles: Cycles, users: int) -> float:
    """From the ramp's end, with a warm-up of 3 s before the window: as `windows.window_of` does."""
    end_s, blocks = RAMP_S + 3.0 + WINDOW_S, 26
    series = corrected(cycles, RAMP_S, end_s, blocks, users).throughput
    found = mser(series)
    begin_s = RAMP_S + min(2 * found.batches, blocks // 2) * 0.5 if found.valid else RAMP_S + 3.0
    return float(corrected(cycles, begin_s, end_s, 10, users).throughput.mean())


def one_run(plan: Plan, users: int, seed: int) -> dict[str, list[float]]:
    """Windows of one system and load by each measure, one after the other in a run of both draws."""
    out: dict[str, list[float]] = {"before": [], **{name: [] for name in NAMES}}
    seconds = WARM_UP_S + RUN_WINDOWS * WINDOW_S
    for draws in (Independent, Stratified):
        rows = simulate(plan, users, seconds + 60.0, seed, draws)
        cycles = cycles_of(plan, rows)
        for window in range(RUN_WINDOWS):
            begin_s = WARM_UP_S + window * WINDOW_S
            value = partial(value_of, cycles, begin_s, users)
            if draws is Stratified:
                out["stratified draws"].append(plain(cycles, begin_s))
                out["+ both, stratified"].append(value(True, True))
                continue
            out["before"].append(plain(cycles, begin_s))
            found = corrected(cycles, begin_s, begin_s + WINDOW_S, 10, users)
            out["lines in proportion"].append(float(found.uncorrected.mean()))
            out["+ think times"].append(value(True, False))
            out["+ commands"].append(value(False, True))
            out["+ both"].append(float(found.throughput.mean()))
    # A start of its own for each: all log on within the ramp.
    for window in range(RUN_WINDOWS):
        rows = simulate(plan, users, RAMP_S + 3.0 + WINDOW_S + 60.0, seed * 1000 + window, Independent)
        out["+ both, warm-up as detected"].append(detected(cycles_of(plan, rows), users))
    return out


def value_of(cycles: Cycles, begin_s: float, users: int, think: bool, commands: bool) -> float:
    chosen = without(cycles, think, commands)
    return float(corrected(chosen, begin_s, begin_s + WINDOW_S, 10, users).throughput.mean())


def ratio(values: np.ndarray, before: np.ndarray, seed: int = 1) -> tuple[float, float, float]:
    """Of squared coefficients of variation, with a 95 % interval."""

    def of(v: np.ndarray, b: np.ndarray) -> np.ndarray:
        noise = v.var(axis=-1, ddof=1) / v.mean(axis=-1) ** 2
        return np.asarray(noise / (b.var(axis=-1, ddof=1) / b.mean(axis=-1) ** 2))

    random = np.random.default_rng(seed)
    draws = of(
        values[random.integers(0, len(values), (2000, len(values)))],
        before[random.integers(0, len(before), (2000, len(before)))],
    )
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(of(values, before)), float(low), float(high)


def shown(found: tuple[float, float, float]) -> str:
    return f"{found[0]:.3f} [{found[1]:.3f}, {found[2]:.3f}]"


def table(name: str, loads: list[tuple[int, dict[str, np.ndarray]]], with_bias: bool) -> None:
    print(f"\n| {name} | " + " | ".join(f"{users} users" for users, _ in loads) + " |")
    print("|---|" + "---|" * len(loads))
    noise = [v["before"].std(ddof=1) / v["before"].mean() for _, v in loads]
    print("| before: standard deviation | " + " | ".join(f"{n:.1%}" for n in noise) + " |")
    for measure in NAMES:
        cells = []
        for _, values in loads:
            if measure not in values or not len(values[measure]):
                break
            cell = shown(ratio(values[measure], values["before"]))
            if with_bias:
                here, before = values[measure], values["before"]
                error = np.sqrt(here.var(ddof=1) / len(here) + before.var(ddof=1) / len(before))
                cell += f", bias {(here.mean() - before.mean()) / error:+.1f}"
            cells.append(cell)
        if cells:
            print(f"| {measure} | " + " | ".join(cells) + " |")


def simulated(windows: int, seed: int) -> None:
    runs = max(1, windows // RUN_WINDOWS)
    with ProcessPoolExecutor(2) as pool:
        for name, _, loads in SYSTEMS:
            gathered = []
            for users in loads:
                work = [pool.submit(one_run_of, name, users, seed + run) for run in range(runs)]
                parts = [future.result() for future in work]
                gathered.append((users, {m: np.concatenate([p[m] for p in parts]) for m in parts[0]}))
            table(name, gathered, True)
    common(seed, runs)


def one_run_of(name: str, users: int, seed: int) -> dict[str, list[float]]:
    """By name: a plan holds functions, which do not go to another process."""
    return one_run(next(plan for other, plan, _ in SYSTEMS if other == name), users, seed)


def common(seed: int, runs: int) -> None:
    """The knee from a light and a saturated window, with the same draws in both and with others in each."""
    name, plan, (light, _, heavy) = SYSTEMS[0]
    print(f"\nCommon random numbers, {name}: ln of knee = saturated throughput ÷ (light ÷ its users)")
    for draws in (Independent, Stratified):
        for measure in ("work that ended", "corrected"):
            both: dict[bool, list[float]] = {True: [], False: []}
            for number in range(8 * runs):
                at = [(light, seed + number), (heavy, seed + number), (heavy, seed + number + 10_000)]
                x = []
                for users, with_seed in at:
                    cycles = cycles_of(plan, simulate(plan, users, 90.0, with_seed, draws))
                    get: Callable[[], float] = (
                        partial(plain, cycles, WARM_UP_S)
                        if measure == "work that ended"
                        else partial(value_of, cycles, WARM_UP_S, users, True, True)
                    )
                    x.append(get())
                both[True].append(float(np.log(x[1] / (x[0] / light))))
                both[False].append(float(np.log(x[2] / (x[0] / light))))
            found = np.var(both[True], ddof=1) / np.var(both[False], ddof=1)
            print(f"  {draws.__name__.lower()}, {measure}: variance with the same ÷ with others {found:.2f}")


def errors(windows: int, seed: int) -> None:
    """Standard deviation of windows ÷ the root mean square of the error that each tells by its blocks."""
    runs = max(1, windows // RUN_WINDOWS)
    for name, plan, loads in SYSTEMS:
        told = []
        for users in loads:
            found = []
            for run in range(runs):
                rows = simulate(
                    plan, users, WARM_UP_S + RUN_WINDOWS * WINDOW_S + 60.0, seed + run, Stratified
                )
                cycles = cycles_of(plan, rows)
                begins = [WARM_UP_S + window * WINDOW_S for window in range(RUN_WINDOWS)]
                found += [corrected(cycles, b, b + WINDOW_S, 10, users).throughput for b in begins]
            blocks = np.array(found)
            error = np.sqrt((blocks.var(axis=1, ddof=1) / blocks.shape[1]).mean())
            told.append(f"{users} users {blocks.mean(axis=1).std(ddof=1) / error:.2f}")
        print(f"{name}: {', '.join(told)}")


def recorded(directory: Path) -> None:
    """Windows of recordings of both draws, by load; each recording's own light load gives the work."""
    from satline.recording import Recording
    from satline.windows.one import About, light_work, window_of
    from satline.windows.stated import Stated

    about = About(Stated.read((Path(__file__).parents[2] / "workloads/mixed-interactive.toml").read_text()))
    by_load: dict[int, dict[str, list[float]]] = {}
    paths = sorted(directory.glob("*.satline"))
    connections = [Recording.open(path).connect() for path in paths]
    # One scale for all: the mean over recordings.
    works = [light_work(connection) for connection in connections]
    keys = set.intersection(*(set(work) for work in works))
    work = {key: float(np.mean([one[key] for one in works])) for key in keys}
    for path, connection in zip(paths, connections, strict=True):
        is_stratified = path.name.startswith("stratified")
        step = 0
        while True:
            step += 1
            parts = window_of(connection, step, about=about, work=work)
            if parts is None:
                break
            longer = window_of(connection, step, about=about, work=work, warm_up=True)
            values = by_load.setdefault(parts.users, {"before": [], **{name: [] for name in NAMES}})
            ended = connection.execute(
                "SELECT script, class, count(*) FROM transaction t, (SELECT max(monotonic_ns) FILTER "
                "(event = 'window-start') AS t0, max(monotonic_ns) FILTER (event = 'window-end') AS t1 "
                "FROM event WHERE step = ?) WHERE response_us IS NOT NULL AND phase <> 'logon' "
                "AND t.monotonic_ns + response_us * 1000 BETWEEN t0 AND t1 GROUP BY ALL",
                [step],
            ).fetchall()
            plainly = sum(work.get((s, c), 0.0) * n for s, c, n in ended) / WINDOW_S
            if is_stratified:
                values["stratified draws"].append(plainly)
                values["+ both, stratified"].append(float(parts.throughput.mean()))
                continue
            values["before"].append(plainly)
            values["lines in proportion"].append(float(parts.corrected.uncorrected.mean()))
            values["+ both"].append(float(parts.throughput.mean()))
            assert longer is not None
            values["+ both, warm-up as detected"].append(float(longer.throughput.mean()))
            for name, wanted in (
                ("+ think times", About(replace(about.stated, shares={}))),
                ("+ commands", About(replace(about.stated, think_s={}))),
            ):
                found = window_of(connection, step, about=wanted, work=work)
                assert found is not None
                values[name].append(float(found.throughput.mean()))
    loads = [(n, {k: np.array(v) for k, v in by_load[n].items()}) for n in sorted(by_load)]
    print(
        f"{len(paths)} recordings; windows by load: {[(n, len(v['before'])) for n, v in loads]} of each draw"
    )
    table("live", loads, False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", type=Path)
    parser.add_argument("--of", type=Path)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--users", type=int, nargs="+", default=[4, 4, 15, 15, 45, 45])
    parser.add_argument("--processor", type=int, default=1)
    options = parser.parse_args()
    if options.live:
        from live import drive

        drive(options.live, options.rounds, options.users, int(WINDOW_S), options.seed, options.processor)
    if options.live or options.of:
        recorded(options.live or options.of)
    elif options.errors:
        errors(options.windows, options.seed)
    else:
        simulated(options.windows, options.seed)


if __name__ == "__main__":
    main()
