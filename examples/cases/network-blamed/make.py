"""A network that is blamed while the processors are full.

Users of a database across a network think, send a request and wait. A request takes 0.2 s on the wire and 6 s
of one of two processors, so that 15 users fill them: N* = (Z + D) / (D / m). Each answer moves 4,000 packets,
so that the interface is busier whenever users wait longer. Two probes move the same bytes now and then, one
in a single stream and one in four.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from made_host import GIB, Host, closed, main

THINK, CPU, WIRE, PACKETS = 40.0, 6.0, 0.2, 4000
USERS = [f"user{k:02d}" for k in range(1, 31)]


def make(path: Path, seed: int = 1, healthy: bool = False) -> Path:
    processors = 8 if healthy else 2
    host = Host(seed, processors=processors)
    random, n = host.random, host.n
    # m servers as one of m times their pace, and the rest of the service as a delay (Seidmann 1987).
    network = closed(
        {"cpu": CPU / processors, "cpu+": CPU * (1 - 1 / processors), "wire+": WIRE}, THINK, len(USERS)
    )
    here = np.clip(np.rint(len(USERS) * host.day(0.05) * host.drift(0.25, 7200)), 1, len(USERS)).astype(int)
    rate, response = network["rate"][here] / here, network["response"][here]
    waiting = np.maximum(0.0, network["cpu"][here] + network["cpu+"][here] - CPU)
    total, runnable = np.zeros(n), np.zeros(n)
    place = np.argsort(random.random((n, len(USERS))), axis=1)
    for k, user in enumerate(USERS):
        begun = host.transactions(user, rate * (place[:, k] < here), response) / host.step_s
        used = np.minimum(processors / 2, host.around(begun * CPU, 0.1))
        total += used
        runnable += begun * waiting
        host.level("user", user, processes=1, resident_bytes=host.around(np.full(n, 2e7), 0.1))
        host.count("user", user, cpu_us=used * 1e6, run_delay_us=begun * waiting * 1e6, io_delay_us=0)
    busy = np.minimum(0.995, host.around(total / processors, 0.02))
    for p in range(processors):
        host.processor(p, user=busy * 0.85, system=busy * 0.15)
    packets = host.around(network["rate"][here] * PACKETS, 0.1)
    host.text("device", "eth0", device_kind="network")
    host.count("device", "eth0", reads=packets / 3, writes=packets, errors=host.random.random(n) < 0.001)
    host.count("device", "eth0", read_bytes=packets / 3 * 90, write_bytes=packets * 1200)
    host.text("device", "disk1", device_kind="block")
    ios = host.around(network["rate"][here] * 30, 0.1)
    host.count("device", "disk1", reads=ios, writes=ios / 3, read_wait_us=ios * 900, write_wait_us=ios * 300)
    host.count("device", "disk1", busy_us=ios * 1100, queue_us=ios * 1200)
    host.level("system", "", users_logged_on=here, mem_total_bytes=16 * GIB)
    host.level("system", "", mem_available_bytes=9 * GIB + here * 1e8)
    host.count("system", "", pressure_cpu_some_us=np.minimum(0.99, runnable) * 1e6)
    host.count("system", "", swap_in_pages=0, swap_out_pages=0, major_faults=0, block_in_bytes=ios * 4096)
    # Four streams overlap their wait for the wire, but not for the processors.
    for kind, wire in (("one-stream", 4.0), ("four-streams", 3.0)):
        host.probe(
            kind, 1800, lambda k, w=wire: float(random.lognormal(0, 0.1) * (w + 3 * (CPU + waiting[k]) / CPU))
        )
    return host.write(path, "network-blamed")


if __name__ == "__main__":
    main(make, __doc__)
