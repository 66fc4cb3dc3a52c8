"""How often the diagnosis names what an upgrade proves to be the bottleneck, on random simulated machines.

    python benches/confusion/run.py [--pairs 40] [--first 0] [--replications 3] [--seconds 1200] [--jobs N]
                                    [--out DIR] [--json] [--wrong]

For each pair of machine and workload (`pairs.py`) loads up to two and a half times the users that would just
saturate it are recorded and diagnosed. The truth is found by buying (`truth.py`): at the top load, come to
through two lighter ones, every upgrade (processor, storage, paging devices, devices for files, each half as
much again; admission in either direction) is simulated with the same random numbers. The upgrade that raises
the work done most is the truth, if it surely raises it by 3 %; one that is not surely worse, and at least
half as good, counts as right too, and how many there are is told. Where none helps, nothing must be claimed.
Pairs too noisy to tell are counted apart. A verdict that names several rivals, and says that it cannot tell
which, counts as silent. Pairs are kept in --out: an interrupted bench goes on where it was, and another
diagnosis is judged on the same recordings.

Build first: cargo build --release -p satline-machine; SATLINE_BIN_DIR=target/release
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pairs import REMEDIES, UPGRADES
from truth import FAILED, NONE, UNCLEAR, Truth, simulated

from satline.diagnosis import diagnose, undecided
from satline.recording import Recording
from satline.simulation import Program
from satline.stats import wilson

SILENT = "no claim"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judged:
    """One pair: what buying showed, what the diagnosis said."""

    truth: Truth
    rule: str
    outcome: str
    headline: str

    @property
    def verdict(self) -> str:
        """right, wrong, silent (nothing was claimed), or unclear (buying shows nothing)."""
        if self.truth.kind in (UNCLEAR, FAILED):
            return "unclear"
        if self.truth.kind == NONE:
            return "right" if self.rule in (SILENT, UNDECIDED) else "wrong"
        if self.rule in (SILENT, UNDECIDED):
            return "silent"
        return "right" if REMEDIES.get(self.rule, frozenset()) & set(self.truth.as_good) else "wrong"


def judged(number: int, replications: int, seconds: float, out: Path) -> Judged:
    """Simulate pair `number`, or take what is there, and diagnose it."""
    truth = simulated(number, replications, seconds, out)
    if truth.kind == FAILED:
        return Judged(truth, SILENT, "", truth.error)
    diagnosis = diagnose(Recording.open(out / f"{number}.satline"))
    named = [finding for finding in diagnosis.findings if finding.component != "none"]
    outcome = diagnosis.saturation.outcome
    rule = named[0].rule if outcome == "saturated" and named else SILENT
    if rule != SILENT and undecided(named):
        rule = UNDECIDED
    return Judged(truth, rule, outcome, diagnosis.headline)


def table(answers: list[Judged]) -> dict[str, object]:
    """Confusion matrix and the parts that are right, wrong and silent."""
    verdicts = Counter(answer.verdict for answer in answers)
    told = [answer for answer in answers if answer.verdict != "unclear"]
    single = Counter(answer.verdict for answer in told if len(answer.truth.as_good) == 1)
    matrix: dict[str, Counter[tuple[str, str]]] = {}
    for answer in answers:
        matrix.setdefault(answer.truth.kind, Counter())[answer.rule, answer.verdict] += 1
    return {
        "pairs": len(answers),
        "clear": len(told),
        **{name: verdicts[name] for name in ("right", "wrong", "silent")},
        **{f"{name}_part": verdicts[name] / len(told) if told else None for name in ("right", "wrong")},
        **{f"{name}_interval": _interval(verdicts[name], len(told)) for name in ("right", "wrong")},
        "with_one_best_upgrade": dict(single),
        "outcomes": dict(Counter(answer.outcome for answer in told)),
        "matrix": {
            truth: [[rule, verdict, count] for (rule, verdict), count in row.most_common()]
            for truth, row in sorted(matrix.items())
        },
    }


def _interval(count: int, of: int) -> tuple[float, float] | None:
    return wilson(count / of, of) if of else None


def show(result: dict[str, object]) -> None:
    """The table as text."""
    matrix: dict[str, list[tuple[str, str, int]]] = result["matrix"]  # type: ignore[assignment]
    for truth in (*UPGRADES, NONE, UNCLEAR, FAILED):
        for rule, verdict, count in matrix.get(truth, []):
            print(f"{truth:<12} {rule:<28}{count:>5}  {'WRONG' if verdict == 'wrong' else verdict}")
    print(f"\n{result['pairs']} pairs, {result['clear']} with a clear truth.")
    if result["clear"]:
        print(
            f"Of these: right {result['right']} ({_part(result, 'right')}), confidently wrong"
            f" {result['wrong']} ({_part(result, 'wrong')}), silent {result['silent']}."
            f" Where one upgrade surely is the best: {result['with_one_best_upgrade']}."
            f" Verdicts on saturation: {result['outcomes']}."
        )


def _part(result: dict[str, object], name: str) -> str:
    low, high = result[f"{name}_interval"]  # type: ignore[misc]
    return f"{result[f'{name}_part']:.0%}, 95 % interval {low:.0%}-{high:.0%}"


def _folder(options: argparse.Namespace, default: str) -> Path:
    """Where pairs are kept: other pairs, or their recordings by another program, are others."""
    text = b"".join((Path(__file__).parent / name).read_bytes() for name in ("pairs.py", "truth.py"))
    folder = options.out or Path(default)
    folder /= hashlib.sha256(Program().identity["digest"].encode() + text).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return Path(folder)


def run(options: argparse.Namespace, folder: Path) -> list[Judged]:
    """All pairs, in order of their numbers."""
    numbers = range(options.first, options.first + options.pairs)
    answers = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(judged, n, options.replications, options.seconds, folder) for n in numbers]
        try:
            for future in as_completed(futures):
                answer = future.result()
                answers[answer.truth.number] = answer
                if sys.stderr.isatty():
                    print(f"\r{len(answers)} of {len(numbers)}", end="", file=sys.stderr)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [answers[number] for number in numbers]


def tell(answers: Sequence[Judged], verdicts: tuple[str, ...]) -> None:
    """The answers with these verdicts, a line each."""
    for answer in answers:
        if answer.verdict in verdicts:
            gains = ", ".join(f"{kind} {gain[1]:+.0%}" for kind, gain in answer.truth.gains.items())
            print(
                f"{answer.truth.number:>4} {answer.verdict}: {answer.truth.kind} ({gains}); said:"
                f" {answer.headline}"
            )


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=40, help="how many pairs (40)")
    parser.add_argument("--first", type=int, default=0, help="number of the first pair (0)")
    parser.add_argument("--replications", type=int, default=3, help="runs of each upgrade at least (3)")
    parser.add_argument("--seconds", type=float, default=1200, help="simulated seconds of each run (1200)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="pairs at the same time")
    parser.add_argument("--out", type=Path, help="keep the pairs in this folder, and go on from them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--wrong", action="store_true", help="list the wrong and silent answers too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="satline-confusion-") as scratch:
        answers = run(options, _folder(options, scratch))
    result = table(answers)
    if options.json:
        print(json.dumps({**result, "answers": [asdict(answer) for answer in answers]}, indent=2))
        return
    show(result)
    if options.wrong:
        tell(answers, ("wrong", "silent"))


if __name__ == "__main__":
    main()
