"""Predictions by class from recordings of systems whose truth is known exactly."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from mixed_system import Kind, Mixed

from satline.cli import run
from satline.prediction import ByClass, changes, predict
from satline.prediction._accounts import accounts
from satline.recording import Recording
from satline.reduction import Filters, reduce

pytestmark = pytest.mark.slow

ONE_CHAIN = Mixed(
    {"clerk": Kind(1.0, 4.0, {"short": 0.8, "long": 0.2})},
    {"short": 0.05, "long": 0.8},
    levels=(2, 4, 6, 8),
)
TWO_CHAINS = Mixed(
    {"clerk": Kind(0.5, 3.0, {"short": 1.0}), "analyst": Kind(0.5, 8.0, {"short": 0.4, "long": 0.6})},
    {"short": 0.05, "long": 0.7},
    levels=(4, 6, 8, 12),
)


def answer(made: Mixed, seed: int = 1, **asked: object) -> ByClass:
    recording = made.make(seed)
    found = predict(recording, reduce(recording), classes=True, **asked).by_class  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("made", [ONE_CHAIN, TWO_CHAINS], ids=["one chain", "two chains"])
def test_classes_respond_as_the_exact_network_says(made: Mixed) -> None:
    found = answer(made, users=[8, 16])
    assert found.outcome == "predicted"
    assert found.base is not None
    assert found.by_accounts == (True,)
    assert not found.interactive_first
    names = [kind.name for kind in found.classes]
    needs = {kind.name: kind.demand_s[0] for kind in found.classes}
    for name, need in made.cpu_s.items():
        assert needs[name].low * 0.97 <= need <= needs[name].high * 1.03
    for row in found.base.rows:
        rate, response, by_class = made.truth(row.users)
        assert row.method == "exact"
        assert row.total.throughput.value == pytest.approx(rate, rel=0.12)
        assert row.total.response_s.low * 0.9 <= response <= row.total.response_s.high * 1.1
        for name, level in zip(names, row.classes, strict=True):
            assert level.response_s.low * 0.9 <= by_class[name] <= level.response_s.high * 1.1


def test_users_who_change_class_are_one_chain_and_the_others_are_not() -> None:
    (chain,) = answer(ONE_CHAIN, users=[4]).chains
    assert chain.mix == pytest.approx([0.8, 0.2], abs=0.05)
    assert chain.think_s.value == pytest.approx(4.0, rel=0.1)
    clerks, analysts = sorted(answer(TWO_CHAINS, users=[4]).chains, key=lambda c: c.think_s.value)
    assert (clerks.name, analysts.name) == ("clerk", "analyst")
    assert clerks.think_s.value == pytest.approx(3.0, rel=0.1)
    assert analysts.think_s.value == pytest.approx(8.0, rel=0.1)
    # without scripts, users who keep to a class are told by it
    apart = replace(
        TWO_CHAINS,
        kinds={"clerk": Kind(0.5, 3.0, {"short": 1.0}), "analyst": Kind(0.5, 8.0, {"long": 1.0})},
        scripts=False,
    )
    assert {chain.name for chain in answer(apart, users=[4]).chains} == {"short", "long"}


def test_a_short_transaction_is_not_the_average_one() -> None:
    recording = ONE_CHAIN.make(3)
    found = predict(recording, reduce(recording), classes=True, users=[16])
    assert found.base is not None
    assert found.by_class is not None
    assert found.by_class.base is not None
    _, _, truth = ONE_CHAIN.truth(16)
    short = found.by_class.base.rows[0].classes[[k.name for k in found.by_class.classes].index("short")]
    assert short.response_s.value == pytest.approx(truth["short"], rel=0.3)
    assert found.base.rows[0].response_s.value > 3 * truth["short"]


def test_without_accounts_demands_are_regressed_where_the_mixture_varies() -> None:
    made = replace(ONE_CHAIN, accounts=False, varies=True, window_s=1500.0)
    found = answer(made, users=[8])
    assert found.by_accounts == (False,)
    needs = {kind.name: kind.demand_s[0] for kind in found.classes}
    assert needs["long"].value == pytest.approx(0.8, rel=0.15)
    assert needs["short"].value == pytest.approx(0.05, abs=0.06)
    assert needs["long"].low <= 0.8 <= needs["long"].high * 1.05
    assert any("regressed" in w for w in found.warnings)


def test_classes_whose_mixture_never_varies_cannot_be_told_apart() -> None:
    recording = replace(ONE_CHAIN, accounts=False).make(2)
    # of every five transactions of a user the last one is long, whatever it took
    for user in {r["user"] for r in recording.rows["transaction"]}:
        own = [r for r in recording.rows["transaction"] if r["user"] == user]
        for k, row in enumerate(own):
            row["class"] = "long" if k % 5 == 4 else "short"
    found = predict(recording, reduce(recording), classes=True).by_class
    assert found is not None
    assert found.outcome == "cannot-tell"
    assert "cannot be told apart" in found.reasons[0]
    assert "long" in found.reasons[0]
    assert found.advice


def test_one_class_is_said_to_be_one() -> None:
    made = replace(ONE_CHAIN, kinds={"clerk": Kind(1.0, 4.0, {"short": 1.0})}, window_s=200.0)
    found = answer(made)
    assert found.outcome == "cannot-tell"
    assert "one class, short" in found.reasons[0]


def test_a_change_is_made_to_the_classes_too() -> None:
    found = answer(ONE_CHAIN, users=[8], what_if=[changes("cpu=2x"), changes("processors=2")])
    assert found.base is not None
    faster, more = found.scenarios
    faster_truth = replace(ONE_CHAIN, cpu_s={k: v / 2 for k, v in ONE_CHAIN.cpu_s.items()}).truth(8)
    total = faster.rows[0].total
    assert total.response_s.low * 0.9 <= faster_truth[1] <= total.response_s.high * 1.1
    assert more.more_users is not None
    assert more.more_users.value == pytest.approx(found.base.saturation_users.value, rel=0.01)


def test_users_who_are_left_out_are_in_no_class() -> None:
    recording = TWO_CHAINS.make()
    names = tuple(sorted({r["user"] for r in recording.rows["transaction"] if r["script"] == "analyst"}))
    reduction = reduce(recording)
    found = accounts(recording, reduction, reduction.number, Filters(exclude_users=names))
    assert found is not None
    assert found.chains == ("clerk",)
    assert found.classes == ("short",)


def test_accounts_are_those_of_the_transactions() -> None:
    recording = TWO_CHAINS.make()
    reduction = reduce(recording)
    found = accounts(recording, reduction, reduction.number)
    assert found is not None
    inside = reduction.number >= 0
    done = found.done[:, :, inside].sum()
    rate = reduction.observations["transaction_rate"]
    assert done == pytest.approx(np.nansum((rate * reduction.seconds)[inside]))
    assert found.done[found.chains.index("clerk"), found.classes.index("long")].sum() == 0
    assert found.part[:, 0] == pytest.approx([0.5, 0.5], abs=0.01)


def test_hostile_names_are_shown_escaped_in_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = replace(ONE_CHAIN, window_s=200.0).make()
    for row in recording.rows["transaction"]:
        row["class"] = f"\x1b[31m{row['class']}"
        row["script"] = "cl'erk" + 60 * "k"
    monkeypatch.setattr(Recording, "open", lambda *_: recording)
    assert run(["predict", "made.satline", "--by-class", "--what-if", "cpu=2x"]) == 0
    shown = capsys.readouterr().out
    assert "By class\nSaturates at " in shown
    assert "What if cpu=2x, by class" in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert run(["predict", "made.satline", "--by-class", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)["by_class"]
    assert [row["total"]["response_s"]["value"] for row in plain["base"]["rows"]]
    assert run(["predict", "made.satline"]) == 0
    assert "a prediction by class tells them apart" in " ".join(capsys.readouterr().out.split())


def test_a_network_has_no_recording_to_divide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "--network", "x.toml", "--by-class"]) == 2
    assert "--by-class" in capsys.readouterr().err
