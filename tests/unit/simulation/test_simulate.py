"""Points, precision, the grid, the command: on the false machine."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.cli import run
from satline.errors import InputError
from satline.simulation import MEASURES, Goal, Program, simulate
from satline.simulation._grid import combinations, parse_set, parse_users, parse_vary
from satline.simulation._measures import MADE_HERE, in_batches, mean_after, names_of

Captured = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("program")
def test_points_have_intervals_that_hold_the_truth(machine: Path, workload: Path) -> None:
    found = simulate(machine, workload, users=[5, 20], replications=8, seconds=1800)
    light, heavy = found.points
    assert [point.label["users"] for point in found.points] == ["5", "20"]
    for point, rate, response in ((light, 0.25, 1.0), (heavy, 0.5, 21.0)):
        assert point.warmup.valid
        assert point.warmup.seconds >= 10 * 3.6  # 0.9^sample: half gone after 7 samples of 3.6 s
        for name, truth in (("throughput_per_s", rate), ("response_s", response)):
            estimate = point.estimate(name)
            assert (estimate.n, estimate.method) == (8, "replications")
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low - 0.01 * truth <= truth <= estimate.high + 0.01 * truth
    assert found.unverified == ("devices.drum.rotation_ms",)
    assert found.not_modelled == ("locks",)
    waiting = heavy.estimate("waiting_s")
    eligible, rate_found = heavy.estimate("eligible").value, heavy.estimate("throughput_per_s").value
    assert waiting.value == pytest.approx(eligible / rate_found, rel=1e-3)  # type: ignore[operator]


@pytest.mark.usefixtures("program")
def test_one_replication_has_batch_means(machine: Path, workload: Path) -> None:
    (point,) = simulate(machine, workload, users=[10], replications=1, seconds=3600).points
    estimate = point.estimate("problem_fraction")
    assert estimate.method == "batch means"
    assert estimate.half_width is not None
    assert estimate.value == pytest.approx(1.0, abs=0.02)
    assert point.estimate("nothing_of_the_kind").value is None


@pytest.mark.usefixtures("program")
def test_a_run_too_short_to_settle_is_marked(machine: Path, workload: Path) -> None:
    (point,) = simulate(machine, workload, users=[10], replications=3, seconds=30).points
    assert not point.warmup.valid
    assert "run longer" in point.warmup.words
    (given_,) = simulate(machine, workload, users=[10], replications=3, seconds=30, warmup_seconds=7).points
    assert given_.warmup.valid
    assert given_.warmup.seconds == 10.0  # whole batches


@pytest.mark.usefixtures("program")
def test_common_random_numbers_make_a_small_difference_sure(machine: Path, workload: Path) -> None:
    found = simulate(
        machine, workload, users=[20], replications=6, seconds=1800, vary={"processors.speed": [1, 1.01]}
    )
    slow, fast = found.points
    difference = slow.difference(fast, "throughput_per_s")
    assert difference.sure
    assert difference.relative == pytest.approx(0.01, rel=0.05)
    assert difference.variance_reduction is not None
    assert difference.variance_reduction > 0.99
    alone = slow.estimate("throughput_per_s").half_width
    assert alone is not None
    assert alone > 10 * difference.difference.half_width  # type: ignore[operator]


@pytest.mark.usefixtures("program")
def test_it_runs_until_it_is_precise_enough_and_no_longer(machine: Path, workload: Path) -> None:
    def made(workers: int, most: int, precision: str) -> list[int]:
        done = simulate(
            machine,
            workload,
            users=[10, 20],
            replications=2,
            seconds=600,
            until=[Goal.parse(precision)],
            most=most,
            workers=workers,
        )
        for number, point in enumerate(done.points):
            estimate = point.estimate("throughput_per_s")
            reached = done and all(number != missed for missed, _ in done.unreached)
            assert reached == Goal.parse(precision).reached(estimate)
        return [len(point.results) for point in done.points]

    assert made(2, 50, "throughput_per_s:50%") == [5, 5]
    counts = made(1, 50, "throughput_per_s:0.3%")
    assert all(5 < count < 50 for count in counts)
    assert made(3, 50, "throughput_per_s:0.3%") == counts
    assert made(2, 6, "throughput_per_s:0.0001%") == [6, 6]


def test_batches_lose_nothing_of_a_weighted_mean() -> None:
    series = {
        "throughput_per_s": [1.0, 0.0, 3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 5.0],
        "response_s": [4.0, None, 2.0, 1.0, 3.0, 7.0, None, None, None, 1.0, 2.0],
        "mpl": [float(n) for n in range(11)],
    }
    batched = in_batches(series)
    assert batched["mpl"] == [3.0, 8.0]  # the first of eleven is left out
    pairs = [(w, x) for w, x in zip(series["throughput_per_s"], series["response_s"], strict=True)][1:]
    whole = sum(w * x for w, x in pairs if w and x) / sum(w for w, _ in pairs if w)
    assert mean_after(batched, "response_s", 0) == pytest.approx(whole, rel=1e-6)
    assert mean_after(batched, "response_s", 2) is None
    assert mean_after(batched, "running_s", 0) == pytest.approx(55 / sum(w for w, _ in pairs if w), rel=1e-6)
    assert mean_after(batched, "cpu_fraction", 0) is None
    assert names_of([batched]) == ["throughput_per_s", "response_s", "mpl", "running_s"]
    assert in_batches({"mpl": [1.0] * 4}) == {"mpl": []}


@given(st.sets(st.integers(1, 5000), min_size=1, max_size=20))
def test_users_are_what_was_written(numbers: set[int]) -> None:
    assert parse_users(",".join(str(n) for n in numbers)) == tuple(sorted(numbers))


def test_ranges_and_what_is_none() -> None:
    assert parse_users("4,8..20/4,8") == (4, 8, 12, 16, 20)
    assert parse_vary("a.b=1..3,x") == ("a.b", ("1", "2", "3", "x"))
    assert parse_set("a.b=c=d") == ("a.b", "c=d")
    assert combinations({"a": ["1", "2"], "b": ["3"]}) == [(("a", "1"), ("b", "3")), (("a", "2"), ("b", "3"))]
    for wrong in ("", "0", "4..2", "1..9/0", "x", "1e9", "-3", "1,,2"):
        with pytest.raises(InputError, match="--users"):
            parse_users(wrong)
    for wrong in ("a", "=1", "a="):
        with pytest.raises(InputError, match="--vary"):
            parse_vary(wrong)
    for wrong in ("response_s", "response_s:0%", "response_s:x", "respons:5%", ":5%", "mpl:nan", "mpl:inf"):
        with pytest.raises(InputError, match="--until"):
            Goal.parse(wrong)
    with pytest.raises(InputError, match="combinations"):
        combinations({"a": ["1"] * 200, "b": ["1"] * 200})


@pytest.mark.usefixtures("program")
def test_the_command_prints_a_table_of_eighty_columns(
    machine: Path, workload: Path, capsys: Captured
) -> None:
    assert run(["simulate", str(machine), str(workload), "--users", "5,20", "--seconds", "1800"]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "±" in shown
    assert "over 5 replications" in shown
    assert "MSER-5" in shown
    assert "1 figures without a known source" in shown
    light = next(line for line in shown.splitlines() if line.startswith("5 "))
    assert float(light.split()[1]) == pytest.approx(0.25, rel=0.01)


@pytest.mark.usefixtures("program")
def test_json_has_every_measure_with_its_interval(machine: Path, workload: Path, capsys: Captured) -> None:
    words = ["--users", "5", "--seconds", "600", "--vary", "processors.speed=1,2", "--differences", "--json"]
    assert run(["simulate", str(machine), str(workload), *words]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [point["label"] for point in content["points"]] == [
        {"processors.speed": "1", "users": "5"},
        {"processors.speed": "2", "users": "5"},
    ]
    measure = content["points"][0]["measures"]["response_s"]
    assert measure["low"] < measure["value"] < measure["high"]
    assert content["differences"][0]["measures"]["response_s"]["relative"] == pytest.approx(-0.5, abs=0.01)
    assert not any(math.isnan(m["value"]) for p in content["points"] for m in p["measures"].values())


@pytest.mark.usefixtures("program")
def test_a_recorded_run_tells_its_steps(
    tmp_path: Path, machine: Path, workload: Path, capsys: Captured
) -> None:
    recording = tmp_path / "try.satline"
    words = ["--users", "5,20", "--record", str(recording)]
    assert run(["simulate", str(machine), str(workload), *words]) == 0
    shown = capsys.readouterr().out
    assert recording.is_dir()
    assert "satline diagnose" in shown
    assert "1.5" in shown


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["nothing", "{workload}"], "no machine file nothing", "--list"),
        (["{machine}"], "study", ""),
        (["{machine}", "{workload}", "--set", "processors.sped=2"], "no such key", "did you mean"),
        (["{machine}", "{workload}", "--set", "x"], "--set", "write --set"),
        (["{machine}", "{workload}", "--users", "x"], "--users", "ranges"),
        (["{machine}", "{workload}", "--measures", "respons_s"], "no measure", "response_s"),
        (["{machine}", "{workload}", "--differences"], "without --vary", "--vary"),
        (["{machine}", "{workload}", "--schedule"], "without --record", "--record"),
        (["{machine}", "{workload}", "--sample-seconds", "5"], "without --record", "--record"),
        (["{machine}", "{workload}", "--page", "x.md"], "--markdown without a study", "name one"),
        (
            ["{machine}", "{workload}", "--record", "x", "--sample-seconds", "900"],
            "longer than 600 s",
            "several",
        ),
        (["{machine}", "{workload}", "--record", "x", "--vary", "a=1"], "--record with --vary", ""),
        (["{machine}", "{workload}", "--warmup", "9999"], "warm-up", "leave something"),
        (["a", "b", "c"], "name a machine", "--help"),
        ([], "name a machine", "--help"),
    ],
)
def test_wrong_input_ends_with_a_remedy(
    machine: Path, workload: Path, capsys: Captured, words: list[str], message: str, hint: str
) -> None:
    filled = [word.format(machine=machine, workload=workload) for word in words]
    assert run(["simulate", *filled]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "hint:" in said
    assert hint in said


@pytest.mark.usefixtures("program")
def test_explain_passes_the_machine_on_made_visible(machine: Path, workload: Path, capsys: Captured) -> None:
    assert run(["simulate", str(machine), str(workload), "--explain"]) == 0
    assert capsys.readouterr().out == "explained: drum.toml load.toml\\x1b[31m\n"


def test_list_names_what_is_shipped(capsys: Captured) -> None:
    assert run(["simulate", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "studies:" in shown
    assert "ideal-mpl" in shown
    assert run(["simulate", "--list", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["studies"]]
    assert "drum-overflow" in names


def test_every_measure_that_another_rests_on_is_one() -> None:
    for measure in MEASURES.values():
        for other in (measure.weight, measure.over, *measure.parts):
            assert not other or other in MEASURES or other in MADE_HERE


def test_the_program_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("SATLINE_BIN_DIR", str(tmp_path))
    (tmp_path / "a.toml").write_text("")
    assert run(["simulate", str(tmp_path / "a.toml"), str(tmp_path / "a.toml"), "--users", "3"]) == 1
    assert "satline-machine is not in" in capsys.readouterr().err


def test_the_false_program_is_asked_its_version(program: Program) -> None:
    assert program.identity["version"] == "satline-machine 0.0.0-false"
    assert len(program.identity["digest"]) == 64
