"""What a study of a closed system with one server would record, made quickly and of known truth."""

from __future__ import annotations

import numpy as np
from closed_system import Closed

from satline.prediction._signals import PROCESSORS, Resource, Signals


def record(
    system: Closed,
    levels: list[int],
    window: int,
    seed: int,
    *,
    background: float = 0.0,
    paging: float = 0.0,
) -> Signals:
    """Observations of 1 s; the server is busy for its users and for a `background` besides."""
    random = np.random.default_rng(seed)
    warmup = 10.0
    edges = warmup + np.arange(window + 1)
    columns: dict[str, list[np.ndarray]] = {
        n: [] for n in ("load", "number", "rate", "inside", "busy", "block")
    }
    for k, users in enumerate(levels):
        began, ended = system.run(users, warmup + window, random)
        started = np.maximum(began, np.concatenate([[0.0], ended[:-1]]))

        def within(start: np.ndarray, end: np.ndarray) -> np.ndarray:
            shared = np.minimum(end[:, None], edges[1:]) - np.maximum(start[:, None], edges[:-1])
            return np.clip(shared, 0, 1).sum(axis=0)

        columns["load"].append(np.full(window, float(users)))
        columns["number"].append(np.full(window, k))
        columns["rate"].append(np.histogram(ended, edges)[0].astype(float))
        columns["inside"].append(within(began, ended))
        columns["busy"].append(np.minimum(within(started, ended), 1 - background) + background)
        columns["block"].append(k * 1000 + np.arange(window) // max(1, int(np.ceil(0.8 * np.sqrt(window)))))
    made = {n: np.concatenate(c) for n, c in columns.items()}
    size = len(made["load"])
    return Signals(
        load=made["load"],
        number=made["number"].astype(np.int64),
        batches=made["block"].astype(np.int64),
        seconds=np.ones(size),
        work=made["rate"],
        unit="transaction",
        resources=(Resource(PROCESSORS, made["busy"], 1.0),),
        in_transaction=made["inside"],
        page_share=np.full(size, paging),
        supervisor=np.full(size, np.nan),
        stolen=0.0,
        closed=True,
    )
