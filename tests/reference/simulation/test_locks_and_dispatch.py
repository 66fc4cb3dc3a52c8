"""Locks and dispatchers of simulated multiprocessors against exact Markov chains, solved by scipy.

The machine is `central-server`, whose control program takes no time, but for what a case sets. Times are
exponential, or fixed where the control program holds a lock, so that each case is a small chain.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.stats import binom
from scipy.stats import t as student

from satline.systems.binaries import find_binary

ROOT = Path(__file__).resolve().parents[3]
SEEDS = range(1, 13)
COSTS = ("deferred_start", "signalled", "cache_reload", "cache_move")
Floats = NDArray[np.float64]


def simulated(sets: Mapping[str, object], users: int, seconds: float) -> dict[str, Floats]:
    """Each measure of the window, by seed."""
    command = [str(find_binary("satline-machine")), "run"]
    command += [str(ROOT / "machines/central-server.toml")]
    command += [str(ROOT / "workloads/simulated/central-server.toml"), "--json", "--users", str(users)]
    command += ["--step-seconds", str(seconds), "--warmup-seconds", "100", "--sample-seconds", "100"]
    command += [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        done = subprocess.run([*command, "--seed", str(seed)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for name, value in json.loads(done.stdout)["steps"][0]["measures"].items():
            found.setdefault(name, []).append(float("nan") if value is None else value)
    return {name: np.array(values) for name, values in found.items()}


def agrees(values: Floats, truth: float, widest: float) -> None:
    """The mean over the seeds is the truth within what chance allows at 1 in 10,000, and that is little."""
    error = values.std(ddof=1) / np.sqrt(len(values)) * student.ppf(1 - 0.5e-4, len(values) - 1)
    assert error < widest * truth, f"{values.mean()} ± {error} says little of {truth}"
    assert abs(values.mean() - truth) < error, f"{values.mean()} ± {error}, exactly {truth}"


def stationary(transitions: Floats) -> Floats:
    """The distribution π of a chain with π P = π."""
    kernel = null_space(transitions.T - np.eye(len(transitions)))
    assert kernel.shape[1] == 1, "one class of states"
    distribution: Floats = kernel[:, 0] / kernel[:, 0].sum()
    return distribution


def spinning(processors: int, run_s: float, hold_s: float) -> tuple[float, float, float]:
    """A lock before which processors spin, each running an exponential time between holds of fixed length.

    The chain is embedded at the ends of holds: how many spin then. During a hold each running processor
    comes to the lock with probability 1 − exp(−hold/run), on average (hold − run × that) before its end.

    Returns
    -------
    tuple
        Probability that one who comes spins; part of all processors' time spent spinning; part of the time in
        which the lock is held.
    """
    states = range(processors)
    comes = -np.expm1(-hold_s / run_s)
    transitions = np.zeros((processors, processors))
    for left in states:
        waiting = max(left - 1, 0)
        running = processors - 1 - waiting
        for more in range(running + 1):
            transitions[left, waiting + more] += binom.pmf(more, running, comes)
    at_end = stationary(transitions)
    cycle_s = hold_s + at_end[0] * run_s / processors
    spun_s = sum(
        at_end[left]
        * (max(left - 1, 0) * hold_s + (processors - 1 - max(left - 1, 0)) * (hold_s - run_s * comes))
        for left in states
    )
    return float(1 - at_end[0]), float(spun_s / cycle_s / processors), float(hold_s / cycle_s)


@pytest.mark.parametrize(
    ("processors", "hold_ms"), [(2, 1.0), (2, 4.0), (2, 20.0), (3, 5.0), (5, 4.0), (8, 2.0), (16, 1.0)]
)
def test_spin_before_a_lock_agrees_with_the_chain(processors: int, hold_ms: float) -> None:
    run_s = 0.020  # of the workload: problem state between two I/Os, whose start holds the lock
    sets = {
        "processors.count": processors,
        "costs.user_io_start_us": hold_ms * 1000,
        "lock": '[{ name = "SYSTEM", wait = "spin", holds = { user_io_start = 1.0 } }]',
        "workload.class.user.think_s": "{ fixed = 0.001 }",
    }
    found = simulated(sets, users=12 * processors, seconds=100 + 100 * round(24 / processors))
    assert found["idle_fraction"].max() == found["io_wait_fraction"].max() == 0, "processors are busy"
    probability, spun, held = spinning(processors, run_s, hold_ms * 1e-3)
    agrees(found["lock_spin_probability:SYSTEM"], probability, 0.03)
    agrees(found["lock_spin_fraction"], spun, 0.04)
    agrees(found["lock_spin:SYSTEM"], spun, 0.04)
    agrees(found["lock_held:SYSTEM"], held, 0.01)


def test_spin_is_the_product_of_hold_probabilities_where_both_are_small() -> None:
    # Of two processors each holds or wants the lock for a part h of its time: both at once for h² of it, and
    # then one of them spins.
    for hold_s in (0.0002, 0.0004):
        wanting = hold_s / (hold_s + 0.020)
        assert spinning(2, 0.020, hold_s)[1] * 2 == pytest.approx(wanting**2, rel=2 * wanting)


State = tuple[int, int]


def in_lists(
    users: int, think_s: float, cpu_s: float, moves: Callable[[State], State]
) -> tuple[float, float]:
    """Two processors, each with a list: new transactions go to the shortest, the first of two alike.

    `moves` takes the numbers on both lists, running users included, to those after an idle one took a user.

    Returns
    -------
    tuple
        Transactions per second, and the mean number of users in one.
    """
    states = [(a, b) for a in range(users + 1) for b in range(users + 1 - a) if moves((a, b)) == (a, b)]
    number = {state: k for k, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for (a, b), k in number.items():
        came = (a + 1, b) if a <= b else (a, b + 1)
        if a + b < users:
            rates[k, number[moves(came)]] += (users - a - b) / think_s
        if a:
            rates[k, number[moves((a - 1, b))]] += 1 / cpu_s
        if b:
            rates[k, number[moves((a, b - 1))]] += 1 / cpu_s
    np.fill_diagonal(rates, -rates.sum(axis=1))
    # Made uniform: a chain in steps with the same distribution.
    shares = stationary(np.eye(len(states)) + rates / (1.01 * -rates.diagonal().min()))
    busy = sum(p * (min(a, 1) + min(b, 1)) for (a, b), p in zip(states, shares, strict=True))
    present = sum(p * (a + b) for (a, b), p in zip(states, shares, strict=True))
    return float(busy / cpu_s), float(present)


def stays(state: State) -> State:
    return state


def second_of_two(state: State) -> State:
    """An idle processor takes the second of two who wait on the other's list, where a third one runs."""
    a, b = state
    if a == 0 and b >= 3:
        return 1, b - 1
    if b == 0 and a >= 3:
        return a - 1, 1
    return state


def any_of_them(state: State) -> State:
    """One list: nobody waits while a processor is idle."""
    a, b = state
    if a == 0 and b >= 2:
        return 1, b - 1
    if b == 0 and a >= 2:
        return a - 1, 1
    return state


@pytest.mark.parametrize(
    ("policy", "moves"),
    [
        ("affinity", stays),
        ("active-wait", second_of_two),
        ("priority", any_of_them),
        ("ap-release-5", any_of_them),
    ],
)
@pytest.mark.parametrize("users", [4, 12])
def test_lists_agree_with_their_chain(policy: str, moves: Callable[[State], State], users: int) -> None:
    think_s, cpu_s = 2.0, 0.4
    sets = {
        "processors.count": 2,
        "policies.dispatch": policy,
        "multiprocessor": "{ " + ", ".join(f"{name}_us = 0" for name in COSTS) + " }",
        "workload.class.user.think_s": "{ exponential = 2.0 }",
        "workload.class.user.transaction.task.cpu_between_ios_ms": 1e9,
    }
    found = simulated(sets, users, seconds=10_100)
    throughput, present = in_lists(users, think_s, cpu_s, moves)
    agrees(found["throughput_per_s"], throughput, 0.01)
    agrees(found["in_transaction"], present, 0.03)


def test_the_three_ways_of_keeping_lists_differ() -> None:
    # Else the comparison above could not tell them apart.
    found = [in_lists(12, 2.0, 0.4, moves)[1] for moves in (any_of_them, second_of_two, stays)]
    assert found[0] * 1.003 < found[1]
    assert found[1] * 1.01 < found[2]
