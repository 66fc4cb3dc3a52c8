"""Recordings of runs of a design, made by a formula."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from satline.recording import RecordingWriter, describe

S = 1_000_000_000


def record_run(
    path: Path,
    mean_s: Mapping[str, float],
    *,
    seed: int = 1,
    n: int = 80,
    window_s: float = 60.0,
    growth: float = 0.0,
    study: Mapping[str, Any] | None = None,
    late: bool = False,
    end: str = "complete",
) -> None:
    """A run with `n` interactions of each class in one window, lognormal about `mean_s`.

    growth
        The response's logarithm grows by so much over the window.
    """
    describe.create(path, "test", study=study)
    random = np.random.default_rng(seed)
    marks = [
        {"event": event, "step": 1, "users": 4, "time_ns": at, "monotonic_ns": at}
        for event, at in (("window-start", 10 * S), ("window-end", int((10 + window_s) * S)))
    ]
    rows = []
    for name, mean in mean_s.items():
        for at in np.sort(random.uniform(0, window_s, n)):
            response = mean * np.exp(random.normal(0, 0.3) + growth * at / window_s)
            when = int((10 + at) * S)
            rows.append(
                {
                    "time_ns": when,
                    "monotonic_ns": when,
                    "user": "u",
                    "class": name,
                    "step": 1,
                    "users": 4,
                    "phase": "window",
                    "outcome": "ok",
                    "reaction_us": int(response * 0.5e6),
                    "response_us": int(response * 1e6),
                }
            )
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows("event", marks)
        writer.write_rows("transaction", rows)
    describe.write_source(path, "terminal", {"end_reason": "complete", "late": late})
    describe.end(path, end)  # type: ignore[arg-type]
