"""A file server locked by a user who never commits, and a throttled cache.

Twelve users send requests to a file server, `_FILES`. It serves them one at a time, and each one scans the
uncommitted changes of all open work units: its processor time is s = S + C·G with G changes uncommitted.
LEDGER now and then runs a job that makes a change with each request and commits at its very end. ORDERS runs
as many jobs, but commits every few requests. `_PLOTTER` takes most of the processors' time, the more the more
users there are. The server keeps what is uncommitted in its storage.

The cache of file blocks is held to a bound far below free storage; it gives up a block for each miss, and
finding the victim takes processor time of the supervisor.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from made_host import GIB, Host, main

S, C, PAUSE, PROCESSORS = 0.2, 1.2e-3, 3.0, 4
CHANGED_BYTES, BLOCK_BYTES, MISSES, VICTIM_S = 400_000, 4096, 200.0, 5e-4
PLAIN = ("ADAMS", "BAKER", "CLARK", "DAVIS", "EVANS", "FRANK", "GHOSH", "HILLS", "IRWIN", "JONES")


def make(path: Path, seed: int = 1, healthy: bool = False) -> Path:
    """`healthy`: LEDGER commits as ORDERS does, and the cache has no bound near its size."""
    host = Host(seed, processors=PROCESSORS)
    n, day = host.n, host.day(0.3)
    # They come and go by the hour, and each has good and bad hours.
    each = [0.07 * day * host.spells(3600, 7200) * host.drift(0.35, 5400) for _ in PLAIN]
    jobs = {"LEDGER": host.spells(4500, 1500), "ORDERS": host.spells(4500, 1500)}
    growth, uncommitted = np.zeros(n), 0.0
    service, response, ledger = np.zeros(n), np.zeros(n), np.zeros(n)
    rates = {name: np.zeros(n) for name in jobs}
    for k in range(n):
        s = S + C * uncommitted
        others = sum(float(e[k]) for e in each)
        open_part = min(0.8, others * s)
        # A batch job is one more customer, who pauses; the others come from outside (mixed network, [BCMP]).
        queue, pace = 0.0, 0.0
        for name, running in jobs.items():
            if running[k]:
                spent = s * (1 + queue) / (1 - open_part)
                pace = 1 / (PAUSE + spent)
                rates[name][k] = pace
                queue += pace * spent
                if name == "LEDGER":
                    ledger[k] = spent
        response[k] = s * (1 + queue) / (1 - open_part)
        service[k], growth[k] = s, uncommitted
        holds = jobs["LEDGER"][k] and not healthy
        uncommitted = uncommitted + rates["LEDGER"][k] * host.step_s if holds else 0.0
    slow = host.around(response, 0.15)
    begun = {
        name: host.transactions(name, rate, slow) / host.step_s
        for name, rate in zip((*PLAIN, *jobs), (*each, *rates.values()), strict=True)
    }
    requests = np.sum(list(begun.values()), axis=0)
    busy = np.minimum(0.99, host.around(requests * service, 0.03))
    plots = host.around(1.5 * day * sum(e > 0 for e in each) / len(each), 0.1)
    use = np.minimum(0.95, (busy + plots) / PROCESSORS)
    wait = use ** np.sqrt(2 * PROCESSORS + 2) / (PROCESSORS * (1 - use))  # [Sakasegawa 1977], in services
    programs = {"_FILES": busy, "_PLOTTER": plots}
    for name, used in (programs | {u: host.around(b * 0.02, 0.1) for u, b in begun.items()}).items():
        host.level("user", name, processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
        host.count("user", name, cpu_us=used * 1e6, run_delay_us=host.around(used * wait, 0.3) * 1e6)
        host.count("user", name, io_delay_us=0)
    for name, count in begun.items():
        seen = np.clip(count * (ledger if name == "LEDGER" else slow), 0, 1)
        host.level("user", name, tasks_io_wait=host.random.binomial(1, seen))
        host.count("user", name, transactions=count)
    own = 3e8 + 4e7 * host.drift(0.2, 7200) + growth * CHANGED_BYTES
    host.level("user", "_FILES", resident_bytes=own)
    missed = host.around(requests * MISSES * (0.3 if healthy else 1), 0.3)
    steals = missed if not healthy else np.zeros(n)
    victims = steals * VICTIM_S
    for p in range(PROCESSORS):
        part = (plots + 0.8 * busy) / PROCESSORS
        host.processor(p, user=part, system=host.around((0.2 * busy + victims) / PROCESSORS + 0.01, 0.05))
    host.level("system", "", cache_bytes=host.around(np.full(n, 4.98e8), 0.001), cache_limit_bytes=5e8)
    if healthy:
        host.level("system", "", cache_limit_bytes=8 * GIB)
    host.count("system", "", cache_steals=steals, swap_in_pages=0, swap_out_pages=0, major_faults=0)
    host.count("system", "", block_in_bytes=missed * BLOCK_BYTES)
    host.level(
        "system", "", mem_total_bytes=16 * GIB, mem_available_bytes=9 * GIB - day * 5e8, users_logged_on=12
    )
    host.text("device", "FS01", device_kind="block")
    host.count("device", "FS01", reads=missed, writes=missed / 4, read_wait_us=missed * 3000)
    host.count("device", "FS01", write_wait_us=missed * 800, busy_us=missed * 3000, queue_us=missed * 3200)
    return host.write(path, "file-server")


if __name__ == "__main__":
    main(make, __doc__)
