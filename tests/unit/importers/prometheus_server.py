"""A small Prometheus for tests: it answers the two query calls from samples that it holds."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

_MATCHER = re.compile(r'(\w+)(=~|=)("(?:[^"\\]|\\.)*")')
_SPAN = re.compile(r"\}\[(\d+)ms\]$")


@dataclass
class Prometheus:
    """Series by their labels, and how the server behaves.

    refuse_above
        A query that touches more samples fails, as by --query.max-samples.
    """

    series: dict[tuple[tuple[str, str], ...], list[tuple[int, float]]] = field(default_factory=dict)
    refuse_above: int = 10**9
    authorization: str | None = None
    behave: str = ""
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, name: str, labels: dict[str, str], time_ms: int, value: float) -> None:
        key = tuple(sorted({"__name__": name, **labels}.items()))
        self.series.setdefault(key, []).append((time_ms, value))

    def scrape(self, time_ms: int, samples: list[Any], **target: str) -> None:
        """Add one scrape of a target."""
        for name, labels, value in samples:
            self.add(name, {**labels, **target}, time_ms, value)

    def answer(self, call: str, parameters: dict[str, str]) -> tuple[int, Any]:
        query = parameters["query"]
        self.asked.append(query)
        found = [(dict(k), v) for k, v in self.series.items() if _fits(dict(k), query)]
        if call == "query":
            span = _SPAN.search(query)
            assert span, query
            last = round(float(parameters["time"]) * 1000)
            first = last - int(span[1])
            inside = [(k, [(t, x) for t, x in v if first < t <= last]) for k, v in found]
        else:
            start, end, step = (round(float(parameters[k]) * 1000) for k in ("start", "end", "step"))
            assert (end - start) / step < 11_000
            inside = [(k, _at_steps(v, start, end, step)) for k, v in found]
        if sum(len(v) for _, v in inside) > self.refuse_above:
            error = "query processing would load too many samples into memory in query execution"
            return 422, {"status": "error", "errorType": "execution", "error": error}
        result = [{"metric": k, "values": [[t / 1000, repr(x)] for t, x in v]} for k, v in inside if v]
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": result}}


def _fits(labels: dict[str, str], query: str) -> bool:
    for name, how, text in _MATCHER.findall(query):
        wanted, value = json.loads(text), labels.get(name, "")
        if not (re.fullmatch(wanted, value) if how == "=~" else wanted == value):
            return False
    return "{" in query


def _at_steps(samples: list[tuple[int, float]], start: int, end: int, step: int) -> list[tuple[int, float]]:
    made = []
    for at in range(start, end + 1, step):
        seen = [x for t, x in samples if at - 300_000 < t <= at]
        if seen:
            made.append((at, seen[-1]))
    return made


@contextmanager
def serving(prometheus: Prometheus) -> Iterator[Prometheus]:
    """The server at a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            parameters = {k: v[0] for k, v in parse_qs(self.rfile.read(length).decode()).items()}
            wanted = prometheus.authorization
            if wanted is not None and self.headers.get("Authorization") != wanted:
                self._say(401, b"no")
            elif prometheus.behave == "html":
                self._say(200, b"<html>")
            elif prometheus.behave == "redirect":
                self.send_response(302)
                self.send_header("Location", "http://elsewhere.example/")
                self.end_headers()
            elif prometheus.behave == "error":
                self._say(400, b'{"status":"error","errorType":"bad_data","error":"parse error"}')
            else:
                status, answer = prometheus.answer(self.path.rpartition("/")[2], parameters)
                self._say(status, json.dumps(answer).encode())

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    prometheus.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield prometheus
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
