"""Plans: which cells, which aliases, which blocks, in which order."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.errors import InputError
from satline.experiment.designs import (
    Factor,
    Fraction,
    choose_fraction,
    fraction_of,
    make_plan,
    parse_factor,
    parse_generators,
    parse_skip,
)
from satline.experiment.designs._blocks import block_of, choose_confounded, given_up
from satline.experiment.designs._words import length, letters, parse_word
from satline.present.designs import content, plan_csv, words


def two(k: int) -> list[Factor]:
    return [Factor(f"f{i}", ("0", "1")) for i in range(k)]


def sign(word: int, high: int) -> int:
    return -1 if length(word & ~high) % 2 else 1


@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 9), st.booleans()
)
def test_every_cell_comes_as_often_as_asked(
    levels: list[int], replicates: int, seed: int, blocked: bool
) -> None:
    factors = [Factor(f"f{i}", tuple("wxyz"[:n])) for i, n in enumerate(levels)]
    plan = make_plan(factors, seed=seed, replicates=replicates, replicate_blocks=blocked)
    counts = Counter(tuple(run.levels.values()) for run in plan.runs)
    assert set(counts) == set(itertools.product(*(f.levels for f in factors)))
    assert set(counts.values()) == {replicates}
    assert [run.number for run in plan.runs] == list(range(1, len(plan.runs) + 1))
    if blocked:
        for block in range(1, replicates + 1):
            own = [run for run in plan.runs if run.block == block]
            assert len({tuple(run.levels.values()) for run in own}) == len(own) == len(counts)


def test_the_order_is_the_seeds_alone_and_any_cell_may_come_first() -> None:
    assert make_plan(two(3), seed=7) == make_plan(two(3), seed=7)
    first = Counter(tuple(make_plan(two(2), seed=s).runs[0].levels.values()) for s in range(400))
    assert len(first) == 4
    assert min(first.values()) > 70, "about 100 each"


@pytest.mark.parametrize(
    ("factors", "generators", "resolution"),
    # The resolutions in the table of Box, Hunter and Hunter, 12.15.
    [
        *((3, 1, 3), (4, 1, 4), (5, 1, 5), (5, 2, 3), (6, 1, 6), (6, 2, 4), (6, 3, 3), (7, 1, 7), (7, 2, 4)),
        *((7, 3, 4), (7, 4, 3), (8, 2, 5), (8, 3, 4), (8, 4, 4), (9, 4, 4), (9, 5, 3), (10, 3, 5)),
        *((11, 7, 3), (15, 11, 3)),
    ],
)
def test_fractions_have_the_highest_resolution(factors: int, generators: int, resolution: int) -> None:
    found = fraction_of(factors, generators)
    assert found.resolution == resolution
    assert found.runs == 1 << (factors - generators)


def test_the_smallest_part_of_a_resolution() -> None:
    assert choose_fraction(7, 4).runs == 16
    assert choose_fraction(5, 5).runs == 16
    assert choose_fraction(3, 5) == Fraction(3), "no part of three factors has resolution V"


@given(st.integers(3, 7), st.data())
def test_aliases_have_the_same_column(k: int, data: st.DataObject) -> None:
    generators = data.draw(st.integers(1, max(1, k - 3)))
    fraction = fraction_of(k, generators) if generators < k - 1 else fraction_of(k, 1)
    cells = [high for high in range(1 << k) if fraction.holds(high)]
    assert len(cells) == fraction.runs
    effect = data.draw(st.integers(1, (1 << k) - 1))
    same = set(fraction.aliases(effect))
    column = [sign(effect, high) for high in cells]
    for other in range(1, 1 << k):
        equal = column == [sign(other, high) for high in cells]
        assert equal == (other == effect or other in same)


@given(st.integers(3, 6), st.integers(1, 2))
def test_only_what_is_given_up_differs_between_blocks(k: int, count: int) -> None:
    whole = Fraction(k)
    chosen = choose_confounded(whole, 1 << count, ())
    lost = set(given_up(whole, chosen))
    sizes = Counter(block_of(high, chosen) for high in range(1 << k))
    assert set(sizes.values()) == {1 << (k - count)}
    for word in range(1, 1 << k):
        sums = Counter[int]()
        for high in range(1 << k):
            sums[block_of(high, chosen)] += sign(word, high)
        assert any(sums.values()) == (word in lost)
    assert min(length(word) for word in lost) >= 2


def test_eight_runs_in_two_blocks_give_up_the_highest_interaction() -> None:
    plan = make_plan(two(3), seed=1, blocks=2)
    assert [letters(w) for w in plan.confounded] == ["ABC"]
    assert Counter(run.block for run in plan.runs) == {1: 4, 2: 4}
    plan = make_plan(two(3), seed=1, confound=[0b011])
    assert [letters(w) for w in plan.confounded] == ["AB"]
    assert "f0 × f1" in " ".join(words(plan))


def test_a_cell_that_cannot_be_run_is_left_out_and_its_cost_is_told() -> None:
    factors = [parse_factor("memory=640,768,896,1024"), parse_factor("channels=1,2")]
    plan = make_plan(factors, seed=3, skips=[parse_skip("memory=1024,channels=2", factors)])
    assert len(plan.runs) == 7
    assert list(content(plan)["not_run"]) == [{"memory": "1024", "channels": "2"}]
    assert "only in part: memory × channels" in " ".join(words(plan))


def test_words_by_letters_and_by_names() -> None:
    factors = [Factor("memory", ("1", "2")), Factor("channels", ("1", "2")), Factor("X", ("1", "2"))]
    assert parse_word("AB", factors, "") == parse_word("memory*channels", factors, "") == 0b011
    by_names = parse_generators("X=memory*channels", factors)
    assert by_names == parse_generators("C=AB", factors)
    assert by_names.resolution == 3


def test_hostile_names_stay_text() -> None:
    plan = make_plan([Factor("a\x1b[31m", ("1", '"x",\n2'))], seed=0)
    shown = plan_csv(plan)
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 3


@pytest.mark.parametrize("text", ["", "memory", "=1,2", "memory=1", "memory=1,,2", "memory=1,1", "run=1,2"])
def test_what_is_no_factor(text: str) -> None:
    with pytest.raises(InputError):
        parse_factor(text)


@pytest.mark.parametrize(
    "text", ["D", "D=", "D=A", "AB=CD", "D=AB,D=BC", "D=AB,C=DB", "D=ABZ", "D=AAB", "D=AB,C=AB"]
)
def test_generators_that_do_not_do(text: str) -> None:
    with pytest.raises(InputError):
        parse_generators(text, two(4))


def test_designs_that_cannot_be() -> None:
    with pytest.raises(InputError, match="main effects could not be told apart"):
        fraction_of(3, 2)
    with pytest.raises(InputError, match="runs; at most"):
        make_plan(two(20), seed=1)
    with pytest.raises(InputError, match="every cell is skipped"):
        make_plan(two(1), seed=1, skips=[parse_skip("f0=0", two(1)), parse_skip("f0=1", two(1))])
    with pytest.raises(InputError, match="factors at two levels"):
        make_plan([Factor("a", ("1", "2", "3")), *two(2)], seed=1, blocks=2)
    with pytest.raises(InputError, match="blocks are 2, 4, 8"):
        make_plan(two(3), seed=1, blocks=3)
    with pytest.raises(InputError, match="main effect of A would be confounded"):
        make_plan(two(3), seed=1, confound=[1])
    with pytest.raises(InputError, match="main effect of C would be confounded"):
        make_plan(two(3), seed=1, fraction=fraction_of(3, 1), confound=[0b011], blocks=2)
