"""Locust with users on ptys: `peer_locust_pty.py RESPONDER USERS THINK_S SECONDS` prints JSON.

Locust knows no terminals, so this is what somebody would write for it: a `User` whose task sends a line by
ptyprocess and waits for the second line end, that of the answer after the echo, while gevent runs the others.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time

from ptyprocess import PtyProcess

# Before locust, whose patched fork keeps a child from getting as far as its program.
RESPONDER, USERS, THINK_S, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
CHILDREN = [PtyProcess.spawn([RESPONDER, os.devnull]) for _ in range(USERS)]

import gevent  # noqa: E402
from gevent.os import make_nonblocking, nb_read, nb_write  # noqa: E402
from locust import User, task  # noqa: E402
from locust.env import Environment  # noqa: E402


def main() -> None:
    free = list(CHILDREN)
    late: list[float] = []

    class Typist(User):
        def on_start(self) -> None:
            self.child = free.pop()
            make_nonblocking(self.child.fd)
            self.until(1)
            self.due = time.monotonic()

        def on_stop(self) -> None:
            self.child.close(force=True)

        def until(self, ends: int) -> int:
            size = 0
            while ends > 0:
                data = nb_read(self.child.fd, 4096)
                size += len(data)
                ends -= data.count(b"\n")
            return size

        @task
        def line(self) -> None:
            began = time.perf_counter()
            late.append((time.monotonic() - self.due) * 1e6)
            nb_write(self.child.fd, f"line {random.randint(1, 1000)}\r".encode())
            size = self.until(2)
            self.environment.events.request.fire(
                request_type="PTY",
                name="line",
                response_time=(time.perf_counter() - began) * 1000,
                response_length=size,
                exception=None,
                context={},
            )

        def wait_time(self) -> float:
            pause = random.expovariate(1 / THINK_S) if THINK_S else 0.0
            self.due = time.monotonic() + pause
            return pause

    environment = Environment(user_classes=[Typist])
    runner = environment.create_local_runner()
    runner.start(USERS, spawn_rate=USERS)
    gevent.sleep(3)
    before, began, cpu = environment.stats.total.num_requests, time.monotonic(), time.process_time()
    late.clear()
    gevent.sleep(SECONDS)
    done = environment.stats.total.num_requests - before
    took, used = time.monotonic() - began, time.process_time() - cpu
    late.sort()
    failed = environment.stats.total.num_failures
    print(
        json.dumps(
            {
                "per_second": done / took,
                "cpu_us": used * 1e6 / max(1, done),
                "lateness_p50_us": late[len(late) // 2] if late else None,
                "lateness_p99_us": late[len(late) * 99 // 100] if late else None,
                "not_ok": failed,
            }
        ),
        flush=True,
    )
    runner.quit()


if __name__ == "__main__":
    main()
