"""The write penalty of a parity array.

Twenty users read and write. Their data lie on two devices: `MIRROR` and `PARITY`, with the same disks and the
same cache for reads. A write to PARITY is four I/Os in two turns, and its write cache holds but a tenth of
what LOGGER writes once and nobody reads. A copy test to each device runs every half hour, as do the users'
own transactions, which mostly read.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from disks import array
from made_host import GIB, Host, main

USERS = [f"user{k:02d}" for k in range(1, 21)]


def make(path: Path, seed: int = 1, healthy: bool = False) -> Path:
    """`healthy`: PARITY has a write cache that takes what comes."""
    host = Host(seed, processors=4)
    n, most = host.n, len(USERS)
    here = np.clip(np.rint(most * host.day(0.1) * host.drift(0.25, 7200)), 1, most).astype(int)
    reads, writes = host.around(here * 5.0, 0.1), host.around(here * 1.0, 0.1)
    logged = host.around(8 + here * 0.5, 0.1)
    hits = np.clip(host.around(np.full(n, 0.6), 0.03), 0, 1)
    mirror = array(host, "MIRROR", reads, writes, disks=8, hits=hits, copies=2, sure=0.5)
    sure = 0.97 if healthy else 0.1
    parity = array(host, "PARITY", reads, writes + logged, disks=8, hits=hits, copies=4, sure=sure)
    place = np.argsort(host.random.random((n, most)), axis=1)
    total = np.zeros(n)
    # A transaction: 50 reads and 4 writes of each device, and 0.4 s of a processor.
    io = 50 * (mirror[0] + parity[0]) + 4 * (mirror[1] + parity[1])
    for k, user in enumerate(USERS):
        begun = host.transactions(user, 0.02 * (place[:, k] < here), io + 0.4) / host.step_s
        cpu = host.around(begun * 0.4, 0.1)
        total += cpu
        host.level("user", user, processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
        host.count("user", user, cpu_us=cpu * 1e6, run_delay_us=cpu * 2e4, io_wait_us=begun * io * 1e6)
        host.count("user", user, page_wait_us=0)
    host.level("user", "_LOGGER", processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
    host.count("user", "_LOGGER", cpu_us=host.around(logged * 500, 0.1), write_bytes=logged * 4096)
    for p in range(4):
        host.processor(
            p, user=host.around(total / 4, 0.05), system=host.around(total / 20 + 0.01, 0.05), io_wait=0.1
        )
    for device, write in (("MIRROR", mirror[1]), ("PARITY", parity[1])):
        host.probe(f"copy-to-{device}", 1800, lambda k, w=write: float(2000 * w[k]))
    host.level(
        "system", "", mem_total_bytes=16 * GIB, mem_available_bytes=9 * GIB - here * 1e8, users_logged_on=here
    )
    host.count("system", "", swap_in_pages=0, swap_out_pages=0, major_faults=0, block_in_bytes=reads * 8192)
    return host.write(path, "write-penalty")


if __name__ == "__main__":
    main(make, __doc__)
