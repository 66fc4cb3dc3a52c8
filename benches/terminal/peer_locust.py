"""Locust's own users on the HTTP responder: `peer_locust.py PORT USERS THINK_S SECONDS` prints JSON."""

from __future__ import annotations

import json
import random
import sys
import time

import gevent
from locust import FastHttpUser, task
from locust.env import Environment


def main() -> None:
    port, users, think, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])

    class Reader(FastHttpUser):
        @task
        def get(self) -> None:
            self.client.get(f"/line/{random.randint(1, 1000)}", name="line")

        def wait_time(self) -> float:
            return random.expovariate(1 / think) if think else 0.0

    environment = Environment(user_classes=[Reader], host=f"http://127.0.0.1:{port}")
    runner = environment.create_local_runner()
    runner.start(users, spawn_rate=users)
    gevent.sleep(3)
    before, began, cpu = environment.stats.total.num_requests, time.monotonic(), time.process_time()
    gevent.sleep(seconds)
    done = environment.stats.total.num_requests - before
    took, used = time.monotonic() - began, time.process_time() - cpu
    failed = environment.stats.total.num_failures
    runner.quit()
    print(json.dumps({"per_second": done / took, "cpu_us": used * 1e6 / max(1, done), "not_ok": failed}))


if __name__ == "__main__":
    main()
