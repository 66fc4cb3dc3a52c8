"""A saturated master processor.

Six processors, of which number 0 is the master: the communication function runs on it alone. A transaction
needs 4.5 s of any of the other five and 2.7 s of the master, so that 16 users fill the master while the
others are a third busy: N* = (Z + D) / D_master. The control program sends what it can elsewhere, so that the
master does hardly any work of users.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from made_host import GIB, Host, closed, main

THINK, ANY, MASTER, PROCESSORS = 36.0, 4.5, 2.7, 6
USERS = [f"user{k:02d}" for k in range(1, 27)]


def make(path: Path, seed: int = 1, healthy: bool = False) -> Path:
    """`healthy`: the function was made to run on every processor."""
    host = Host(seed, processors=PROCESSORS)
    n, most = host.n, len(USERS)
    if healthy:
        whole, each = ANY + MASTER, (ANY + MASTER) / PROCESSORS
        network = closed({"any": each, "any+": whole - each}, THINK, most)
    else:
        each = ANY / (PROCESSORS - 1)
        network = closed({"any": each, "any+": ANY - each, "master": MASTER}, THINK, most)
    here = np.clip(np.rint(most * host.day(0.05) * host.drift(0.25, 7200)), 1, most).astype(int)
    rate, response = network["rate"][here] / here, network["response"][here]
    own = ANY + MASTER if healthy else ANY
    delay = np.maximum(0.0, network["any"][here] + network["any+"][here] - own)
    place = np.argsort(host.random.random((n, most)), axis=1)
    total = np.zeros(n)
    for k, user in enumerate(USERS):
        begun = host.transactions(user, rate * (place[:, k] < here), response) / host.step_s
        used = np.minimum(1.0, host.around(begun * own, 0.1))
        total += used
        host.level("user", user, processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
        host.count("user", user, cpu_us=used * 1e6, run_delay_us=begun * delay * 1e6, io_delay_us=0)
    everyone = PROCESSORS if healthy else PROCESSORS - 1
    for p in range(PROCESSORS):
        if p == 0 and not healthy:
            # The utilization law; what little it does for users it takes while its own queue is empty.
            function = np.minimum(0.99, host.around(network["rate"][here] * MASTER, 0.02))
            host.processor(p, user=0.3 * (1 - function) * total / everyone, system=function)
            continue
        busy = np.minimum(0.99, host.around(total / everyone, 0.08))
        host.processor(p, user=0.8 * busy, system=0.2 * busy)
    ios = host.around(network["rate"][here] * 30, 0.1)
    host.text("device", "disk1", device_kind="block")
    host.count("device", "disk1", reads=ios, writes=ios / 3, read_wait_us=ios * 900, write_wait_us=ios * 300)
    host.count("device", "disk1", busy_us=ios * 1100, queue_us=ios * 1200)
    host.level("system", "", users_logged_on=here, mem_total_bytes=16 * GIB)
    host.level("system", "", mem_available_bytes=9 * GIB - here * 1e8)
    host.count("system", "", swap_in_pages=0, swap_out_pages=0, major_faults=0, block_in_bytes=ios * 4096)
    return host.write(path, "master-processor")


if __name__ == "__main__":
    main(make, __doc__)
