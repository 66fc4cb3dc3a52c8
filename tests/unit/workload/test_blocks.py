"""Fitting, generating, comparing: known laws are found again, and what differs is told."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from made_sessions import CHAIN, chain_session

from satline.errors import InputError, SatlineError
from satline.stats import chi_square_tail, holm, kolmogorov_tail
from satline.systems.binaries import find_binary
from satline.workload import _emulator
from satline.workload._blocks import Blocks, Distribution, blocks_toml, read_blocks
from satline.workload._fit import fit, fit_order, fit_seconds
from satline.workload._generate import draw, generate
from satline.workload._goodness import compare
from satline.workload._replay import replay
from satline.workload._statistics import chi_square, kolmogorov_distance


def built() -> bool:
    try:
        find_binary("satline-terminal")
    except SatlineError:
        return False
    return True


with_emulator = pytest.mark.skipif(not built(), reason="satline-terminal is not built")


@pytest.fixture(scope="module")
def blocks() -> Blocks:
    return fit([chain_session(seed) for seed in range(6)], "made")


def test_tails_against_printed_tables() -> None:
    # Any table of chi-square: 5 % at 3.841 (1), 11.070 (5), 124.342 (100); 1 % at 6.635 (1).
    for x, freedom, p in [(3.841, 1, 0.05), (11.070, 5, 0.05), (124.342, 100, 0.05), (6.635, 1, 0.01)]:
        assert chi_square_tail(x, freedom) == pytest.approx(p, rel=1e-3)
    # Kolmogorov's limits: 1.358 at 5 %, 1.628 at 1 %.
    for x, p in [(1.358, 0.05), (1.628, 0.01)]:
        assert kolmogorov_tail(x / 1e4, 10**8) == pytest.approx(p, rel=5e-3)
    assert chi_square_tail(0, 3) == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_step_counts_from_both_sides() -> None:
    fixed = Distribution(distribution="fixed", mean_seconds=2.0)
    assert kolmogorov_distance(np.full(50, 2.0), fixed.cdf) == 0.0
    assert kolmogorov_distance(np.full(50, 2.1), fixed.cdf) == 1.0


def test_cells_that_expect_too_few_are_put_together() -> None:
    assert chi_square([3, 2], [0.5, 0.5]).p is None
    assert chi_square([50, 49, 1], [0.5, 0.49, 0.01]).freedom == 1
    assert chi_square([90, 10], [0.5, 0.5]).p == pytest.approx(1.2e-15, rel=0.1)


@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_the_think_times_law_is_found(kind: str) -> None:
    found = fit_seconds([_thinks(kind, 400)])
    assert found.distribution == kind
    assert found.low_seconds is not None
    assert found.high_seconds is not None
    assert found.low_seconds < found.mean_seconds < found.high_seconds


def test_two_kinds_of_think_times_are_a_table_and_few_are_not_judged() -> None:
    found = fit_seconds([_thinks("two kinds", 400)])
    assert found.distribution == "table"
    assert found.quantiles_seconds is not None
    assert "refused" in found.chosen
    few = fit_seconds([_thinks("two kinds", 12)])
    assert few.distribution == "exponential"
    assert "too few" in few.chosen


def _thinks(kind: str, count: int) -> np.ndarray:
    lines = chain_session(3, count, kind).lines
    return np.array([line.think_s for line in lines], dtype=float)


def test_the_order_is_found_and_none_where_there_is_none() -> None:
    random = np.random.default_rng(1)
    assert fit_order([[line.klass for line in chain_session(s).lines] for s in range(4)]).order == 1
    assert fit_order([list(random.choice(["a", "b", "c"], 300))]).order == 0
    # b if the two before are alike: order 2.
    second = ["a", "b"]
    for _ in range(400):
        second.append("b" if (second[-1] == second[-2]) == (random.random() < 0.9) else "a")
    assert fit_order([second]).order == 2
    few = fit_order([["a", "b", "a"]])
    assert few.order == 0
    assert "too few" in few.chosen


def test_blocks_say_shares_rates_and_sizes(blocks: Blocks) -> None:
    # The chain's own long-run shares.
    matrix = np.array(list(CHAIN.values()))
    stationary = np.linalg.matrix_power(matrix, 100)[0]
    for one in blocks.klass:
        assert one.share == pytest.approx(stationary[list(CHAIN).index(one.name)], abs=0.08)
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.share < one.high
    gap = math.exp(-2 + 0.3**2 / 2)
    assert blocks.typing.characters_per_second == pytest.approx(1 / gap, rel=0.03)
    assert blocks.typing.variation == pytest.approx(math.sqrt(math.expm1(0.09)), rel=0.15)
    assert blocks.order.order == 1
    with pytest.raises(InputError, match="too few"):
        fit([chain_session(1, 5)], "few")


def test_blocks_are_read_as_they_were_written(blocks: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text(blocks_toml(blocks))
    assert blocks_toml(read_blocks(path)) == path.read_text()
    for wrong, place in [
        (path.read_text().replace("share = 0.", "share = 1.", 1), "share"),
        (path.read_text().replace("mean_seconds = ", "mean_seconds = -", 1), "mean_seconds"),
        ('name = "x"', "think"),
    ]:
        path.write_text(wrong)
        with pytest.raises(InputError, match=place):
            read_blocks(path)


@with_emulator
def test_what_is_generated_agrees_with_its_blocks(blocks: Blocks) -> None:
    workload, remarks = generate(blocks, 40, 1)
    assert remarks == []
    assert len(workload["script"]) == 32
    tests = compare(blocks, draw(workload, 40, 200, 2))
    assert {test.what.split(",")[0]: test.verdict for test in tests}["think time"] == "agrees"
    assert all(test.verdict != "differs" for test in tests)
    text = _emulator.check(workload, "w")
    assert tomllib.loads(text)["script"][0]["order"] == "sequence"
    assert generate(blocks, 40, 1)[0] == workload
    assert generate(blocks, 40, 2)[0] != workload


@with_emulator
def test_what_differs_is_told_and_too_little_cannot_tell(blocks: Blocks) -> None:
    workload, _ = generate(blocks, 40, 1)
    other = fit([chain_session(seed, 80, "exponential") for seed in range(9, 15)], "other")
    shuffled = other.model_copy(update={"order": fit_order([["ls", "edit", "make"] * 40])})
    verdicts = {test.what: test.verdict for test in compare(shuffled, draw(workload, 40, 100, 2))}
    assert verdicts["order 1: followers"] == "differs"
    assert verdicts["think time, exponential"] == "differs"
    small = compare(blocks, draw(workload, 2, 6, 2))
    assert {test.verdict for test in small} == {"cannot tell"}


@with_emulator
def test_the_rate_of_false_alarms_is_as_stated(blocks: Blocks) -> None:
    """At 5 % over a table, of 200 tables from the blocks themselves at most 20 may differ (p < 0.002)."""
    flat = blocks.model_copy(update={"order": fit_order([])})
    workload, _ = generate(flat, 10, 1)
    alarms = sum(
        any(test.verdict == "differs" for test in compare(flat, draw(workload, 10, 40, seed)))
        for seed in range(200)
    )
    assert alarms <= 20


@with_emulator
def test_a_session_is_typed_again_with_its_own_think_times() -> None:
    session = chain_session(1, 30)
    workload, left = replay([session], "again")
    assert left == []
    commands = workload["script"][0]["command"]
    assert [command["input"] for command in commands] == [line.text for line in session.lines]
    known = [line.think_s for line in session.lines if line.think_s is not None]
    assert commands[1]["think"]["mean_seconds"] == pytest.approx(known[1], abs=1e-3)
    _emulator.check(workload, "w")
    secret = session.lines[0].model_copy(update={"secret": True})
    hidden, left = replay([session.model_copy(update={"lines": [secret, *session.lines[1:]]})], "again")
    assert len(hidden["script"][0]["command"]) == 29
    assert "secret" in left[0]


@with_emulator
@pytest.mark.parametrize(
    "text", ["echo {user} ${HOME} {1..3}", "{random:1:2}", "{pick:a|b}{number}", "{pick:}", "{{user}}", "a{"]
)
def test_a_recorded_line_s_braces_are_its_own(text: str) -> None:
    from satline.workload._generate import _filled

    shown = _emulator.literal(text)
    assert _filled(shown, 1, np.random.default_rng(1)) == text
    workload = {"name": "x", "script": [{"name": "s", "command": [{"class": "c", "input": shown}]}]}
    _emulator.check(workload, "w")
