"""What the runs of a design say: figures, verdicts with known truth, flagged runs, steadiness, the peak."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from documents import read
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import S, record_run

from satline.cli.experiment.designed import finish
from satline.diagnosis.peak import peak_of
from satline.experiment.designed import Carried, DesignPart, Look, Store
from satline.experiment.designed._analysis import Outcome, outcome_of, verdicts
from satline.experiment.designed._results import (
    ALL,
    Figures,
    RunResult,
    figures_of,
    results_of,
)
from satline.experiment.designs import Factor, Plan, make_plan
from satline.experiment.search.replicates import Effect
from satline.experiment.series import steps_of
from satline.experiment.study import Load
from satline.present import print_blocks
from satline.present.designed import (
    answers,
    cells_table,
    content,
    notes,
    outcome_blocks,
    results_csv,
    write_outcome,
)
from satline.present.documents import plain
from satline.recording import Recording, RecordingWriter, describe
from satline.windows.steady import steadiness

MEMORY = Factor("memory", ("32 MB", "48 MB", "64 MB"))
DISKS = Factor("disks", ("1", "2"))
READ = Factor("read", ("off", "on"))


def test_the_figures_of_a_run(tmp_path: Path) -> None:
    record_run(tmp_path / "r", {"edit": 0.4, "compile": 8.0}, n=100, window_s=60.0)
    whole, compiling, editing = figures_of(tmp_path / "r", within_s=2.0)
    assert [one.class_name for one in (whole, compiling, editing)] == [ALL, "compile", "edit"]
    assert (whole.interactions, editing.interactions, whole.users) == (200, 100, 4)
    assert editing.response_s == pytest.approx(0.4, rel=0.15)
    assert editing.reaction_s == pytest.approx((editing.response_s or 0) / 2, rel=0.01)
    assert (editing.reaction_p90_s or 0) > (editing.reaction_s or 0)
    assert whole.interactions_per_minute == pytest.approx(200)
    assert (editing.satisfaction, whole.satisfaction) == (1.0, pytest.approx(0.5, abs=0.1))
    assert (compiling.satisfaction or 0) < 0.1


def test_what_failed_is_counted_and_was_not_in_time(tmp_path: Path) -> None:
    describe.create(tmp_path / "r", "test")
    with RecordingWriter(tmp_path / "r", "terminal") as writer:
        when = [{"time_ns": at * S, "monotonic_ns": at * S, "step": 1} for at in range(1, 12)]
        writer.write_rows("event", [when[0] | {"event": "window-start"}, when[10] | {"event": "window-end"}])
        rows = [
            one | {"phase": "window", "class": "a", "outcome": "ok" if n % 2 else "timeout"}
            | ({"response_us": 1_000_000} if n % 2 else {})
            for n, one in enumerate(when[1:9])
        ]  # fmt: skip
        rows += [when[9] | {"phase": "window", "class": "a", "outcome": "cut"}]
        writer.write_rows("transaction", rows)
    whole = figures_of(tmp_path / "r", 2.0)[0]
    assert (whole.interactions, whole.failed, whole.unanswered) == (9, 4, 1)
    assert whole.satisfaction == pytest.approx(4 / 9)
    assert (whole.reaction_s, whole.response_s) == (None, 1.0)  # a recording that tells no reactions


def test_runs_whose_users_still_waited_at_the_end_are_told() -> None:
    plan = make_plan([DISKS, READ], seed=3)
    results = [
        RunResult(r, Path("r"), (), 1, (Figures(ALL, 4, 100, 0, 20 * (r.number == 2), 1, 1, 1, 1, 60, 1),))
        for r in plan.runs
    ]
    text = "\n".join(notes(found(plan, results)))
    assert "run 2: 20 of 100 interactions had no answer when it ended" in text
    assert "run 1:" not in text


def test_a_recording_without_a_whole_window_has_no_figures(tmp_path: Path) -> None:
    describe.create(tmp_path / "r", "test")
    assert figures_of(tmp_path / "r", 2.0) == []


def made(
    plan: Plan, seed: int = 1, drop: tuple[int, ...] = (), flag: tuple[int, ...] = ()
) -> list[RunResult]:
    """Runs in which memory and disks multiply the response, and read-ahead does nothing."""
    random = np.random.default_rng(seed)
    results = []
    for run in plan.runs:
        if run.number in drop:
            continue
        level = 8.0 - 2.0 * MEMORY.levels.index(run.levels["memory"])
        level *= 0.6 if run.levels.get("disks") == "2" else 1.0
        figures = []
        for name, part in ((ALL, 1.0), ("edit", 0.2)):
            value = float(level * part * math.exp(random.normal(0, 0.05)))
            figures.append(Figures(name, 4, 100, 0, 0, value / 2, value, value, 2 * value, 60.0, 0.9))
        flags = ("warm",) if run.number in flag else ()
        results.append(RunResult(run, Path(f"{run.number:03}.satline"), flags, 1, tuple(figures)))
    return results


def found(plan: Plan, results: list[RunResult], **design: object) -> Outcome:
    part = DesignPart.model_validate({"transform": "log", "measures": ["response_s"], **design})
    return outcome_of(plan, results, part)


@pytest.mark.parametrize("replicates", [1, 3])
def test_what_acts_is_found_and_what_does_not_is_not(replicates: int) -> None:
    plan = make_plan([MEMORY, DISKS, READ], seed=3, replicates=replicates)
    outcome = found(plan, made(plan))
    for part in outcome.parts:
        assert part.analysis is not None
        told = verdicts(part.analysis)
        assert (told["memory"], told["disks"], told["read"]) == (*("significant",) * 2, "not significant")
        assert part.error.startswith("differences between" if replicates > 1 else "interactions of two")
    disks = next(one for one in outcome.parts[0].analysis.contrasts if one.source == "disks")  # type: ignore[union-attr]
    assert math.exp(disks.value or 0) == pytest.approx(0.6, rel=0.1)
    assert outcome.missing == outcome.sensitivity == ()
    assert any(
        line.startswith("disks 1 → 2: mean response times 0.") for line in answers(outcome, "response_s")
    )


def test_two_levels_without_replicates_are_judged_by_lenths_method() -> None:
    two = Factor("memory", ("32 MB", "64 MB"))
    plan = make_plan([two, DISKS, READ], seed=3)
    part = found(plan, made(plan)).parts[0]
    assert part.analysis is not None
    assert part.analysis.lenth is not None
    assert verdicts(part.analysis)["read"] == "not significant"
    pooled = found(plan, made(plan), pool=3).parts[0]
    assert pooled.analysis is not None
    assert pooled.analysis.lenth is None
    assert "as the study declares" in pooled.error


def test_missing_runs_are_said_and_the_rest_is_analysed() -> None:
    plan = make_plan([MEMORY, DISKS, READ], seed=3)
    outcome = found(plan, made(plan, drop=(2, 5)))
    assert outcome.missing[0] == "2 of 12 runs have no result: 2, 5"
    assert len(outcome.missing) == 3
    assert "missing cell: memory" in outcome.missing[1]
    assert outcome.parts[0].analysis is not None


def test_flagged_runs_can_be_left_out_and_it_is_said_what_that_changes() -> None:
    plan = make_plan([MEMORY, DISKS, READ], seed=3, replicates=2)
    outcome = found(plan, made(plan, seed=2, flag=(1, 4)))
    assert outcome.flagged == {1: ("warm",), 4: ("warm",)}
    assert "remains so" in outcome.sensitivity[0]
    assert len(outcome.results) == 24
    part = DesignPart(measures=["response_s"])
    left = outcome_of(plan, made(plan, seed=2, flag=(1, 4)), part, leave_out_flagged=True)
    assert len(left.results) == 22
    assert "2 of 24 runs have no result" in left.missing[0]
    assert "left out" in "\n".join(notes(left))
    every = found(plan, made(plan, flag=tuple(range(1, 25))))
    assert "cannot be checked" in every.sensitivity[0]


def test_flags_that_carry_a_verdict_are_said_to() -> None:
    plan = make_plan([DISKS, READ], seed=3, replicates=4)
    random = np.random.default_rng(7)
    results = []
    for run in plan.runs:
        # Two disks are quicker in three of four replicates alone, and these are flagged.
        warm = run.replicate <= 3 and run.levels["disks"] == "2"
        value = (1.0 if warm else 4.0) * math.exp(random.normal(0, 0.05))
        figures = Figures(ALL, 4, 100, 0, 0, value, value, value, value, 60.0, 0.9)
        results.append(RunResult(run, Path("r"), ("warm",) if warm else (), 1, (figures,)))
    lines = found(plan, results).sensitivity
    assert lines[0] == "without the 6 flagged runs the verdict on these changes:"
    assert "all: response_s: disks: significant, without not significant" in lines[1]


def test_too_few_runs_have_no_analysis_but_a_reason() -> None:
    plan = make_plan([MEMORY, DISKS], seed=3)
    outcome = found(plan, made(plan)[:1])
    assert outcome.parts[0].analysis is None
    assert "1 runs have it" in outcome.parts[0].why
    assert "No verdict" in answers(outcome, "response_s")[0]


def test_the_table_of_results_feeds_anova(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from satline.cli import run

    plan = make_plan([MEMORY, DISKS, READ], seed=3, replicates=2, replicate_blocks=True)
    text = results_csv(plan, made(plan))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 48
    assert rows[0].keys() >= {
        "run",
        "block",
        "replicate",
        "memory",
        "class",
        "response_s",
        "flags",
        "recording",
    }
    (tmp_path / "results.csv").write_text(text)
    names = ["--response", "response_s", "--factors", "memory,disks,read", "--by", "class", "--json"]
    assert run(["anova", str(tmp_path / "results.csv"), *names]) == 0
    classes = json.loads(capsys.readouterr().out)["classes"]
    assert [one["class"] for one in classes] == ["all", "edit"]
    memory = next(row for row in classes[0]["variance"] if row["source"] == "memory")
    assert memory["chance"] < 0.001


def test_the_page_and_the_terminal_hold_hostile_names(tmp_path: Path) -> None:
    from rich.console import Console

    bad = Factor('<b>"&\x1b[31m', ("<i>", "[red]x"))
    plan = make_plan([bad, DISKS], seed=1, replicates=2)
    results = [
        RunResult(
            r, Path("x"), ("<script>",), None, (Figures(ALL, 4, 90, 0, 0, 1, 1, 1 + r.number, 1, 1, 1),)
        )
        for r in plan.runs
    ]
    outcome = found(plan, results)
    write_outcome(tmp_path / "p.html", outcome, "<h1>", "why\x1b?", 'x = "<b>"', 2.0)
    page = (tmp_path / "p.html").read_text()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "\x1b" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
    console = Console(file=io.StringIO(), width=80)
    print_blocks(outcome_blocks(outcome), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[31m" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    json.dumps(plain(content(outcome)))


def test_the_json_of_a_real_design_has_what_became_of_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan([MEMORY, DISKS], seed=3, replicates=2)
    look = Look(None, "all is decided", (Effect("disks 1 → 2", -0.5, -math.inf, -0.4, "there"),), True)
    carried = Carried(Store(tmp_path), plan, "", failed={3: "no samples"}, late=[2], repeated=1, decided=look)
    outcome = found(plan, made(plan, drop=(3,), flag=(2,)))
    finish(outcome, tmp_path, "title", "why?", "", 2.0, True, carried)
    told = read(capsys.readouterr().out)
    assert told["kind"] == "study-design"
    assert (told["failed"], told["late"], told["repeated"]) == ({"3": "no samples"}, [2], 1)
    (effect,) = told["sequential"]["effects"]
    assert (effect["low"], effect["high"]) == (None, -0.4)
    assert [run["run"] for run in told["runs"]] == [1, 2, 4, *range(5, 13)]
    assert told["flagged"] == {"2": ["warm"]}


def test_cells_are_in_the_order_of_their_levels() -> None:
    plan = make_plan([MEMORY, DISKS], seed=9, replicates=2)
    table = cells_table(found(plan, made(plan)), ALL)
    assert [row[:3] for row in table[1:]] == [(m, d, "2") for m in MEMORY.levels for d in DISKS.levels]


def test_results_are_read_from_the_recordings(tmp_path: Path) -> None:
    plan = make_plan([MEMORY, DISKS], seed=9)
    for run in plan.runs:
        record_run(
            tmp_path / str(run.number), {"a": 0.3}, n=20, study={"seed": 8, "design": {"flags": ["x"]}}
        )
    results = results_of(plan, lambda r: tmp_path / str(r.number), lambda r: r.number != 3, 2.0)
    assert [r.run.number for r in results] == [1, 2, 4, 5, 6]
    assert results[0].flags == ("x",)
    assert results[0].seed == 8


@given(st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_a_strong_trend_is_not_steady(seed: int) -> None:
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0, 60, 400))
    seconds = 0.5 * np.exp(random.normal(0, 0.5, 400) + 2.0 * times / 60)
    judged = steadiness(list(seconds), list(times), 60.0)
    assert judged.steady is False
    assert "response changed by +" in judged.words


def test_steady_windows_are_seldom_called_unsteady() -> None:
    random = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        times = random.uniform(0, 60, 300)
        wrong += steadiness(list(np.exp(random.normal(0, 0.7, 300))), list(times), 60.0).steady is False
    assert wrong <= 8  # 1 %, 4 expected at most: more than 8 has a chance below 3 %


def test_what_cannot_be_told_of_a_window() -> None:
    assert steadiness([1.0] * 49, [1.0] * 49, 10.0).steady is None
    gap = steadiness([1.0] * 60, [float(n % 5) for n in range(60)], 10.0)
    assert gap.steady is False
    assert steadiness([1.0] * 100, [n / 10 for n in range(100)], 10.0).steady is True


def series(path: Path, rates: dict[int, float], seed: int = 1) -> Recording:
    """Windows of 30 s with so many interactions per minute at each number of users."""
    describe.create(path, "test")
    random, marks, rows = np.random.default_rng(seed), [], []
    for step, (users, rate) in enumerate(rates.items(), 1):
        begin, end = 100 * step * S, (100 * step + 30) * S
        for event, at in (("window-start", begin), ("window-end", end)):
            marks.append({"event": event, "step": step, "users": users, "time_ns": at, "monotonic_ns": at})
        for at in random.integers(begin, end, random.poisson(rate / 2)):
            when = {"time_ns": int(at), "monotonic_ns": int(at), "step": step, "users": users}
            rows.append({**when, "phase": "window", "outcome": "ok", "response_us": 1000})
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows("event", marks)
        writer.write_rows("transaction", rows)
    return Recording.open(path)


def test_the_peak_and_its_interval(tmp_path: Path) -> None:
    peak = peak_of(series(tmp_path / "r", {4: 200, 8: 400, 12: 900, 16: 880, 20: 500}), None)
    assert peak is not None
    assert peak.users in (12, 16)
    assert (peak.users_low, peak.users_high, peak.reached) == (12, 16, True)
    assert peak.low is not None
    assert peak.high is not None
    assert peak.low < 900 < peak.high
    assert "12 to 16 cannot be told from it" in peak.words


def test_a_series_that_ends_too_early_says_so(tmp_path: Path) -> None:
    peak = peak_of(series(tmp_path / "r", {4: 200, 8: 400, 12: 900}), None)
    assert peak is not None
    assert not peak.reached
    assert "more users might bring more" in peak.words
    assert peak_of(series(tmp_path / "one", {4: 200}), None) is None


@pytest.mark.slow
def test_the_interval_of_the_peak_holds_it() -> None:
    """Of flat tops too, where the greatest of several windows is greater than any by chance."""
    from tempfile import TemporaryDirectory

    hit = 0
    for seed in range(60):
        with TemporaryDirectory() as directory:
            peak = peak_of(series(Path(directory) / "r", {4: 300, 8: 600, 12: 600, 16: 600}, seed), None)
        assert peak is not None
        assert peak.low is not None
        assert peak.high is not None
        hit += peak.low <= 600 <= peak.high
    assert hit >= 50


def test_waiting_for_a_steady_window_is_more_steps_of_the_same() -> None:
    load = Load(
        users=[5], ramp_seconds=1, warmup_seconds=4, window_seconds=5, steady="wait", steady_limit_seconds=25
    )
    assert steps_of(load) == [5] * 4
    assert steps_of(Load(users=[1, 2])) == [1, 2]
