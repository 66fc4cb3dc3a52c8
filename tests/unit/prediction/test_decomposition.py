"""Storage for so many: [Bard]'s curves, in their shape, and his arithmetic."""

from __future__ import annotations

from itertools import pairwise

import pytest

from satline.errors import InputError
from satline.prediction import (
    CustomerClass,
    Network,
    Station,
    Storage,
    exact_single,
    mpl_curve,
    users_curve,
)


def machine(users: int = 60) -> Network:
    """A second of processor time a task, some I/O, and a drum that is fast while working sets fit.

    The figures are chosen so that unlimited storage saturates near MPL 6; nothing else is fitted.
    """
    return Network(
        (CustomerClass("users", users, 9.0),),
        (
            Station("cpu", (1.0,)),
            *(Station(f"disk {k}", (0.55,)) for k in (1, 2, 3)),
            Station("drum", (0.4,)),
        ),
    )


def rates(working_sets: float | None, most: int = 14) -> list[float]:
    return [p.throughput for p in mpl_curve(machine(), Storage(working_sets, paging="drum"), most)]


def test_unlimited_storage_saturates_near_mpl_six() -> None:
    made = rates(None)
    assert made[5] > 0.85 * made[13]
    assert made[2] < 0.75 * made[13]
    assert all(b > a for a, b in pairwise(made))


def test_with_three_working_sets_throughput_peaks_near_three_well_below() -> None:
    made, unlimited = rates(3), rates(None)
    top = made.index(max(made)) + 1
    assert top in (3, 4)
    assert max(made) < 0.85 * max(unlimited)


@pytest.mark.parametrize("sets", [6, 9])
def test_with_six_and_nine_it_comes_close_and_then_falls(sets: int) -> None:
    made, unlimited = rates(sets, 20), rates(None, 20)
    assert max(made) > 0.85 * max(unlimited)
    assert made.index(max(made)) + 1 >= sets
    assert made[19] < 0.8 * max(made)


def test_running_time_rises_gently_then_steeply() -> None:
    points = mpl_curve(machine(), Storage(6, paging="drum"), 12)
    running = [p.running_s for p in points]
    assert all(p.running_s == pytest.approx(p.mpl / p.throughput) for p in points)
    assert running[11] - running[10] > 2 * (running[4] - running[3])


def test_an_mpl_of_six_carries_four_times_as_many_users_who_are_pending_a_quarter_of_the_time() -> None:
    # [Bard]: thinks 9 s, served 3 s: 24 users for an MPL of six. Here a delay of 3 s serves everyone so.
    network = Network(
        (CustomerClass("users", 24, 9.0),), (Station("cpu", (1e-9,)), Station("service", (3.0,), "delay"))
    )
    point = users_curve(network, Storage(), 24)[-1]
    assert point.mpl == pytest.approx(6.0, rel=1e-6)


def test_without_a_limit_it_is_the_network_itself() -> None:
    # u(n) of a product-form network keeps the whole network exact
    network = machine(25)
    whole = exact_single(network)
    point = users_curve(network, Storage(), 25)[-1]
    assert point.throughput == pytest.approx(float(whole.throughput[0]), rel=1e-9)
    assert point.response_s == pytest.approx(float(whole.response_s[0]), rel=1e-9)
    assert point.eligible == pytest.approx(0, abs=1e-12)


def test_beyond_saturation_the_eligible_set_and_the_response_grow_linearly() -> None:
    points = users_curve(machine(), Storage(admitted=6), 60)
    for p in points:
        assert p.running_s + p.waiting_s == pytest.approx(p.response_s, rel=1e-9)
        assert p.throughput * (p.response_s + 9.0) == pytest.approx(p.users, rel=1e-9)
        assert p.mpl <= 6 + 1e-9
    late = points[-10:]
    steps = [b.eligible - a.eligible for a, b in pairwise(late)]
    assert steps == pytest.approx([1.0] * 9, abs=0.01)
    slopes = [b.response_s - a.response_s for a, b in pairwise(late)]
    assert max(slopes) == pytest.approx(min(slopes), rel=0.01)
    assert late[-1].throughput == pytest.approx(points[-11].throughput, rel=0.001)


def test_storage_moves_the_knee_of_the_mpl_but_not_that_of_throughput() -> None:
    six, nine = (users_curve(machine(), Storage(admitted=n), 60) for n in (6, 9))

    def first(points: tuple, what: str, part: float) -> int:
        top = max(getattr(p, what) for p in points)
        return next(p.users for p in points if getattr(p, what) >= part * top)

    assert first(nine, "mpl", 0.95) > first(six, "mpl", 0.95) + 2
    assert abs(first(nine, "throughput", 0.9) - first(six, "throughput", 0.9)) <= 2


def test_wrong_storage_is_refused() -> None:
    with pytest.raises(InputError, match="no station tape"):
        mpl_curve(machine(), Storage(2, paging="tape"), 5)
    two = Network((CustomerClass("a", 1, 1.0), CustomerClass("b", 1, 1.0)), (Station("cpu", (1.0, 1.0)),))
    with pytest.raises(InputError, match="one class"):
        mpl_curve(two, Storage(), 2)
