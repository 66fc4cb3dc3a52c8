"""An archive for the first notebook: three days of a host, as `sar` prints them, made from a known system.

Four processors; each user thinks for 6 s and then needs 0.8 s of one of them. The asymptotes of throughput
cross at (6 + 0.8) × 4 / 0.8 = 34 users; beyond, more users only make the run queue longer.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

PROCESSORS, THINK_S, DEMAND_S = 4, 6.0, 0.8
EVERY = timedelta(minutes=5)
DAYS, A_DAY = 3, 288


def busy_and_queue(users: int) -> tuple[float, float]:
    """Mean processors busy and mean number at the processors, with so many users.

    The machine repairman's model: n of them are at the processors with p(n) ∝ Π λ(k − 1) / μ(k).
    """
    weights = [1.0]
    for n in range(1, users + 1):
        arrive, leave = (users - n + 1) / THINK_S, min(n, PROCESSORS) / DEMAND_S
        weights.append(weights[-1] * arrive / leave)
    total = math.fsum(weights)
    busy = math.fsum(min(n, PROCESSORS) * w for n, w in enumerate(weights)) / total
    return busy, math.fsum(n * w for n, w in enumerate(weights)) / total


def write(path: Path, seed: int = 7) -> Path:
    """Write the archive: sections of `sar -u` and `sar -q` for each day."""
    chosen = random.Random(seed)
    text = []
    for day in range(DAYS):
        begin = datetime(2026, 11, 2, tzinfo=UTC) + timedelta(days=day)
        used, queued = [], []
        for k in range(1, A_DAY):
            clock = f"{begin + k * EVERY:%H:%M:%S}"
            hour = 24 * k / A_DAY
            height = max(0.0, math.sin(math.pi * (hour - 6) / 15)) if 6 <= hour <= 21 else 0.0
            users = max(2, round((4 + 56 * height) * chosen.lognormvariate(0, 0.15)))
            busy, queue = busy_and_queue(users)
            # What varies from interval to interval, and a little work of the system itself.
            user = min(99.0, 100 * busy / PROCESSORS * chosen.lognormvariate(0, 0.02) * 0.93)
            system = min(99.9 - user, 0.07 * user + 0.3)
            queue *= chosen.lognormvariate(0, 0.05)
            shares = (user, 0.0, system, 0.0, 0.0, 100 - user - system)
            used.append(f"{clock} {'all':>10} " + " ".join(f"{share:9.2f}" for share in shares))
            queued.append(f"{clock} {queue:9.0f} {150 + users:9d} {queue:9.2f} {queue:9.2f} {queue:9.2f}")
        text += [f"Linux 6.1.0 (lab) \t{begin:%Y-%m-%d} \t_x86_64_\t({PROCESSORS} CPU)", ""]
        text += [
            f"{'00:00:00':8} {'CPU':>10}      %usr     %nice      %sys   %iowait    %steal     %idle",
            *used,
            "",
        ]
        text += ["00:00:00   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15", *queued, ""]
    path.write_text("\n".join(text))
    return path
