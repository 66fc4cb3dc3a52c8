"""From divided demands to a closed model of several chains and classes.

Users who change class are one chain: of the stations it asks for D_hk = Σ_c p_hc D_ck, p_hc the part of its
transactions that are of class c. At a station that is shared alike, or serves in order of arrival, all
classes of a chain find the same queue, so that a class stays R_hck = D_ck R_hk / D_hk there [Baskett, Chandy,
Muntz, Palacios 1975; Lazowska et al. 1984, ch. 7].

Two things make short transactions shorter than that, where a recording's transactions tell of them:

- Where those that ended in Q1 surely waited less for each second of processor than the others, Q1 goes before
  Q2: the first part of every transaction, up to the end of Q1, is one queue, the rest a second one behind it.
- Of a device's busy time they wait for a part only: pages are written, and read ahead, while they run, and
  service that hardly varies lets them wait less than exponential service would. This part is such that the
  model's waits for pages and for I/O are those that were seen; the rest takes its share of the device before
  them. Where they wait for longer than the device is busy, what is missing is a delay.

What a class takes beyond all this at light load is a delay of its own, where it is surely there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from satline.prediction._chains import Chains, Solved, approximate, refined
from satline.prediction._class_demands import Division
from satline.prediction._class_stations import First, Stations, stations
from satline.prediction._demands import Demand
from satline.prediction._lattice import cells
from satline.prediction._model import HALVINGS, MOST
from satline.prediction._network import CustomerClass, Floats, Network, Station
from satline.prediction._solve import solve

EXACT_CELLS = 300_000


@dataclass(frozen=True)
class Levels:
    """The system at one number of users, by draw; draw 0 is the estimate.

    rate, response_s
        Of all transactions, shape (draws,).
    class_rate, class_response_s
        Shape (draws, classes).
    page_wait_s, io_wait_s
        Of a transaction, shape (draws,).
    """

    rate: Floats
    response_s: Floats
    class_rate: Floats
    class_response_s: Floats
    page_wait_s: Floats
    io_wait_s: Floats
    method: str = ""


_LEVELS = ("rate", "response_s", "class_rate", "class_response_s", "page_wait_s", "io_wait_s")


@dataclass(frozen=True)
class ClassModel:
    """Chains, classes and demands; arrays are by draw, draw 0 is the estimate.

    demands
        Of the mean transaction.
    division
        How they divide among the classes.
    part
        What part of the users each chain is; seen: the same at loads that were recorded.
    think_s
        Shape (draws, chains).
    first
        What part of the processor time goes first; ``None``: all alike.
    waited
        What of a device's busy time transactions wait for, paging and other: shape (draws, 2); above 1 where
        they wait for more.
    elsewhere_s
        Delay of each class, shape (draws, classes).
    """

    demands: tuple[Demand, ...]
    division: Division
    part: Floats
    seen: Mapping[int, Floats]
    think_s: Floats
    first: First | None
    waited: Floats
    elsewhere_s: Floats

    def populations(self, users: int) -> Floats:
        """Users of each chain, whole: those that were there, else by their parts."""
        exact = users * self.seen.get(users, self.part)
        whole = np.floor(exact + 1e-9)
        most = np.argsort(-(exact - whole), kind="stable")
        whole[most[: users - int(whole.sum())]] += 1
        return np.asarray(whole)

    @property
    def saturation_users(self) -> Floats:
        """N*: so many users would, if nobody ever waited, take all of the resource that is full first:
        N Σ_h n_h D_hk / (Z_h + R_h) = capacity_k with n_h the chains' parts; by draw."""
        draws = len(self.think_s)
        if all(d.trend is None for d in self.demands):
            return np.asarray(1 / np.maximum(self._pressure(1.0).max(axis=1), 1 / MOST))
        low, high = np.ones(draws), np.full(draws, float(MOST))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            full = middle * self._pressure(middle).max(axis=1) >= 1
            low, high = np.where(full, low, middle), np.where(full, middle, high)
        return np.asarray(high)

    def first_full(self) -> str:
        """The resource that saturates first."""
        pressure = self._pressure(self.saturation_users)[0]
        return self.demands[int(pressure.argmax())].name

    def _pressure(self, users: float | Floats) -> Floats:
        """What part of each resource a user takes if nobody ever waits: shape (draws, resources)."""
        mix = self.division.mix
        here, made = self.division.at(users), self._stations(users)
        times = np.stack([here.of(k, d)[0] for k, d in enumerate(self.demands)], axis=1)
        alone = np.einsum("dhc,dkc->dh", mix, made.needed) + self._pause(made)
        slots = np.stack([d.at(users) / d.room for d in self.demands], axis=1)
        asked = np.einsum("dhc,dkc->dhk", mix, times) * slots[:, None, :]
        asked = asked / np.maximum(alone, 1e-300)[:, :, None]
        return np.asarray(np.einsum("h,dhk->dk", self.part, asked))

    def _stations(self, users: float | Floats) -> Stations:
        return stations(self.demands, self.division, users, self.first, self.waited, self.elsewhere_s)

    def _pause(self, made: Stations) -> Floats:
        """Think time and delays of each chain."""
        return np.asarray(self.think_s + np.einsum("dhc,dc->dh", self.division.mix, made.delay_s))

    def at(self, users: int) -> Levels:
        """The system with so many users.

        The estimate is by exact analysis where the network has product form and is small, else by the
        Linearizer; the draws by Bard and Schweitzer's approximation, times what separates the two for the
        estimate.
        """
        mix, population = self.division.mix, self.populations(users)
        made = self._stations(users)
        needed, before = (np.einsum("dhc,dkc->dhk", mix, a) for a in (made.needed, made.before))
        chains = Chains(needed, before, made.found, self._pause(made))
        rough = approximate(chains, population)
        levels = _levels(rough, made, mix)
        best, one, method = self._best(chains.only(0), made.only(0), population)
        fine = _levels(best, one, mix[:1])

        def corrected(name: str) -> Floats:
            value, estimate = getattr(levels, name), getattr(fine, name)
            return np.asarray(value * (estimate / np.maximum(value[:1], 1e-300)))

        return Levels(**{n: corrected(n) for n in _LEVELS}, method=method)

    def _best(self, chains: Chains, made: Stations, population: Floats) -> tuple[Solved, Stations, str]:
        """The estimate alone, and the stations that it is for."""
        if self.first is None and not chains.before.any():
            # exact analysis knows several servers for what they are
            whole = replace(made, needed=made.whole, delay_s=made.delay_s - made.split_s)
            network = self._network(whole, population)
            if cells(network) <= EXACT_CELLS:
                exact = solve(network, "exact")
                needed = network.demand_s
                stretch = np.where(needed > 0, exact.residence_s / np.maximum(needed, 1e-300), 1.0)
                queue = exact.throughput[:, None] * exact.residence_s
                return Solved(exact.throughput[None], queue[None], stretch[None]), whole, "exact"
        return refined(chains, population), made, "linearizer"

    def _network(self, made: Stations, population: Floats) -> Network:
        """One draw as a network of product form: a chain is a class of customers there."""
        mix = self.division.mix[0]
        needed = np.einsum("hc,kc->hk", mix, made.needed[0])
        pause = self.think_s[0] + np.einsum("hc,c->h", mix, made.delay_s[0])
        classes = tuple(
            CustomerClass(f"{k}", int(n), float(z))
            for k, (n, z) in enumerate(zip(population, pause, strict=True))
        )
        places = tuple(
            Station(f"{k}", tuple(float(x) for x in needed[:, k]), servers=servers)
            for k, servers in enumerate(made.servers)
        )
        return Network(classes, places)


def _levels(solved: Solved, made: Stations, mix: Floats) -> Levels:
    each = np.einsum("dkc,dhk->dhc", made.needed, solved.stretch) + made.delay_s[:, None, :]
    rate = solved.rate[:, :, None] * mix
    total = np.maximum(rate.sum(axis=(1, 2)), 1e-300)

    def mean(values: Floats) -> Floats:
        return np.asarray((rate * values).sum(axis=(1, 2)) / total)

    page, io = (
        mean(np.einsum("dkc,dhk->dhc", part, solved.stretch) + more[:, None, :])
        for part, more in ((made.paging, made.page_delay_s), (made.reading, made.io_delay_s))
    )
    # of a class that nobody runs at this load, what one of it would take in the chain that is there
    safe = np.maximum(rate, 1e-300)
    by_class = (safe * each).sum(axis=1) / safe.sum(axis=1)
    return Levels(rate.sum(axis=(1, 2)), mean(each), rate.sum(axis=1), by_class, page, io)
