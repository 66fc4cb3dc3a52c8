"""How often the diagnosis names what an upgrade proves to be the bottleneck, on random simulated machines.

    python benches/confusion/run.py [--pairs 40] [--first 0] [--replications 4] [--seconds 1800] [--jobs N]
                                    [--out confusion.jsonl] [--json] [--wrong]

For each pair of machine and workload (`pairs.py`): a run with many users finds what it can do at most; loads
up to twice the users that would just saturate it are recorded and diagnosed. The truth is found by buying: at
the top load every upgrade (processor, storage, paging devices, devices for files, each half as much again;
admission in either direction) is simulated with the same random numbers. The upgrade that raises throughput
most is the truth, if it surely raises it by 3 % and surely more than any other; else the pair is unclear, and
counted apart.
Results are kept in --out: an interrupted bench goes on where it was.

Build first: cargo build --release -p satline-machine; SATLINE_BIN_DIR=target/release
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pairs import MACHINE, REMEDIES, UPGRADES, made

from satline.diagnosis import diagnose
from satline.recording import Recording
from satline.simulation import Point, Program, Run, find_machine, find_workload, sweep

LEAST_GAIN = 0.03
PILOT_USERS = 150
PARTS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.1, 1.35, 1.65, 2.0)
SILENT = "no claim"
UNCLEAR = "unclear"


@dataclass(frozen=True)
class Judged:
    """One pair: what buying showed, what the diagnosis said.

    gains
        Part by which each upgrade raises throughput at the top load: low, mean, high of its 95 % interval.
    """

    number: int
    truth: str
    gains: dict[str, tuple[float, float, float]]
    rule: str
    outcome: str
    headline: str
    users: tuple[int, ...]

    @property
    def verdict(self) -> str:
        """right, wrong, silent (nothing was claimed), or unclear (buying shows no winner)."""
        if self.truth == UNCLEAR:
            return UNCLEAR
        if self.rule == SILENT:
            return "silent"
        return "right" if self.truth in REMEDIES.get(self.rule, ()) else "wrong"


def judged(number: int, replications: int, seconds: float) -> Judged:
    """Make pair `number`, buy, diagnose."""
    pair, program = made(number), Program()
    base = Run(find_machine(MACHINE), find_workload(pair.workload), seed=1000 + number)

    def points(all_sets: Sequence[dict[str, str]], users: int, count: int, length: float) -> list[Point]:
        runs = [
            Run(
                base.machine,
                base.workload,
                users=(users,),
                step_seconds=length,
                sample_seconds=length / 200,
                seed=base.seed,
                replication=r,
                sets=tuple(sets.items()),
            )
            for sets in all_sets
            for r in range(count)
        ]
        results = sweep(runs, program, workers=1)
        return [
            Point({}, results[first : first + count], length / 4) for first in range(0, len(results), count)
        ]

    # Users who just saturate it: what it can do × the time of one user's cycle when alone.
    alone, crowd = points([pair.sets()], 1, 1, seconds)[0], points([pair.sets()], PILOT_USERS, 1, seconds)[0]
    most, least = _value(crowd, "throughput_per_s"), _value(alone, "throughput_per_s")
    knee = max(3.0, min(float(PILOT_USERS), most / least))
    users = tuple(sorted({max(1, round(part * knee)) for part in PARTS}))
    ways = [(name, sets) for name, many in pair.upgraded().items() for sets in many]
    before, *after = points([pair.sets(), *(sets for _, sets in ways)], users[-1], replications, seconds)
    truth, gains = bought(
        before, {name: [a for (n, _), a in zip(ways, after, strict=True) if n == name] for name, _ in ways}
    )
    directory = Path(tempfile.mkdtemp(prefix="satline-confusion-"))
    try:
        path = directory / "run.satline"
        recorded = Run(
            base.machine, base.workload, users, 900.0, 300.0, 10.0, base.seed, 0, tuple(pair.sets().items())
        )
        program.run(recorded, record=path)
        diagnosis = diagnose(Recording.open(path))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    named = [finding for finding in diagnosis.findings if finding.component != "none"]
    claims = diagnosis.saturation.outcome == "saturated" and named
    return Judged(
        number,
        truth,
        gains,
        named[0].rule if claims else SILENT,
        diagnosis.saturation.outcome,
        diagnosis.headline,
        users,
    )


def bought(before: Point, after: dict[str, list[Point]]) -> tuple[str, dict[str, tuple[float, float, float]]]:
    """The upgrade that surely helps most, and each one's gain."""
    name = "throughput_per_s"
    level = _value(before, name)
    best = {kind: max(ways, key=lambda point: _value(point, name)) for kind, ways in after.items()}
    gains = {}
    for kind, point in best.items():
        one = before.difference(point, name).difference
        value, half = one.value or 0.0, one.half_width or 0.0
        gains[kind] = ((value - half) / level, value / level, (value + half) / level)
    first = max(gains, key=lambda kind: gains[kind][1])
    rivals = [best[kind].difference(best[first], name) for kind in best if kind != first]
    clear = gains[first][0] > LEAST_GAIN and all(one.sure for one in rivals)
    return (first if clear else UNCLEAR), gains


def _value(point: Point, name: str) -> float:
    value = point.estimate(name).value
    if value is None:
        raise SystemExit(f"error: no {name} after the warm-up\nhint: --seconds with a greater number")
    return value


def table(answers: list[Judged]) -> dict[str, object]:
    """Confusion matrix and the parts that are right, wrong and silent."""
    verdicts = Counter(answer.verdict for answer in answers)
    clear = len(answers) - verdicts[UNCLEAR]
    claimed = verdicts["right"] + verdicts["wrong"]
    matrix: dict[str, Counter[str]] = {}
    for answer in answers:
        matrix.setdefault(answer.truth, Counter())[answer.rule] += 1
    return {
        "pairs": len(answers),
        "clear": clear,
        "right": verdicts["right"],
        "wrong": verdicts["wrong"],
        "silent": verdicts["silent"],
        "right_part_of_clear": verdicts["right"] / clear if clear else None,
        "wrong_part_of_clear": verdicts["wrong"] / clear if clear else None,
        "right_part_of_claimed": verdicts["right"] / claimed if claimed else None,
        "matrix": {truth: dict(row) for truth, row in sorted(matrix.items())},
    }


def show(result: dict[str, object]) -> None:
    """The table as text."""
    matrix: dict[str, dict[str, int]] = result["matrix"]  # type: ignore[assignment]
    for truth in (*UPGRADES, UNCLEAR):
        for rule, count in sorted(matrix.get(truth, {}).items(), key=lambda item: -item[1]):
            mark = (
                ""
                if truth == UNCLEAR or rule == SILENT
                else "right"
                if truth in REMEDIES.get(rule, ())
                else "WRONG"
            )
            print(f"{truth:<11} {rule:<28}{count:>5}  {mark}")
    print(f"\n{result['pairs']} pairs, {result['clear']} with a clear truth.")
    if result["clear"]:
        print(
            f"Of these: right {result['right_part_of_clear']:.0%}, confidently wrong"
            f" {result['wrong_part_of_clear']:.0%}, silent {result['silent']}."
        )


def load(path: Path, key: list[object]) -> dict[int, Judged]:
    """Pairs that an earlier run has judged in the same way."""
    found = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            content = json.loads(line)
        except ValueError:
            continue  # torn by a kill
        if content.pop("key") == key:
            gains = {name: tuple(gain) for name, gain in content.pop("gains").items()}
            users = tuple(content.pop("users"))
            found[content["number"]] = Judged(**content, gains=gains, users=users)
    return found


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=40, help="how many pairs (40)")
    parser.add_argument("--first", type=int, default=0, help="number of the first pair (0)")
    parser.add_argument("--replications", type=int, default=4, help="runs of each upgrade (4)")
    parser.add_argument("--seconds", type=float, default=1800, help="simulated seconds of each run (1800)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="pairs at the same time")
    parser.add_argument("--out", type=Path, help="keep the results here, and go on from them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers too")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.pairs)
    # Another program, or other pairs, are other results.
    text = b"".join((Path(__file__).parent / name).read_bytes() for name in ("pairs.py", "run.py"))
    identity = Program().identity["digest"] + hashlib.sha256(text).hexdigest()
    key = [identity, options.replications, options.seconds]
    known = load(options.out, key) if options.out else {}
    answers = {number: known[number] for number in numbers if number in known}
    todo = [number for number in numbers if number not in answers]
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(judged, number, options.replications, options.seconds) for number in todo]
        try:
            for future in as_completed(futures):
                answer = future.result()
                answers[answer.number] = answer
                if options.out:
                    with options.out.open("a") as file:
                        file.write(json.dumps({**asdict(answer), "key": key}) + "\n")
                if sys.stderr.isatty():
                    print(f"\r{len(answers)} of {len(numbers)}", end="", file=sys.stderr)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    ordered = [answers[number] for number in numbers]
    result = table(ordered)
    if options.json:
        print(json.dumps({**result, "answers": [asdict(answer) for answer in ordered]}, indent=2))
        return
    show(result)
    if options.wrong:
        for answer in ordered:
            if answer.verdict == "wrong":
                best = ", ".join(f"{kind} {gain[1]:+.0%}" for kind, gain in answer.gains.items())
                print(f"{answer.number:>4} {answer.truth} ({best}); said: {answer.headline}")


if __name__ == "__main__":
    main()
