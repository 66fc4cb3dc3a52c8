"""The closed central-server model in SimPy, for run.py: `simpy_model.py SECONDS`."""

import json
import random
import sys

import simpy

CUSTOMERS, DISKS = 100, 4
THINK_S, CPU_S, DISK_S, DONE = 10.0, 0.010, 0.030, 0.1


def main(seconds: float) -> None:
    environment = simpy.Environment()
    cpu = simpy.Resource(environment)
    disks = [simpy.Resource(environment) for _ in range(DISKS)]
    chance = random.Random(1)
    # Ends of thinking and of services, as the other peers count them; SimPy itself has more events.
    events = done = 0

    def customer():
        nonlocal events, done
        while True:
            yield environment.timeout(chance.expovariate(1 / THINK_S))
            events += 1
            while True:
                with cpu.request() as turn:
                    yield turn
                    yield environment.timeout(chance.expovariate(1 / CPU_S))
                events += 1
                if chance.random() < DONE:
                    break
                with disks[chance.randrange(DISKS)].request() as turn:
                    yield turn
                    yield environment.timeout(chance.expovariate(1 / DISK_S))
                events += 1
            done += 1

    for _ in range(CUSTOMERS):
        environment.process(customer())
    environment.run(until=seconds)
    print(json.dumps({"events": events, "throughput_per_s": done / seconds}))


main(float(sys.argv[1]))
