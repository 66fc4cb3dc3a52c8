"""A closed system with one processor that is shared alike, users of several kinds and transactions of several
classes: what it would record, made quickly, and what is known of it exactly."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from made_recording import MadeRecording, at

from satline.prediction import CustomerClass, Network, Station, exact_classes


@dataclass(frozen=True)
class Kind:
    """Users who are alike: part of all, mean pause, and what part of their transactions each class is."""

    part: float
    think_s: float
    mix: dict[str, float]


@dataclass(frozen=True)
class Mixed:
    """Users think for exponential times; a class needs its mean time of the processor, exponential too.

    varies
        How the mixture of the users changes from one part of a step to the next: each tenth of a step it is
        another. Of users with two classes only.
    """

    kinds: dict[str, Kind]
    cpu_s: dict[str, float]
    levels: tuple[int, ...]
    window_s: float = 400.0
    warmup_s: float = 20.0
    varies: bool = False
    accounts: bool = True
    scripts: bool = True

    def counts(self, users: int) -> list[int]:
        made = [round(users * kind.part) for kind in self.kinds.values()]
        made[0] += users - sum(made)
        return made

    def truth(self, users: int) -> tuple[float, float, dict[str, float]]:
        """Throughput and response of all, and response by class: exact."""
        needs = [sum(p * self.cpu_s[c] for c, p in kind.mix.items()) for kind in self.kinds.values()]
        chains = tuple(
            CustomerClass(name, n, kind.think_s)
            for (name, kind), n in zip(self.kinds.items(), self.counts(users), strict=True)
        )
        made = exact_classes(Network(chains, (Station("cpu", tuple(needs)),)))
        rate: dict[str, float] = defaultdict(float)
        time: dict[str, float] = defaultdict(float)
        for h, kind in enumerate(self.kinds.values()):
            stretch = made.response_s[h] / needs[h]
            for name, part in kind.mix.items():
                rate[name] += made.throughput[h] * part
                time[name] += made.throughput[h] * part * self.cpu_s[name] * stretch
        total = sum(rate.values())
        return total, sum(time.values()) / total, {name: time[name] / rate[name] for name in rate}

    def make(self, seed: int = 1) -> MadeRecording:
        """The recording."""
        random = np.random.default_rng(seed)
        rows: dict[str, list[dict[str, Any]]] = {
            n: [] for n in ("event", "transaction", "system", "processor")
        }
        length = self.warmup_s + self.window_s
        spans: list[tuple[float, float]] = []
        for step, users in enumerate(self.levels, start=1):
            start = (step - 1) * length
            marks = {"source": "machine", "step": step, "users": users}
            rows["event"].append({**at(start + self.warmup_s), **marks, "event": "window-start"})
            rows["event"].append({**at(start + length), **marks, "event": "window-end"})
            self._step(step, users, start, start + length, random, rows["transaction"], spans)
        rows["transaction"].sort(key=lambda r: r["monotonic_ns"])
        edges = np.array(spans)
        times = np.arange(0, length * len(self.levels) + 0.5, 1.0)
        whole = np.concatenate([[0.0], np.cumsum(edges[:, 1] - edges[:, 0])])
        before = np.searchsorted(edges[:, 0], times)
        last = np.maximum(before - 1, 0)
        busy = whole[last] + np.clip(times - edges[last, 0], 0, edges[last, 1] - edges[last, 0])
        busy = np.where(before == 0, 0.0, busy)
        for k, t in enumerate(times):
            rows["system"].append({**at(float(t)), "sample": k})
            used = round(float(busy[k]) * 1e6)
            idle = round(float(t) * 1e6) - used
            rows["processor"].append(
                {**at(float(t)), "processor": "0", "user_us": used, "nice_us": 0, "system_us": 0}
                | {"irq_us": 0, "idle_us": idle, "iowait_us": 0, "steal_us": 0, "guest_us": 0}
            )
        description = {"host": {"page_bytes": 4096, "processors": 1, "name": "made"}}
        monitor = {"sampling": {"interval_ms": 1000}, "users": {"definition": "emulated"}}
        return MadeRecording(rows, description, {"monitor": monitor})

    def _step(
        self,
        step: int,
        users: int,
        start: float,
        end: float,
        random: np.random.Generator,
        rows: list[dict[str, Any]],
        spans: list[tuple[float, float]],
    ) -> None:
        of = [name for name, n in zip(self.kinds, self.counts(users), strict=True) for _ in range(n)]
        think = np.array([self.kinds[name].think_s for name in of])
        ready = start + random.exponential(think)
        left, begun, need = np.full(users, np.inf), np.zeros(users), np.zeros(users)
        kind, pause = [""] * users, ready - start
        t, since = start, None
        while t < end:
            here = int(np.isfinite(left).sum())
            done = t + float(left.min()) * here if here else np.inf
            comes = float(ready.min())
            now = min(done, comes)
            left -= (now - t) / max(here, 1)
            t = now
            if done <= comes:
                u = int(left.argmin())
                left[u] = np.inf
                rows.append(self._row(step, users, u, of[u], kind[u], begun[u], t, pause[u], need[u]))
                pause[u] = float(random.exponential(think[u]))
                ready[u] = t + pause[u]
            else:
                u = int(ready.argmin())
                ready[u], begun[u] = np.inf, t
                kind[u] = self._draw(of[u], (t - start) / (end - start), random)
                left[u] = need[u] = float(random.exponential(self.cpu_s[kind[u]]))
            busy = bool(np.isfinite(left).any())
            if busy and since is None:
                since = t
            if not busy and since is not None:
                spans.append((since, t))
                since = None
        if since is not None:
            spans.append((since, end))

    def _draw(self, user: str, at_part: float, random: np.random.Generator) -> str:
        names, parts = zip(*self.kinds[user].mix.items(), strict=True)
        if self.varies:
            swing = 0.9 if int(at_part * 10) % 2 else 0.1
            parts = (swing, 1 - swing)
        return str(names[int(random.choice(len(names), p=parts))])

    def _row(
        self,
        step: int,
        users: int,
        user: int,
        script: str,
        kind: str,
        begun: float,
        ended: float,
        pause: float,
        need: float,
    ) -> dict[str, Any]:
        response = round((ended - begun) * 1e6)
        accounts = {"cpu_us": round(need * 1e6), "run_delay_us": max(0, response - round(need * 1e6))}
        return {
            **at(begun),
            "user": f"{script}-{user:03d}",
            "step": step,
            "users": users,
            "phase": "window",
            **({"script": script} if self.scripts else {}),
            "class": kind,
            "outcome": "ok",
            "think_us": round(pause * 1e6),
            "typing_us": 0,
            "response_us": response,
            "reaction_us": response,
            **(accounts if self.accounts else {}),
        }
