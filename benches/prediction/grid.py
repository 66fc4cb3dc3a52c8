"""Random closed networks over the whole range of loads, always the same ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from satline.prediction import CustomerClass, Network, Station

# Users of each class, by number of classes: so many that exact analysis stays quick.
MOST_USERS = {1: 150, 2: 25, 3: 10}


def central_server(users: int = 100) -> Network:
    """The central-server model: think 10 s; CPU 10 ms × 10 visits; four disks, 30 ms × 9/4 visits each."""
    disks = tuple(Station(f"disk {k}", (0.030 * 9 / 4,)) for k in range(1, 5))
    return Network((CustomerClass("users", users, 10.0),), (Station("cpu", (0.010 * 10,)), *disks))


def networks(count: int, *, several: bool = False, first: int = 1) -> Iterator[Network]:
    """`count` networks of one to three classes and two to six stations.

    Demands and think times are log-normal; think times are then scaled so that the load, N/N* of one class,
    is spread evenly from 0.1 to 3. With `several` one or two stations have 2 to 8 servers.
    """
    for seed in range(first, first + count):
        yield _network(np.random.default_rng(seed), several)


def _network(random: np.random.Generator, several: bool) -> Network:
    classes, stations = int(random.integers(1, 4)), int(random.integers(2, 7))
    users = random.integers(2 if classes > 1 else 5, MOST_USERS[classes] + 1, classes)
    demand = np.exp(random.normal(-3, 0.8, (classes, stations)))
    servers = np.ones(stations)
    if several:
        chosen = random.permutation(stations)[: random.integers(1, 3)]
        servers[chosen] = random.integers(2, 9, len(chosen))
        demand[:, chosen] *= servers[chosen]
    total, load = demand.sum(axis=1), random.uniform(0.1, 3)
    shape = np.exp(random.normal(0, 0.5, classes))
    # the pause that gives the wanted load, by halving: load falls as pauses grow
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        now = float(((users / (middle * shape + total)) @ demand / servers).max())
        low, high = (middle, high) if now > load else (low, middle)
    return Network(
        tuple(CustomerClass(f"class {c}", int(users[c]), float(low * shape[c])) for c in range(classes)),
        tuple(
            Station(f"station {k}", tuple(demand[:, k].tolist()), servers=float(servers[k]))
            for k in range(stations)
        ),
    )
