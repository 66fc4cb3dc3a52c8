"""Where the mix of what completes changes with load, useful work is the throughput."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from satline.diagnosis._throughput import mix_changes, useful_work
from satline.reduction import Reduction

LOADS, EACH = (2, 4, 8, 16, 24, 32), 40


def made(each_s: list[float], seed: int = 1, background: float = 0.0, **without: object) -> Reduction:
    """Observations of 10 s of transactions that take so much problem state each, by load."""
    random = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(LOADS)), EACH)
    load = np.repeat(np.array(LOADS, dtype=float), EACH)
    count = random.poisson(np.minimum(load, 20.0))
    work = np.array([random.exponential(each_s[k], n).sum() for k, n in zip(number, count, strict=True)]) / 10
    observed = {
        "transaction_rate": count / 10,
        "user_run": 1.3 * work,
        "problem_state": work + background,
        "total_cpu": 1.3 * work + background,
    }
    curves = {name: None for name in ("mpl_exact",) if name not in without}
    return cast(
        Reduction,
        SimpleNamespace(
            observations=observed,
            curves=curves,
            load=load,
            number=number,
            seconds=np.full(len(load), 10.0),
            batches=np.arange(len(load)) // 4,
        ),
    )


def work_of(reduction: Reduction) -> np.ndarray:
    work = useful_work(reduction)
    assert work is not None
    return work


@pytest.mark.parametrize("seed", range(5))
def test_ever_shorter_transactions_are_seen(seed: int) -> None:
    reduction = made([0.5, 0.5, 0.45, 0.4, 0.3, 0.25], seed)
    assert mix_changes(reduction, work_of(reduction))


@pytest.mark.parametrize("seed", range(10))
def test_the_chance_of_long_transactions_is_no_change(seed: int) -> None:
    reduction = made([0.4] * len(LOADS), seed)
    assert not mix_changes(reduction, work_of(reduction))


def test_background_is_no_work_of_the_users() -> None:
    with_background, without = (work_of(made([0.4] * len(LOADS), background=b)) for b in (0.5, 0.0))
    assert with_background == pytest.approx(without)


def test_a_host_that_does_not_tell_users_from_background_has_none() -> None:
    assert useful_work(made([0.4] * len(LOADS), mpl_exact=None)) is None
