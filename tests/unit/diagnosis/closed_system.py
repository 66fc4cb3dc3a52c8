"""A closed system whose truth is known: users think, then queue for one station of m servers."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from satline.diagnosis.saturation import Series


@dataclass(frozen=True)
class Closed:
    """N users that think for Z s (mean) and then need D s (mean) of one of m servers, first come first
    served.

    The asymptotes cross at N* = m (Z + D) / D [Bard].
    """

    think: float
    demand: float
    servers: int = 1
    fixed_service: bool = False

    @property
    def saturation(self) -> float:
        return self.servers * (self.think + self.demand) / self.demand

    def run(self, users: int, seconds: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Submission and completion times in [0, seconds), users out of phase at the start."""
        ready = [(float(t), u) for u, t in enumerate(random.exponential(self.think, users))]
        heapq.heapify(ready)
        free = [0.0] * self.servers
        began, ended = [], []
        while ready:
            t, user = heapq.heappop(ready)
            if t >= seconds:
                break
            service = self.demand if self.fixed_service else random.exponential(self.demand)
            done = max(t, heapq.heappop(free)) + service
            heapq.heappush(free, done)
            began.append(t)
            ended.append(done)
            heapq.heappush(ready, (done + random.exponential(self.think), user))
        return np.array(began), np.array(ended)

    def study(
        self, levels: list[int], window: int, random: np.random.Generator, warmup: float = 10.0, dead: int = 0
    ) -> Series:
        """What a study of these levels observes, in observations of 1 s; `dead` users never take part."""
        load, number, rate, inside, batches = [], [], [], [], []
        edges = warmup + np.arange(window + 1)
        block = max(1, int(np.ceil(0.8 * np.sqrt(window))))
        for k, users in enumerate(levels):
            began, ended = self.run(max(0, users - dead), warmup + window, random)
            rate.append(np.histogram(ended, edges)[0].astype(float))
            overlap = np.clip(
                np.minimum(ended[:, None], edges[1:]) - np.maximum(began[:, None], edges[:-1]), 0, 1
            )
            inside.append(overlap.sum(axis=0))
            load.append(np.full(window, float(users)))
            number.append(np.full(window, k))
            batches.append(k * 1000 + np.arange(window) // block)
        return Series(
            load=np.concatenate(load),
            number=np.concatenate(number).astype(np.int64),
            throughput=np.concatenate(rate),
            seconds=np.ones(window * len(levels)),
            batches=np.concatenate(batches).astype(np.int64),
            in_transaction=np.concatenate(inside),
            think_s=self.think,
        )
