"""Probes are cited for and against what a finding names; no finding holds, or holds more surely, by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from made_live_host import MadeHost, MadeUser
from made_recording import at
from made_study import Made

from satline.diagnosis import Diagnosis, Evidence, Finding, diagnose
from satline.present._words import alarm_lines
from satline.present.terminal import evidence_words

pytestmark = pytest.mark.slow

Course = Callable[[float], float]
LIGHT = {f"u{k}": MadeUser(cpu=0.02, delay=0.01) for k in range(3)}


@dataclass
class Trouble:
    """From 120 s to 220 s something is short, and a probe takes `slow` instead of `usual` microseconds."""

    probe: str
    usual: Course | float = 33_000
    slow: Course | float = 33_000
    every: int = 1

    def on(self, t: float) -> bool:
        return 120 <= t < 220

    def taken(self, t: float) -> int:
        taken = self.slow if self.on(t) else self.usual
        return round(taken(t) if callable(taken) else taken)

    def while_on(self, short: float, calm: float = 0.0) -> Course:
        return lambda t: short if self.on(t) else calm

    def recorded(self, host: MadeHost) -> Diagnosis:
        """The diagnosis with the probe's readings."""
        made = host.make()
        made.rows["thermometer"] = [
            {**at(t), "thermometer": self.probe, "elapsed_us": self.taken(t)}
            for t in range(0, host.seconds, self.every)
        ]
        return diagnose(made)

    def cap(self) -> Diagnosis:
        """Four users at the cap on I/O of their group."""
        rates = {
            "reads": self.while_on(30, 1),
            "read_bytes": self.while_on(4 << 20, 1000),
            "writes": 0,
            "write_bytes": 0,
        }
        limit = {"read_limit_bytes_per_second": 4 << 20}
        users = {f"a{k}": MadeUser(group="/mill", cpu=0.01, io=self.while_on(0.8)) for k in range(4)}
        host = MadeHost(
            {**LIGHT, **users},
            0.6,
            counters={"cgroup": {"/mill": rates}},
            levels={"cgroup": {"/mill": limit}},
        )
        return self.recorded(host)

    def hog(self) -> Diagnosis:
        """A user who fills the processors."""
        hog = MadeUser(cpu=self.while_on(1.6, 0.1), delay=self.while_on(4.0), processes=6)
        return self.recorded(MadeHost({**LIGHT, "hog": hog}, self.while_on(2.0, 0.4)))


def found(answer: Diagnosis, rule: str) -> Finding:
    return next(f for f in answer.findings if f.rule == rule)


def cited(finding: Finding) -> list[Evidence]:
    return [e for e in finding.evidence if e.variable.startswith("thermometer:")]


def test_a_probe_that_takes_long_while_io_is_short_is_cited_with_its_time() -> None:
    answer = Trouble("io", slow=1_608_000).cap()
    (fact,) = cited(found(answer, "io_bound"))
    assert fact.supports
    words = evidence_words(fact)
    assert "an I/O probe takes longer than in calm periods, 33 ms" in words
    assert "1.61 s" in words
    assert "slowest at 2023-11-14 22:15:20 UTC" in words


@pytest.mark.parametrize("slow", [1_608_000, 33_000])
def test_a_probe_changes_neither_chance_nor_strength_of_what_it_is_cited_for(slow: float) -> None:
    told, silent = Trouble("io", slow=slow).cap(), Trouble("mixed", slow=slow).cap()
    one, other = found(told, "io_bound"), found(silent, "io_bound")
    assert not cited(other)
    assert (one.chance, one.strength) == (other.chance, other.strength)


def test_what_only_a_probe_shows_makes_no_finding_hold() -> None:
    answer = Trouble("io", slow=1_608_000).recorded(MadeHost(dict(LIGHT)))
    assert not answer.findings, answer.headline
    assert answer.standing is not None
    assert [one.component for one in answer.standing.likely] == ["io"]
    assert answer.standing.likely[0].chance < 0.8


def test_a_probe_makes_nothing_very_likely_beside_a_short_wait_for_something_else() -> None:
    """What confirms that a lock was waited for does not confirm what a probe shows."""
    waits = {"wait_us": lambda t: 2e6 if t < 25 else 0.0, "hold_us": lambda t: 0.9e6 if t < 25 else 0.0}
    slow = {"io": {"elapsed_us": lambda t: 1_608_000 if 180 <= t < 540 else 33_000}}
    host = MadeHost(
        dict(LIGHT),
        seconds=600,
        counters={"lock": {"flock /srv/ledger.db": waits}},
        levels={"thermometer": slow},
    )
    answer = diagnose(host.make())
    assert answer.standing is not None
    chances = {one.component: one.chance for one in answer.standing.likely}
    assert set(chances) == {"io", "lock"}
    assert 0.3 <= chances["io"] < 0.8


@pytest.mark.parametrize("probe", ["compute", "trivial"])
def test_a_probe_that_is_as_quick_as_ever_speaks_against_and_fails_nothing(probe: str) -> None:
    finding = found(Trouble(probe, usual=100_000, slow=105_000).hog(), "cpu_bound")
    (fact,) = cited(finding)
    assert not fact.supports
    assert "takes longer than in calm periods, 100 ms" in evidence_words(fact)
    assert finding.chance == found(Trouble("mixed").hog(), "cpu_bound").chance


def _bursts(t: float) -> float:
    return 900_000 if t % 60 < 20 else 100_000


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble("compute", usual=100_000, slow=130_000),
        Trouble("compute", usual=100_000, slow=_bursts),
        Trouble(
            "compute", usual=lambda t: 50_000 + 5_000 * (t % 40), slow=lambda t: 80_000 + 8_000 * (t % 40)
        ),
        Trouble("compute", usual=400, slow=1600),
        Trouble("compute", usual=100_000, slow=400_000, every=40),
        Trouble("io", usual=100_000, slow=400_000),
        Trouble("mixed", usual=100_000, slow=400_000),
    ],
    ids=["a little", "in bursts", "scatter", "trifle", "seldom", "waits for the CPU", "of everything"],
)
def test_what_a_probe_does_not_tell_is_not_cited(trouble: Trouble) -> None:
    assert not cited(found(trouble.hog(), "cpu_bound"))


def test_a_probe_outside_of_a_group_says_nothing_against_its_limit() -> None:
    """No recording says in which group its probes ran."""
    assert not cited(found(Trouble("io").cap(), "io_bound"))


@pytest.mark.parametrize(
    ("factor", "study", "supports"), [(5, False, True), (1, True, False), (1, False, None)]
)
def test_probes_are_cited_at_loads_beyond_saturation_too(
    factor: int, study: bool, supports: bool | None
) -> None:
    made = Made(think=1.0, cpu=0.02, station=0.1, kind="io")
    recording = made.make()
    length = (made.warmup + made.window) * len(made.levels)
    heavy = 0.6 * length
    recording.rows["thermometer"] = [
        {**at(t), "thermometer": "io", "elapsed_us": 33_000 * (factor if t >= heavy else 1)}
        for t in range(1, int(length), 2)
    ]
    if study:
        recording.description["study"] = {"title": "made"}
    answer = diagnose(recording)
    assert answer.saturation.outcome == "saturated"
    facts = cited(found(answer, "io_bound"))
    assert [fact.supports for fact in facts] == ([] if supports is None else [supports])
    for fact in facts:
        assert "takes longer than at " in evidence_words(fact)


def test_alarms_say_when_a_probe_was_slow_and_how_slow() -> None:
    answer = Trouble("io", slow=1_608_000).recorded(MadeHost(dict(LIGHT)))
    (alarm,) = answer.alarms
    assert (alarm.probe, alarm.clock, alarm.usual_us) == ("io", True, 33_000)
    assert alarm.took_us == alarm.slowest_us == 1_608_000
    assert 1_700_000_110 <= alarm.begins_s <= 1_700_000_130, "to an observation of 10 s"
    assert 1_700_000_210 <= alarm.ends_s <= 1_700_000_230
    (line,) = alarm_lines(answer.alarms)
    assert line.startswith("2023-11-14 22:15:")
    assert "I/O took 1.61 s (slowest 1.61 s), usually 33 ms" in line


def test_a_probe_of_several_things_alarms_too_and_makes_no_resource_short() -> None:
    answer = Trouble("mixed", slow=1_608_000).recorded(MadeHost(dict(LIGHT)))
    assert [alarm.probe for alarm in answer.alarms] == ["mixed"]
    assert answer.standing is not None
    assert not answer.standing.likely


def test_an_alarm_while_the_processors_are_full_says_so() -> None:
    answer = Trouble("io", slow=200_000).hog()
    (alarm,) = answer.alarms
    assert alarm.processors_full > 0.9
    assert alarm_lines(answer.alarms)[0].endswith("which alone delays it")


def test_two_slow_runs_are_no_alarm() -> None:
    brief = Trouble("io", usual=lambda t: 900_000 if 50 <= t < 52 else 33_000)
    assert brief.recorded(MadeHost(dict(LIGHT))).alarms == ()


def test_of_many_alarms_the_longest_are_told_and_the_others_counted() -> None:
    taken = lambda t: 900_000 if t % 150 >= 90 else 33_000  # noqa: E731
    answer = Trouble("io", usual=taken, slow=taken).recorded(MadeHost(dict(LIGHT), seconds=600))
    assert len(answer.alarms) == 4
    lines = alarm_lines(answer.alarms, 2)
    assert len(lines) == 3
    assert lines[-1] == f"and {len(answer.alarms) - 2} shorter ones"
