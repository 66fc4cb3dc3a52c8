"""Adaptive steps, driven on a scripted emulator and a recording that grows with it; no real time passes."""

import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from satline.cli import run
from satline.errors import InputError
from satline.experiment.adaptive import trail_of
from satline.experiment.adaptive.driver import Adaptive, Outlook
from satline.experiment.adaptive.plan import SearchPlan, StepTimes, has_room, usual_most
from satline.experiment.adaptive.resume import check_resumable, earlier_runs, go_on
from satline.experiment.adaptive.targets import parse_target, parse_time
from satline.experiment.emulator import Progress, StepLine, command_line
from satline.experiment.study import Load, Study, read_study, with_steps
from satline.present.progress import LiveView, PlainView
from satline.present.search import decision_lines, live_lines, path_lines
from satline.recording import Recording, RecordingWriter, describe
from satline.systems import Conditions, Limits
from satline.windows import measured

pytestmark = pytest.mark.slow

S = 1_000_000_000
KNEE = 8
STUDY = 'title = "t"\nworkload = "compute"\n[load]\n'


class Host:
    """An emulator and a monitor that write what a host with a knee at 8 users would give."""

    def __init__(self, recording: Path, seed: int = 1) -> None:
        self.now = 0.0
        self.recording = recording
        self.told: list[str] = []
        self.steps: list[StepLine] = []
        self._random = np.random.default_rng(seed)
        self._read = 0.0
        self._terminal = RecordingWriter(recording, "terminal")
        self._monitor = RecordingWriter(recording, "monitor")

    def clock(self) -> float:
        return self.now

    def tell(self, line: str) -> None:
        self.told.append(line)

    def close(self) -> None:
        self._terminal.close()
        self._monitor.close()

    def event(self, event: str, step: int, users: int) -> None:
        at = int((1000 + self.now) * S)
        row = {"source": "terminal", "event": event, "step": step, "users": users}
        self._terminal.write_rows("event", [{**row, "time_ns": at, "monotonic_ns": at}])

    def run(self, step: StepLine, *, part: float = 1.0) -> None:
        """A step, its window as far as `part` of it."""
        self.steps.append(step)
        number = len(self.steps)
        self.event("step", number, step.users)
        self.now += step.ramp_s + step.warmup_s
        self.event("window-start", number, step.users)
        began, length = self.now, step.window_s * part
        rate = min(step.users, KNEE) * 1.0
        rows = []
        for at in np.sort(self._random.uniform(0, length, self._random.poisson(rate * length))):
            when = int((1000 + began + at) * S)
            response = 0.1 if step.users <= KNEE else step.users / KNEE - 0.9
            rows.append(
                {
                    "time_ns": when,
                    "monotonic_ns": when,
                    "user": "u",
                    "class": "a",
                    "step": number,
                    "users": step.users,
                    "phase": "window",
                    "outcome": "ok",
                    "think_us": 900_000,
                    "reaction_us": int(response * 1e6),
                    "response_us": int(response * 1e6),
                }
            )
        self._terminal.write_rows("transaction", rows)
        self.now = began + length
        moments = np.arange(np.ceil(self._read * 2) / 2, self.now + 1e-9, 0.5)
        self._monitor.write_rows(
            "system",
            [{"time_ns": (at := int((1000 + t) * S)), "monotonic_ns": at} for t in moments],
        )
        self._read = float(moments[-1]) + 0.5
        if part == 1.0:
            self.event("window-end", number, step.users)
            self.event("hold", number, step.users)

    def progress(self, phase: str) -> Progress:
        return Progress(step=len(self.steps), users=self.steps[-1].users, phase=phase)


def new_recording(path: Path, study: Study, plan: SearchPlan) -> None:
    described = {
        "name": study.name,
        "search": plan.as_toml(),
        "source": study.text,
        "workload": study.workload_text,
    }
    describe.create(path, "satline study", system_under_test={"kind": "this-host"}, study=described)


def a_study(
    tmp_path: Path, load: str = 'steps = "adaptive"\nmost_users = 40\nwindow_seconds = 10\n'
) -> Study:
    path = tmp_path / "s.toml"
    path.write_text(STUDY + load)
    return read_study(path)


def driven(host: Host, plan: SearchPlan, most: int = 40, **earlier: object) -> tuple[Adaptive, list[Outlook]]:
    """A search run to its end, or over so many steps; the emulator holds after each."""
    seen: list[Outlook] = []
    driver = Adaptive(
        plan,
        StepTimes(1.0, 2.0, 1.0),
        host.recording,
        seen.append,
        clock=host.clock,
        ahead=False,
        **earlier,  # type: ignore[arg-type]
    )
    step = driver.first()
    driver.begin()
    for _ in range(most):
        if step is None:
            break
        host.run(step)
        driver.follow(host.progress("window"), host)
        driver.follow(host.progress("hold"), host)
        step = driver._next
    return driver, seen


@pytest.mark.slow
def test_a_search_finds_the_knee_and_ends_by_itself(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)
    _, seen = driven(host, plan)
    host.close()
    assert host.told[-1] == "end"
    assert len(host.told) == len(host.steps)  # the first step comes with the emulator's command
    assert seen[-1].decision.users is None
    assert all(step.users <= 40 for step in host.steps)
    knee = seen[-1].decision.estimates[0]
    assert knee.low < KNEE * 1.1
    assert knee.high > KNEE * 0.9
    assert knee.high < 2.5 * KNEE
    assert host.now <= plan.seconds + 40


def test_the_path_is_in_the_recording_and_can_be_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)
    _, seen = driven(host, plan, most=4)
    host.close()
    trail = trail_of(Recording.open(path).description, path)
    assert [one.get("users") for one in trail.decisions] == [o.decision.users for o in seen]
    assert trail.search["most_users"] == 40
    connection = Recording.open(path).connect(tables=["event"])
    rows = connection.execute(
        "SELECT users, text FROM event WHERE event = 'decision' ORDER BY run"
    ).fetchall()
    assert rows == [(o.decision.users, o.decision.why) for o in seen]
    lines = path_lines(trail.search, trail.decisions)
    assert all(len(line) <= 80 for line in lines)
    assert run(["study", "--explain", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert run(["study", "--explain", str(path), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [one.get("users") for one in plain["decisions"]] == [o.decision.users for o in seen]


def test_a_search_goes_on_with_what_was_measured(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)
    driven(host, plan, most=3)
    host.close()
    before = len(trail_of(Recording.open(path).description, path).decisions)
    describe.end(path, "interrupted")

    check_resumable(path, study)
    go_on(path, {"kind": "this-host"}, plan.as_toml())
    assert "ended" not in Recording.open(path).description["recording"]
    earlier = earlier_runs(path)
    assert earlier["runs"] == 1
    later = Host(path, seed=2)
    later.now = later._read = host.now + 5
    _, seen = driven(later, plan, most=2, **earlier)
    later.close()
    # The light loads are known: it does not begin with them again.
    assert len(seen[0].measured.windows) == 3
    assert seen[0].decision.elapsed_s == pytest.approx(earlier["before_s"])
    assert len(seen[-1].measured.windows) == 5
    assert [w.begin_s for w in seen[-1].measured.windows] == sorted(
        w.begin_s for w in seen[-1].measured.windows
    )
    assert len(trail_of(Recording.open(path).description, path).decisions) == before + len(seen)


def test_a_look_that_fails_costs_a_step_and_not_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)
    looks, look = [0], Adaptive._look

    def failing(self: Adaptive) -> object:
        looks[0] += 1
        if looks[0] in (2, 5, 6):
            raise ValueError("a torn file")
        return look(self)

    monkeypatch.setattr(Adaptive, "_look", failing)
    driver, seen = driven(host, plan, most=9)
    host.close()
    assert driver.failures == ["ValueError: a torn file"] * 3
    # the step of the second window is run again, without a ramp
    assert (host.steps[2].users, host.steps[2].ramp_s) == (host.steps[1].users, 0)
    assert len(seen[-1].measured.windows) == 9
    assert len(host.told) == 9


def test_looks_that_fail_again_and_again_end_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)

    def failing(_: Adaptive) -> object:
        raise ValueError("a torn file")

    monkeypatch.setattr(Adaptive, "_look", failing)
    with pytest.raises(ValueError, match="a torn file"):
        driven(host, plan)
    assert len(host.steps) == 3
    host.close()


def test_only_its_own_recording_can_be_resumed(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    changed = a_study(tmp_path, 'steps = "adaptive"\nmost_users = 41\n')
    with pytest.raises(InputError, match="another study"):
        check_resumable(path, changed)
    with pytest.raises(InputError, match="conditions were others: limits"):
        go_on(path, {"kind": "this-host", "limits": {"processors": 1}}, plan.as_toml())
    describe.update(path, {"host": {"boot_id": "an earlier one"}})
    with pytest.raises(InputError, match="before this one was booted"):
        check_resumable(path, study)


def test_the_next_step_may_be_told_before_a_window_ends(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host, seen = Host(path), []
    driver = Adaptive(plan, StepTimes(1.0, 2.0, 1.0), path, seen.append, clock=host.clock)
    step = driver.first()
    assert step is not None
    driver.begin()
    driver.follow(Progress(step=1, users=step.users, phase="window"), host)
    assert host.told == []
    host.run(step, part=0.9)
    driver.follow(host.progress("window"), host)
    assert len(host.told) == 1
    (window,) = seen[-1].measured.windows
    assert 0.5 * step.window_s < window.seconds <= 0.9 * step.window_s + 0.5
    driver.follow(host.progress("window"), host)
    driver.follow(host.progress("hold"), host)
    assert len(host.told) == 1  # once for each step
    host.close()


def test_a_window_that_a_kill_cut_short_is_none(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    new_recording(path, study, SearchPlan.of(study.file.load, study.limits()))
    host = Host(path)
    host.run(StepLine(2, 1, 2, 10))
    host.run(StepLine(4, 1, 2, 10), part=0.5)
    host.run(StepLine(6, 1, 2, 10))
    host.close()
    windows = measured(Recording.open(path)).windows
    assert [w.users for w in windows] == [2, 6]
    assert windows[0].waiting == pytest.approx(0.0)
    assert windows[0].taken is None


def test_a_window_in_which_somebody_lingers_counts_less(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    new_recording(path, study, SearchPlan.of(study.file.load, study.limits()))
    host = Host(path)
    host.run(StepLine(9, 1, 2, 10))
    at = int((1000 + host.now - 0.1) * S)
    row = {"user": "user-009", "class": "a", "step": 1, "users": 9, "phase": "window", "outcome": "ok"}
    late = {**row, "time_ns": at, "monotonic_ns": at, "response_us": 5_000_000}
    host._terminal.write_rows("transaction", [late])
    host.run(StepLine(2, 1, 2, 10))
    host.run(StepLine(2, 0, 0, 10))
    host.close()
    assert [w.settled for w in measured(Recording.open(path)).windows] == [True, False, True]


def test_who_leaves_without_an_answer_counts_as_one_who_never_got_it(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    new_recording(path, study, SearchPlan.of(study.file.load, study.limits()))
    host = Host(path)
    host.run(StepLine(9, 1, 2, 10))
    before = measured(Recording.open(path)).windows[0].reactions_s
    row = {"class": "a", "step": 1, "users": 9, "phase": "window", "outcome": "cut"}
    for user, ago_s in (("user-008", 9.0), ("user-009", 0.01)):
        at = int((1000 + host.now - ago_s) * S)
        host._terminal.write_rows("transaction", [{**row, "user": user, "time_ns": at, "monotonic_ns": at}])
    host.close()
    (window,) = measured(Recording.open(path)).windows
    assert len(window.reactions_s) == len(before) + 1, "the line of a moment ago tells nothing"
    assert sum(s == float("inf") for s in window.reactions_s) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("knee", "users at which throughput bends"),
        ("90% within 2s", "most users of whom 90% of reactions come within 2 s"),
        ("99.5 % of reactions within 500ms", "most users of whom 100% of reactions come within 0.5 s"),
        ("300 per minute", "fewest users who complete 5 per second"),
        ("headroom over 20 users", "times the 20 users of today at which throughput bends"),
    ],
)
def test_targets_are_written_as_people_do(text: str, words: str) -> None:
    assert parse_target(text).words == words


@pytest.mark.parametrize(
    "text", ["", "fast", "0% within 2s", "100% within 2s", "0 per minute", "90% within 2"]
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        parse_target(text)


def test_times_have_units() -> None:
    assert [parse_time(text) for text in ("90", "90s", "5min", "5 m", "1h")] == [90, 90, 300, 300, 3600]
    with pytest.raises(ValueError, match="no length of time"):
        parse_time("soon")


def test_the_most_users_follow_from_the_limits() -> None:
    assert usual_most(Limits(), processors=64, memory_bytes=256 << 30) == 4000
    assert usual_most(Limits(), processors=2, memory_bytes=8 << 30) == 128
    assert usual_most(Limits(cpu_quota_processors=0.5), processors=2, memory_bytes=8 << 30) == 32
    assert usual_most(Limits(processors=1, memory_bytes=160_000_000), processors=2) == 20
    assert usual_most(Limits(memory_bytes=16_000_000), processors=2) == 8


def test_it_looks_ahead_where_there_is_room() -> None:
    assert has_room(Limits(cpu_quota_processors=0.5), 2)
    assert has_room(Limits(processors=1), 2)
    assert not has_room(Limits(cpu_quota_processors=0.5), 1)
    assert not has_room(Limits(), 2)
    assert has_room(Limits(), 8)


def test_a_ramp_is_as_long_as_many_change() -> None:
    times = StepTimes(3.0, 4.0, 1.0)
    assert times.overhead(8, 8) == 0
    assert times.overhead(None, 1) == 0.5 + 4
    assert times.overhead(10, 20) == 3 + 4
    assert times.warmup(60, 2) == 4
    assert StepTimes(3.0, 4.0, 64.0).ramp(1000, 1640) == 3


def test_the_emulator_is_told_its_first_step(tmp_path: Path) -> None:
    conditions = Conditions(tmp_path / "data", tmp_path / "users", tmp_path / "users.tsv")
    first = StepLine(1, 0.5, 4, 10)
    made = command_line(Path("t"), Path("w"), Path("r"), Load(), conditions, first=first, most=40)
    said = dict(pairwise(made))
    assert [said[k] for k in ("--steps", "--max-users", "--ramp", "--window")] == [
        "1",
        "40",
        "500ms",
        "10000ms",
    ]
    assert made[-1] == "--follow"


@pytest.mark.parametrize(
    ("load", "error"),
    [
        ('steps = "grid"\n', "needs the users of each step"),
        ('until = "peak"\n', 'until = "peak" is of steps that are stated'),
        ('steady = "wait"\n', 'steady = "wait" is of steps that are stated'),
        ("most_users = 2\nleast_users = 3\n", "most_users: 2, but least_users is 3"),
        ('targets = ["fast"]\n', "is no target"),
        ('within = "-3%"\n', "within"),
    ],
)
def test_a_load_that_cannot_be_is_told(tmp_path: Path, load: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        a_study(tmp_path, load)


def test_options_make_a_stated_series_a_search_and_back(tmp_path: Path) -> None:
    stated = a_study(tmp_path, "users = [1, 4, 9]\n")
    assert not stated.file.load.adaptive
    assert with_steps(stated, within=0.1).file.load.adaptive
    assert with_steps(stated, within=0.1).file.load.most == 9
    both = a_study(tmp_path, 'steps = "adaptive"\nusers = [1, 4, 9]\nwithin = "10%"\n')
    assert both.file.load.adaptive
    assert both.file.load.within == 0.1
    assert not with_steps(both, grid=True).file.load.adaptive
    with pytest.raises(InputError, match="of a search"):
        with_steps(both, grid=True, most=3)
    with pytest.raises(InputError, match="states no steps"):
        with_steps(a_study(tmp_path, ""), grid=True)
    with pytest.raises(InputError, match='until = "peak"'):
        with_steps(a_study(tmp_path, 'users = [1, 2]\nuntil = "peak"\n'), seconds=60)


def test_what_is_known_is_shown_in_80_columns(tmp_path: Path) -> None:
    study, path = a_study(tmp_path), tmp_path / "r.satline"
    plan = SearchPlan.of(study.file.load, study.limits())
    new_recording(path, study, plan)
    host = Host(path)
    _, seen = driven(host, plan, most=6)
    host.close()
    for outlook in seen:
        assert all(len(line) <= 80 for line in live_lines(outlook))
    last = seen[-1]
    drawn = live_lines(last)
    assert sum(line.count("o") for line in drawn[1:8]) == len({w.users for w in last.measured.windows})
    assert any(line.startswith("known so far: knee") for line in decision_lines(last))
    plain = Console(file=io.StringIO(), width=200)
    PlainView(plain).decided(last)
    assert "next: " in plain.file.getvalue()  # type: ignore[attr-defined]
    live = Console(file=io.StringIO(), width=80, force_terminal=True)
    with LiveView(live) as view:
        view.decided(last)
    assert "next: " in live.file.getvalue()  # type: ignore[attr-defined]


def test_a_path_from_elsewhere_is_data() -> None:
    hostile = {"users": "\x1b[31m", "why": "\x1b]0;x\x07", "estimates": 3, "candidates": [{"users": None}, 7]}
    lines = path_lines({"targets": 1, "within": "x"}, [hostile])
    assert any("\x1b" in line for line in lines)  # escaped by the command, as all names are
    with pytest.raises(InputError, match="not chosen by a search"):
        trail_of({"study": {}}, Path("r"))
    with pytest.raises(InputError, match="no list of sections"):
        trail_of({"study": {"search": {"decision": "x"}}}, Path("r"))
