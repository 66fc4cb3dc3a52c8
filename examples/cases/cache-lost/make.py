"""The cache lost on one control unit.

Three control units, A10, B10 and C10, with two devices each. On Thursday at 2 the cache of B10 fails: its
devices go on without it, every read waits for a disk, and the control unit reports no cache counters any
more. On Wednesday C10 is busier than ever, as a decoy: a report of averages shows it first.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from disks import array
from made_host import GIB, Host, main

USERS = [f"user{k:02d}" for k in range(1, 17)]
FAILS_S = 3 * 86_400 + 2 * 3600


def make(path: Path, seed: int = 1, healthy: bool = False) -> Path:
    host = Host(seed, processors=4)
    n, most = host.n, len(USERS)
    at = np.arange(n) * host.step_s
    here = np.clip(np.rint(most * host.day(0.15) * host.drift(0.25, 7200)), 1, most).astype(int)
    wednesday = np.where((at >= 2 * 86_400) & (at < 3 * 86_400), 1.6, 1.0)
    times = []
    for unit in ("A10", "B10", "C10"):
        for device in (f"{unit}-1", f"{unit}-2"):
            reads = host.around(here * 4.0 * (wednesday if unit == "C10" else 1.0), 0.15)
            hits = np.clip(host.around(np.full(n, 0.75), 0.03), 0, 1)
            if unit == "B10" and not healthy:
                hits = np.where(at >= FAILS_S, np.nan, hits)
            times.append(array(host, device, reads, reads / 4, disks=4, hits=hits, copies=2, sure=0.6))
    io = sum(12 * read + 3 * write for read, write in times)
    place = np.argsort(host.random.random((n, most)), axis=1)
    total = np.zeros(n)
    for k, user in enumerate(USERS):
        begun = host.transactions(user, 0.02 * (place[:, k] < here), io + 0.2) / host.step_s
        cpu = host.around(begun * 0.2, 0.1)
        total += cpu
        host.level("user", user, processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
        host.count("user", user, cpu_us=cpu * 1e6, run_delay_us=cpu * 2e4, io_wait_us=begun * io * 1e6)
        host.count("user", user, page_wait_us=0)
    for p in range(4):
        host.processor(
            p, user=host.around(total / 4, 0.05), system=host.around(total / 20 + 0.01, 0.05), io_wait=0.1
        )
    host.level(
        "system", "", mem_total_bytes=16 * GIB, mem_available_bytes=9 * GIB - here * 1e8, users_logged_on=here
    )
    host.count("system", "", swap_in_pages=0, swap_out_pages=0, major_faults=0, block_in_bytes=here * 1e5)
    return host.write(path, "cache-lost")


if __name__ == "__main__":
    main(make, __doc__)
