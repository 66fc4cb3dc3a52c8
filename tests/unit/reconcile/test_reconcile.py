"""Several answers of one recording: one story, or the reason that holds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.diagnosis import RULES, Diagnosis, Estimate, Finding, Saturation
from satline.diagnosis.capacity import Capacity, Step
from satline.prediction import Prediction, Row, Scenario, StationDemand
from satline.present import documents
from satline.reconcile import Allowed, Answers, Story, planted, reconcile, weakened
from satline.reconcile._reasons import _part, _pressure

COMPONENTS = {rule.name: rule.component for rule, _ in RULES}


def users(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, "users")


def found(rule: str, chance: float | None = None) -> Finding:
    title = rule.replace("_", " ")
    gain = None if chance is None else ("storage", 0.3, 0.1)
    return Finding(rule, title, COMPONENTS[rule], "holds", 0.6, "", chance=chance, gain=gain)


def diagnosed(
    at: Estimate | None,
    *rules: Finding,
    top: float = 40,
    variable: str = "transaction_rate",
    **changed: object,
) -> Diagnosis:
    outcome = "saturated" if at is not None else "not-saturated"
    verdict = Saturation(outcome, "users", 4, top, variable, at=at)  # type: ignore[arg-type]
    verdict = replace(verdict, **changed)  # type: ignore[arg-type]
    return Diagnosis("made", "", verdict, rules, (), ())


def station(name: str, demand: float = 0.5, page_share: float | None = None) -> StationDemand:
    nothing = Estimate(0, 0, 0, "")
    return StationDemand(name, 1.0, Estimate(demand, demand, demand, "s"), nothing, page_share, None)


def predicted(
    asymptotes: Estimate,
    *stations: StationDemand,
    bend: Estimate | None = None,
    seen: float = 40,
    rows: tuple[Row, ...] = (),
    surely: float = 1.0,
) -> Prediction:
    base = Scenario(
        "as it is",
        tuple(s.name for s in stations),
        asymptotes,
        Estimate(1.5, 1.4, 1.6, "per second"),
        bend or asymptotes,
        stations[0].name,
        surely,
        rows,
    )
    return Prediction(
        "predicted", "made", "users", "transaction", from_low=4, from_high=seen, demands=stations, base=base
    )


def told(answers: Answers, about: str) -> tuple[str, str]:
    relation = next(r for r in reconcile(answers, "diagnose").relations if r.about == about)
    return relation.agreement, relation.reason


EARLY, LATE = users(18.6, 16.2, 21.6), users(26.8, 25.8, 27.8)
CPU = station("processors")


def test_paging_bound_against_processors_first_is_told_by_what_the_model_lacks() -> None:
    answers = Answers(diagnosed(EARLY, found("paging_bound")), predicted(LATE, CPU))
    assert told(answers, "load") == ("different", "no memory in the model")
    assert told(answers, "bottleneck") == ("different", "no memory in the model")
    story = reconcile(answers, "diagnose")
    assert story.agrees is False
    (line,) = story.lines
    assert line.startswith(
        "Differs: satline analyse predict says 26.8 [25.8, 27.8], processors first: it has no memory"
    )
    # The one who reads the prediction is told what was measured, in its headline too.
    other = reconcile(answers, "predict")
    assert other.lines[0].startswith(
        "Differs: satline diagnose says 18.6 [16.2, 21.6], paging bound: the model"
    )
    assert weakened(other).startswith("what was measured shows 18.6 [16.2, 21.6], paging bound")


def test_intervals_that_overlap_are_no_difference_and_weaken_nothing() -> None:
    answers = Answers(diagnosed(EARLY, found("cpu_bound")), predicted(users(20, 19, 21), CPU))
    story = reconcile(answers, "predict")
    assert story.agrees is True
    assert {r.reason for r in story.relations} == {"intervals overlap", "same component"}
    assert story.lines[0].startswith("Agrees: ")
    assert weakened(story) == ""


def test_like_is_held_against_like_the_bend_against_the_bend() -> None:
    answers = Answers(diagnosed(EARLY, found("cpu_bound")), predicted(LATE, CPU, bend=users(20, 19, 21)))
    assert told(answers, "load") == ("same", "intervals overlap")


@pytest.mark.parametrize(
    ("diagnosis", "prediction", "reason"),
    [
        (diagnosed(EARLY), predicted(LATE, CPU, seen=20), "other loads"),
        (diagnosed(EARLY, found("lock_bound")), predicted(LATE, CPU), "no locks in the model"),
        (
            diagnosed(EARLY, found("working_sets_overestimated")),
            predicted(LATE, CPU),
            "no admission in the model",
        ),
        (diagnosed(EARLY, variable="problem_state"), predicted(LATE, CPU), "other work"),
        (diagnosed(EARLY, top=24), predicted(LATE, CPU, seen=24), "extrapolates"),
        (
            diagnosed(EARLY),
            predicted(
                LATE,
                CPU,
                rows=(Row(24, users(1.0, 0.9, 1.05), users(3, 2, 4), (0.9,), users(1.2, 1.1, 1.3)),),
            ),
            "misses measured",
        ),
        (diagnosed(EARLY), predicted(LATE, CPU), "not known"),
    ],
)
def test_a_reason_is_given_only_where_it_holds(
    diagnosis: Diagnosis, prediction: Prediction, reason: str
) -> None:
    answers = Answers(diagnosis, prediction)
    assert told(answers, "load") == ("different", reason)
    if reason == "not known":
        assert "why is not known" in reconcile(answers, "diagnose").lines[0]


@pytest.mark.parametrize(
    ("rule", "stations", "relation"),
    [
        ("paging_overhead", (CPU,), ("same", "same component")),
        ("paging_bound", (station("device:drum", page_share=1.0),), ("same", "same component")),
        ("main_storage_bound", (station("device:drum", page_share=1.0),), ("same", "paging is a demand")),
        ("io_bound", (station("device:pack", page_share=0.0),), ("same", "same component")),
        (
            "paging_bound",
            (station("device:pack", page_share=0.05),),
            ("different", "no memory in the model"),
        ),
        ("io_bound", (CPU, station("device:pack", 0.48, 0.0)), ("different", "nearly as near")),
        ("io_bound", (CPU, station("device:pack", 0.1, 0.0)), ("different", "not known")),
        ("quota_bound", (station("quota"),), ("same", "same component")),
        ("serialised_server", (CPU,), ("different", "no such server in the model")),
        ("serialised_server", (station("server:ledger"),), ("same", "same component")),
    ],
)
def test_stations_stand_for_components(
    rule: str, stations: tuple[StationDemand, ...], relation: tuple[str, str]
) -> None:
    assert told(Answers(diagnosed(EARLY, found(rule)), predicted(EARLY, *stations)), "bottleneck") == relation


def test_a_station_of_which_nothing_is_left_is_no_error() -> None:
    full = replace(station("processors"), background=Estimate(1.0, 1.0, 1.0, "processors"))
    assert _part(_pressure(full), _pressure(station("device:vda"))) == math.inf
    assert _part(_pressure(station("device:vda")), _pressure(full)) == 0.0
    assert _part(_pressure(full), _pressure(full)) == 1.0


def test_who_is_not_sure_is_said() -> None:
    either = predicted(EARLY, CPU, surely=0.6)
    assert (
        told(Answers(diagnosed(EARLY, found("io_bound")), either), "bottleneck")[1] == "predict is not sure"
    )
    # Of rivals that the diagnosis does not decide between, one that is meant suffices.
    rivals = diagnosed(EARLY, found("main_storage_bound", 0.5), found("cpu_bound", 0.4))
    assert told(Answers(rivals, predicted(EARLY, CPU)), "bottleneck")[0] == "same"


def test_saturation_beyond_the_loads_seen_agrees_with_none_in_them() -> None:
    assert told(Answers(diagnosed(None, top=24), predicted(LATE, CPU)), "load")[0] == "same"
    assert told(Answers(diagnosed(None, top=40), predicted(LATE, CPU)), "load")[0] == "different"


def test_where_the_measured_answer_tells_nothing_there_is_nothing_to_compare() -> None:
    blind = diagnosed(None, outcome="partly-known")
    story = reconcile(Answers(blind, predicted(LATE, CPU)), "predict")
    assert story.agrees is None
    assert story.lines == ()
    assert weakened(story) == ""
    assert reconcile(Answers(), "predict").said == ()
    likely = diagnosed(None, outcome="partly-known", bend=EARLY, chance=0.75)
    relation = next(r for r in reconcile(Answers(likely, predicted(LATE, CPU)), "predict").relations)
    assert (relation.agreement, relation.reasons) == ("different", ("diagnose is not sure",))


def carried(value: float | None, low: float | None, high: float | None) -> Capacity:
    steps = tuple(Step(n, 100, 0, 0.5 if value is None else 0.99, None, None, 1.0, 2.0) for n in (4, 40))
    return Capacity("reaction", 2.0, 0.9, value, low, high, (4, 40), True, (), "saturated", steps)


@pytest.mark.parametrize(
    ("capacity", "relation"),
    [
        (carried(17, 15, 18), ("same", "intervals overlap")),
        (carried(30, 28, 33), ("another question", "response limit")),
        (carried(8, 7, 9), ("another question", "response limit")),
        (carried(None, None, None), ("another question", "response limit")),
    ],
)
def test_capacity_is_about_a_response_limit(capacity: Capacity, relation: tuple[str, str]) -> None:
    answers = Answers(diagnosed(EARLY, found("cpu_bound")), capacity=capacity)
    assert told(answers, "load") == relation
    story = reconcile(answers, "capacity")
    assert story.agrees is True
    if relation[0] == "another question":
        assert "capacity asks for how quick responses are" in story.lines[0]


def test_a_plan_asks_for_its_own_condition_and_maybe_on_its_own_axis() -> None:
    plan = Allowed("total_cpu_fraction > 0.9", 0.25, "users", 8.0, 6.0, 10.0)
    assert told(Answers(diagnosed(EARLY), allowed=plan), "load") == ("another question", "own condition")
    inside = replace(plan, load_axis="in_queue")
    story = reconcile(Answers(diagnosed(EARLY), allowed=inside), "plan")
    assert (story.agrees, story.lines) == (None, ())


def test_what_was_planted_is_compared() -> None:
    description = {"truth": {"planted": "paging_bound"}}
    rule = planted(description)
    assert told(Answers(diagnosed(EARLY, found("paging_bound")), planted=rule), "bottleneck")[0] == "same"
    wrong = Answers(diagnosed(EARLY, found("cpu_bound")), planted=rule)
    assert told(wrong, "bottleneck")[0] == "different"
    assert (
        reconcile(wrong, "diagnose").lines[0].startswith("Differs: the recording's description says paging")
    )
    assert planted({"truth": {"planted": "nothing known"}}) is None
    assert planted({"truth": "paging_bound"}) is None
    assert planted({}) is None


SPANS = st.tuples(st.floats(1, 100), st.floats(0, 20), st.floats(0, 20)).map(
    lambda t: users(t[0], t[0] - t[1], t[0] + t[2])
)


@given(SPANS, SPANS)
def test_loads_differ_exactly_where_intervals_are_apart(one: Estimate, other: Estimate) -> None:
    answers = Answers(diagnosed(one), predicted(other, CPU))
    apart = one.high < other.low or other.high < one.low
    assert told(answers, "load")[0] == ("different" if apart else "same")
    # It is one story, whoever tells it.
    stories: list[Story] = [reconcile(answers, teller) for teller in ("diagnose", "predict")]
    assert stories[0].relations == stories[1].relations


def test_what_is_not_known_is_null_in_json() -> None:
    answers = Answers(diagnosed(EARLY), capacity=carried(17, None, 18))
    plain = documents.plain(reconcile(answers, "capacity"))
    said = next(one for one in plain["said"] if one["by"] == "capacity")
    assert said["load"]["low"] is None
    assert said["load"]["high"] == 18
    assert math.isclose(said["load"]["value"], 17)
