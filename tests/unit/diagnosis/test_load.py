"""What shows that something waits, on hosts of all sizes."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from satline.diagnosis._load import LIMITS, contended
from satline.diagnosis.saturation import saturation

TRANSACTIONS = ("users_in_transaction", "user_run", "transaction_rate")
NAMES = (*LIMITS, *TRANSACTIONS, "capacity_processors", "total_cpu", "runnable_tasks", "stolen")


def waits(light: dict[str, float], heavy: dict[str, float]) -> bool | None:
    """Nine classes of ten observations: signals at the lowest five and at the topmost four."""
    number = np.repeat(np.arange(9), 10)

    def course(name: str) -> np.ndarray:
        low, high = light.get(name, np.nan), heavy.get(name, light.get(name, np.nan))
        return np.where(number < 5, low, high)

    made = SimpleNamespace(
        number=number, classes=tuple(range(9)), observations={name: course(name) for name in NAMES}
    )
    return contended(made)  # type: ignore[arg-type]


def test_nothing_recorded_tells_nothing() -> None:
    assert waits({}, {}) is None


def test_full_processors_wait() -> None:
    assert waits({"capacity_processors": 4, "total_cpu": 0.5}, {"total_cpu": 3.9}) is True


def test_processors_that_idle_while_others_wait_for_io_are_not_busy() -> None:
    light = {"capacity_processors": 4, "total_cpu": 0.2, "pressure_io": 0.0}
    assert waits(light, {"total_cpu": 0.4}) is False
    assert waits(light, {"total_cpu": 0.4, "pressure_io": 0.6}) is True


def test_a_run_queue_of_a_few_processors_is_nothing_on_many() -> None:
    light = {"capacity_processors": 64, "total_cpu": 1, "runnable_tasks": 1, "pressure_cpu": 0.02}
    heavy = {"total_cpu": 6, "runnable_tasks": 8, "pressure_cpu": 0.7}
    assert waits(light, heavy) is False
    assert waits({**light, "capacity_processors": 4}, {**heavy, "total_cpu": 3.5}) is True


@pytest.mark.parametrize("sign", [{"stolen": 1.9}, {"throttled_periods": 0.8}])
def test_a_capped_partition_is_full_although_half_of_it_seems_idle(sign: dict[str, float]) -> None:
    light = {"capacity_processors": 4, "total_cpu": 0.3, **dict.fromkeys(sign, 0.0)}
    assert waits(light, {"total_cpu": 2.0}) is False
    assert waits(light, {"total_cpu": 2.0, **sign}) is True


def test_what_is_full_at_every_load_is_not_filled_by_the_users() -> None:
    full = {"capacity_processors": 4, "total_cpu": 3.95, "busiest_task": 1.0}
    assert waits(full, full) is False


def test_users_who_wait_far_longer_for_each_transaction_wait_though_nothing_else_shows_it() -> None:
    light = {
        "capacity_processors": 4,
        "total_cpu": 0.4,
        **dict(zip(TRANSACTIONS, (0.4, 0.3, 0.1), strict=True)),
    }
    idle = {"total_cpu": 1.2}
    waiting = dict(zip(TRANSACTIONS, (8.0, 0.9, 0.3), strict=True))
    assert waits(light, {**idle, **waiting}) is True
    # Longer because they run longer, or not much longer.
    assert waits(light, {**idle, **waiting, "user_run": 6.0}) is False
    assert (
        waits({**light, "users_in_transaction": 1.8}, {**idle, **waiting, "users_in_transaction": 6.0})
        is False
    )


def test_a_load_that_is_no_number_of_users_is_not_called_users() -> None:
    random = np.random.default_rng(5)
    load = np.repeat(np.arange(1.0, 21.0), 60)
    random.shuffle(load)
    throughput = np.minimum(load, 10.0) * 0.1 + random.normal(0, 0.01, len(load))
    reduction = SimpleNamespace(
        load_axis="run_queue",
        load=load,
        number=load.astype(np.int64) - 1,
        seconds=np.ones(len(load)),
        batches=np.arange(len(load)) // 10,
        classes=[None] * 20,
        curves={},
        settings=SimpleNamespace(quota=None),
        observations=defaultdict(
            lambda: np.full(len(load), np.nan),
            problem_state=throughput,
            total_cpu_fraction=np.minimum(load / 10, 1.0),
        ),
    )
    verdict = saturation(reduction)  # type: ignore[arg-type]
    assert verdict.slope_before is not None
    words = " ".join((*verdict.reasons, *verdict.advice, verdict.slope_before.unit))
    assert "user" not in words
    assert "task in the run queue" in words
