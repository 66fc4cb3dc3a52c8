"""Clients that stamp what they send and get, in real time so that their stamps hold on a busy host."""

from __future__ import annotations

import heapq
import os
import random
import selectors
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass


@dataclass
class Asked:
    """A request as its client saw it; times are those of CLOCK_MONOTONIC, ns."""

    client: int
    sent_ns: int
    first_ns: int | None = None
    last_ns: int | None = None


@dataclass
class Client:
    """One connection, or one after another."""

    number: int
    port: int
    keep: bool
    tls: bool
    lines: bool
    path: Callable[[], str]
    think_s: Callable[[], float]
    socket: socket.socket | None = None
    asked: Asked | None = None
    got: bytes = b""
    left: int | None = None

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.socket.setblocking(False)

    def ask(self) -> Asked:
        text = self.path()
        words = f"GET {text}\n" if self.lines else f"GET {text} HTTP/1.1\r\nHost: a\r\n\r\n"
        assert self.socket is not None
        self.got, self.left = b"", None
        self.asked = Asked(self.number, time.monotonic_ns())
        self.socket.sendall(words.encode())
        return self.asked

    def take(self) -> bool:
        """Read what has come; is the answer over? Without a request under way: a session's keys, of TLS."""
        assert self.socket is not None
        now = time.monotonic_ns()
        while True:
            try:
                data = self.socket.recv(1 << 20)
            except (BlockingIOError, ssl.SSLWantReadError):
                return False
            if not data:
                return True
            if self.asked is not None and self.count(data, now):
                return True

    def count(self, data: bytes, now: int) -> bool:
        assert self.asked is not None
        if self.asked.first_ns is None:
            self.asked.first_ns = now
        self.asked.last_ns = now
        if self.left is not None:
            self.left -= len(data)
            return self.left <= 0
        self.got += data
        end = b"\n" if self.lines else b"\r\n\r\n"
        if end not in self.got:
            return False
        head, body = self.got.split(end, 1)
        size = head if self.lines else head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
        self.left = int(size) - len(body)
        return self.left <= 0


def in_real_time() -> None:
    """Run before all others, where that is allowed."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


def run(
    port: int,
    *,
    kind: str,
    clients: int,
    seconds: float,
    think_s: float,
    seed: int,
    paths: list[str],
    requests: int | None = None,
) -> list[Asked]:
    """Let so many clients ask for so long, each the next request when it has thought about the last answer.

    Returns every request. With `requests`: it ends when so many have been answered.
    """
    chosen = random.Random(seed)
    waiting: list[tuple[float, int]] = []
    found: list[Asked] = []
    selector = selectors.DefaultSelector()
    all_clients: list[Client] = []
    for number in range(clients):
        one = Client(
            number=number,
            port=port,
            keep=kind != "single",
            tls=kind == "tls",
            lines=kind == "lines",
            path=lambda: chosen.choice(paths),
            think_s=lambda: chosen.expovariate(1 / think_s) if think_s else 0.0,
        )
        all_clients.append(one)
        if one.keep:
            one.connect()
            selector.register(one.socket, selectors.EVENT_READ, one)
        heapq.heappush(waiting, (time.monotonic() + one.think_s(), number))
    end = time.monotonic() + seconds
    under_way = answered = 0
    while (under_way or time.monotonic() < end) and (requests is None or answered < requests):
        now = time.monotonic()
        while waiting and waiting[0][0] <= now and now < end:
            one = all_clients[heapq.heappop(waiting)[1]]
            if one.socket is None:
                one.connect()
                assert one.socket is not None
                selector.register(one.socket, selectors.EVENT_READ, one)
            found.append(one.ask())
            under_way += 1
        pause = min(waiting[0][0] - now if waiting else 0.05, 0.05)
        for key, _ in selector.select(max(pause, 0)):
            one = key.data
            if not one.take() or one.asked is None:
                continue
            under_way -= 1
            answered += 1
            if not one.keep:
                selector.unregister(one.socket)
                one.socket.close()
                one.socket = None
            one.asked = None
            heapq.heappush(waiting, (time.monotonic() + one.think_s(), one.number))
    for one in all_clients:
        if one.socket is not None:
            one.socket.close()
    return found
