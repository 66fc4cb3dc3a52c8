"""How much sooner a search knows the knee than a fixed grid of loads, on systems whose knee is known.

    python benches/search/run.py [--systems N] [--first N] [--seed N] [--jobs N] [--json] [--wrong]
    python benches/search/run.py --time [--systems N]     time to ± 15 %, stationary kinds
    python benches/search/run.py --mlr [--systems N]      beside MLRsearch (pip install MLRsearch)

`systems.py` beside this file makes the systems. Each study has 300 s and the same limits. Each step of the
grid spends 7 s on its ramp and warm-up; a step of the search as much as `satline study` gives it, by how many
users log on or off (on systems with greater limits as many more in the same time). The grid is the ten
steps of studies/this-host.toml in proportion to the limit, 23 s each, judged as `satline diagnose` does
(`judge`); where it gives no verdict, the interval of the likely bend counts. An interval without an upper end
counts as reaching the greatest load. The search does not stop early here: it spends all of the 300 s.

wrong   a chance of at least 0.8 that throughput bends within the limits where it does not, or of at most 0.2
        where it does; or, with such a chance, an interval that misses the knee by more than 15 % (25 % where
        it is rounded).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _alike import Interval, alike
from systems import KINDS, STUDY_S, Seen, System, made

from satline.diagnosis.saturation import Series, judge
from satline.experiment.adaptive.plan import StepTimes
from satline.experiment.search import Search, Settings
from satline.knee import Window

GRID = (2, 6, 10, 15, 20, 26, 33, 42, 52, 62)
RAMP_S, WARMUP_S = 3.0, 4.0
OVERHEAD_S = RAMP_S + WARMUP_S
GRID_WINDOW_S = 23
LONGEST_S = 3000.0
WITHIN = 0.15


@dataclass
class Answer:
    """An interval of the knee, the chance that there is one within the limits, seconds of study."""

    low: float
    value: float
    high: float
    chance: float | None
    seconds: float


@dataclass
class Judged:
    """One system: truth, the search's answer and the grid's."""

    index: int
    kind: str
    sharp: bool
    knee: float | None
    most: int
    search: Answer
    grid: Answer
    cpu_s: float
    windows: int

    def covered(self, answer: Answer) -> bool | None:
        """Does its interval hold the knee? ``None``: no knee, or no interval is told."""
        if self.knee is None or not math.isfinite(answer.value):
            return None
        return answer.low <= self.knee <= answer.high

    def width(self, answer: Answer) -> float:
        """Of its interval, as far as the limits reach."""
        return min(answer.high, self.most) - min(answer.low, self.most)

    def interval(self, answer: Answer) -> Interval | None:
        """As one to be stretched; ``None``: no knee, or no place is told."""
        if self.knee is None or not math.isfinite(answer.value):
            return None
        return Interval(answer.low, answer.value, answer.high, self.knee, self.most)

    def wrong(self, answer: Answer) -> str:
        """What of it is not true; empty: nothing."""
        if answer.chance is None:
            return ""
        if answer.chance >= 0.8 and self.knee is None:
            return f"a chance of {answer.chance:.2f}"
        if answer.chance <= 0.2 and self.knee is not None:
            return f"a chance of {answer.chance:.2f}"
        if answer.chance >= 0.8 and self.knee is not None:
            part = 0.15 if self.sharp else 0.25
            if not answer.low * (1 - part) <= self.knee <= answer.high * (1 + part):
                return "the place"
        return ""


def searched(system: System, seed: int, seconds: float, within: float) -> tuple[Search, float, float]:
    """A search on a system: itself, its study time, CPU seconds."""
    # as `satline study` has it: none where nobody logs on or off, else in proportion to how many do
    times = StepTimes(RAMP_S, WARMUP_S, max(1.0, system.most / GRID[-1]))
    settings = Settings(most_users=system.most, seconds=seconds, within=within, overhead_s=times.overhead)
    elapsed, cpu = 0.0, 0.0
    before: int | None = None
    known: list[Window] = []
    last: Seen | None = None
    while True:
        # As the driver does: what is known of a window by now. Once its lines have ended that stays the same.
        search = Search(settings, seed=seed)
        for window in known if last is None else (*known, last.window()):
            search.add(window)
        began = time.process_time()
        decision = search.decide(elapsed)
        cpu += time.process_time() - began
        if decision.users is None:
            return search, elapsed, cpu
        if last is not None:
            known.append(last.window(decision.users))
        elapsed += times.overhead(before, decision.users)
        before = decision.users
        length = max(1, int(decision.window_s))
        last = system.observe(decision.users, elapsed, length)
        elapsed += length


def grid_answer(system: System, steps: list[tuple[Seen, ...]], seconds: float) -> Answer:
    """What `judge` says of these windows, several a load."""
    load, number, rate, inside, batches = [], [], [], [], []
    for k, windows in enumerate(steps):
        for w, seen in enumerate(windows):
            count = len(seen.completed)
            block = max(1, int(np.ceil(0.8 * np.sqrt(count))))
            load.append(np.full(count, float(seen.users)))
            number.append(np.full(count, k))
            rate.append(seen.completed)
            batches.append((k * 100 + w) * 1000 + np.arange(count) // block)
            if seen.in_transaction is not None:
                inside.append(seen.in_transaction)
    series = Series(
        load=np.concatenate(load),
        number=np.concatenate(number).astype(np.int64),
        throughput=np.concatenate(rate),
        seconds=np.ones(sum(len(r) for r in rate)),
        batches=np.concatenate(batches).astype(np.int64),
        in_transaction=np.concatenate(inside) if inside else None,
        think_s=system.think_s if inside else None,
        contended=True,
    )
    verdict = judge(series, load_axis="users", variable="transaction_rate", unit="per second")
    place = verdict.at or verdict.bend
    chance = {"saturated": 1.0, "not-saturated": 0.0}.get(verdict.outcome, verdict.chance)
    if verdict.outcome == "not-saturated" or place is None:
        return Answer(float(system.most) if place is None else place.low, math.nan, math.inf, chance, seconds)
    return Answer(place.low, place.value, place.high, chance, seconds)


def grid_loads(most: int) -> list[int]:
    """The grid's loads in proportion to the limit."""
    return sorted({max(1, round(x * most / GRID[-1])) for x in GRID})


def gridded(system: System) -> Answer:
    """The grid's answer."""
    elapsed, steps = 0.0, []
    loads = grid_loads(system.most)
    for users in loads:
        elapsed += OVERHEAD_S
        steps.append((system.observe(users, elapsed, GRID_WINDOW_S),))
        elapsed += GRID_WINDOW_S
    return grid_answer(system, steps, elapsed)


def told(search: Search, seconds: float) -> Answer:
    """The search's answer."""
    known = search.path[-1].estimates[0]
    chance = search.path[-1].chance_within
    return Answer(known.low, known.value, known.high, chance, seconds)


def judged(index: int, seed: int) -> Judged:
    """Make system number `index`; search it, and step through the grid."""
    system = made(index, seed)
    search, seconds, cpu = searched(system, index + 1, STUDY_S, 1e-6)
    return Judged(
        index,
        system.kind,
        system.sharp,
        system.knee,
        system.most,
        told(search, seconds),
        gridded(made(index, seed)),
        cpu,
        len(search.windows),
    )


@dataclass
class Timed:
    """Study seconds until half of the interval is at most 15 % of the value; infinite: not within 3,000 s."""

    index: int
    kind: str
    search_s: float
    grid_s: float
    search_right: bool


def timed(index: int, seed: int) -> Timed | None:
    """How long the search and the grid need; ``None``: the system has no knee, or is not stationary."""
    system = made(index, seed)
    if system.knee is None or not system.stationary:
        return None
    search, seconds, _ = searched(system, index + 1, LONGEST_S, WITHIN)
    known = search.path[-1].estimates[0]
    system = made(index, seed)
    loads = grid_loads(system.most)
    steps: list[tuple[Seen, ...]] = [() for _ in loads]
    elapsed, grid_s = 0.0, math.inf
    while elapsed < LONGEST_S:
        for k, users in enumerate(loads):
            elapsed += OVERHEAD_S
            steps[k] = (*steps[k], system.observe(users, elapsed, GRID_WINDOW_S))
            elapsed += GRID_WINDOW_S
        answer = grid_answer(system, steps, elapsed)
        if (
            math.isfinite(answer.high)
            and answer.high - answer.low <= 2 * WITHIN * answer.value
            and (answer.chance or 0) >= 0.5
        ):
            grid_s = elapsed
            break
    return Timed(
        index,
        system.kind,
        seconds if known.done else math.inf,
        grid_s,
        known.low <= system.knee <= known.high,
    )


def table(answers: list[Judged]) -> dict[str, object]:
    """The figures, by kind and in all."""
    rows: dict[str, object] = {}
    for name in (*KINDS, "curves", "queues", "all"):
        own = [
            a
            for a in answers
            if name in {a.kind, "all"} or (name == "curves" and a.sharp) or (name == "queues" and not a.sharp)
        ]
        knees = [a for a in own if a.knee is not None]
        if not own:
            continue
        ratios = [a.width(a.search) / max(a.width(a.grid), 1e-9) for a in knees]
        held = [c for a in own if (c := a.covered(a.search)) is not None]
        grid_held = [c for a in own if (c := a.covered(a.grid)) is not None]
        rows[name] = {
            "systems": len(own),
            "width_ratio": float(np.median(ratios)) if ratios else None,
            "search_half_width": _middle([a.width(a.search) / 2 / a.knee for a in knees if a.knee]),
            "grid_half_width": _middle([a.width(a.grid) / 2 / a.knee for a in knees if a.knee]),
            "intervals": len(held),
            "coverage": float(np.mean(held)) if held else None,
            "grid_coverage": float(np.mean(grid_held)) if grid_held else None,
            "wrong": sum(bool(a.wrong(a.search)) for a in own),
            "grid_wrong": sum(bool(a.wrong(a.grid)) for a in own),
            "error": _middle([abs(a.search.value / a.knee - 1) for a in knees if a.knee]),
            "grid_error": _middle(
                [abs(a.grid.value / a.knee - 1) for a in knees if a.knee and math.isfinite(a.grid.value)]
            ),
            "within_quarter": float(
                np.mean([abs(a.search.value / a.knee - 1) < 0.25 for a in knees if a.knee])
            )
            if knees
            else None,
        }
    pairs = [(a.interval(a.search), a.interval(a.grid)) for a in answers]
    same = alike([(one, other) for one, other in pairs if one is not None and other is not None])
    cpu = sum(a.cpu_s for a in answers) / max(1, sum(a.windows + 1 for a in answers))
    return {
        "kinds": rows,
        "at_equal_coverage": None if same is None else asdict(same),
        "cpu_s_per_decision": cpu,
        "windows": _middle([a.windows for a in answers]),
    }


def _middle(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def show(result: dict[str, object]) -> None:
    """The table as text."""
    print(
        f"{'':<17}{'systems':>8}{'width/grid':>11}{'±search':>9}{'±grid':>8}{'covered':>15}{'grid':>7}"
        f"{'wrong':>7}{'grid':>6}{'error':>8}{'grid':>7}"
    )

    def part(x: float | None) -> str:
        return f"{x:.1%}" if x is not None else ""

    for name, row in result["kinds"].items():  # type: ignore[attr-defined]
        ratio = f"{row['width_ratio']:.2f}" if row["width_ratio"] is not None else ""
        held = f"{part(row['coverage'])} of {row['intervals']}" if row["intervals"] else ""
        print(
            f"{name:<17}{row['systems']:>8}{ratio:>11}{part(row['search_half_width']):>9}"
            f"{part(row['grid_half_width']):>8}{held:>15}{part(row['grid_coverage']):>7}{row['wrong']:>7}"
            f"{row['grid_wrong']:>6}{part(row['error']):>8}{part(row['grid_error']):>7}"
        )
    same = result["at_equal_coverage"]
    if same is not None:
        ratio, factors = same["ratio"], same["factors"]  # type: ignore[index]
        print(
            f"\nAt equal coverage (95 %; each interval stretched by the factor of the other half of systems:"
            f"\nsearch {factors[0]:.2f}, grid {factors[1]:.2f}) width by the grid's is {ratio[0]:.2f}"
            f" [{ratio[1]:.2f}, {ratio[2]:.2f}], of {same['systems']} systems"  # type: ignore[index]
        )
    print(
        f"\n{result['windows']:.0f} windows a study in the median;"
        f" {1000 * float(result['cpu_s_per_decision']):.0f} ms of CPU a decision"  # type: ignore[arg-type]
    )


def show_times(answers: list[Timed]) -> None:
    """Medians, and of how many systems each came to ± 15 % at all."""
    search, grid = ([getattr(a, n) for a in answers] for n in ("search_s", "grid_s"))
    ratio = [a.search_s / a.grid_s for a in answers if math.isfinite(a.search_s) or math.isfinite(a.grid_s)]
    print(f"{len(answers)} systems of stationary kinds; time to ± 15 %:")
    for name, times in (("search", search), ("grid", grid)):
        quarter = [float(np.percentile(times, q, method="lower")) for q in (25, 50, 75)]
        print(
            f"  {name:<7} quartiles {quarter[0]:.0f}, {quarter[1]:.0f}, {quarter[2]:.0f} s;"
            f" reached within {LONGEST_S:.0f} s: {np.mean(np.isfinite(times)):.0%}"
        )
    print(f"  search by grid, median of ratios: {np.median(ratio):.2f}")
    done = [a for a in answers if math.isfinite(a.search_s)]
    print(f"  intervals at the stop that hold the knee: {np.mean([a.search_right for a in done]):.1%}")


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=300, help="how many systems (300)")
    parser.add_argument("--first", type=int, default=0, help="number of the first system (0)")
    parser.add_argument("--seed", type=int, default=2031, help="of the series of systems (2031)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--wrong", action="store_true", help="list wrong answers and missed knees too")
    parser.add_argument("--time", action="store_true", help="time to ± 15 %% instead")
    parser.add_argument("--mlr", action="store_true", help="beside MLRsearch instead")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.systems)
    if options.mlr:
        from mlr import compared, show_compared

        work = partial(compared, seed=options.seed)
    elif options.time:
        work = partial(timed, seed=options.seed)  # type: ignore[assignment]
    else:
        work = partial(judged, seed=options.seed)  # type: ignore[assignment]
    answers = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for answer in pool.map(work, numbers, chunksize=2):
            answers.append(answer)
            if sys.stderr.isatty():
                print(f"\r{len(answers)} of {options.systems}", end="", file=sys.stderr)
    answers = [a for a in answers if a is not None]
    if options.mlr:
        show_compared(answers)
        return
    if options.time:
        show_times(answers)
        return
    result = table(answers)
    if options.json:
        print(json.dumps({**result, "systems": [asdict(a) for a in answers]}, indent=2))
        return
    show(result)
    if options.wrong:
        for a in answers:
            wrong = a.wrong(a.search)
            if wrong or a.covered(a.search) is False:
                knee = f"{a.knee:.1f}" if a.knee else "none"
                print(
                    f"{a.index:>5} {a.kind}{'' if a.sharp else ' (queue)'}: knee {knee} of {a.most}, "
                    f"{a.search.value:.1f} [{a.search.low:.1f}, {a.search.high:.1f}] {wrong}"
                )


if __name__ == "__main__":
    main()
