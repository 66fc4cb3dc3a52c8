"""`satline record --services`: requests to services are recorded as their clients saw them."""

import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satline.recording import Recording

from .conftest import TREE, Satline
from .ssh_server import SshServer
from .watched import Recorder, skip_unless_had

sys.path.insert(0, str(TREE / "benches/services"))
from answered import crowd, differences, lost_of, matched, paths_of, rows_of
from servers import installed, server

pytestmark = pytest.mark.system


@pytest.fixture
def host(satline: Satline) -> Satline:
    """Where requests can be watched; else the test is skipped with the reason."""
    skip_unless_had("requests to services")
    return satline


def recorder(satline: Satline, *words: str) -> Recorder:
    """A recording of services in a block."""
    return Recorder(satline, "--services", *words)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "asyncio", "single", "tls", "lines", "nginx"])
def test_requests_are_recorded_as_clients_saw_them(host: Satline, kind: str) -> None:
    if not installed(kind):
        pytest.skip(f"{kind}: the program is not installed")
    directory = host.recording.parent / kind
    # nginx opens its files as another user.
    for parent in [directory, *directory.parents][:4]:
        if parent.exists() and parent.stat().st_uid == os.getuid() and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o55)
    paths = paths_of(kind, directory)
    with server(kind, directory) as port:
        with recorder(host) as recording:
            think_s = 1.0 if kind == "single" else 0.2
            asked = crowd(port, kind, clients=10, seconds=5, think_s=think_s, seed=7, paths=paths)
        rows = rows_of(recording, port)
    pairs = matched(asked, rows)
    assert len(asked) > 20
    assert sum(row is not None for _, row in pairs) >= 0.98 * len(asked)
    # A handshake of TLS is told as a request of its own.
    assert len(rows) <= len(asked) + (30 if kind == "tls" else 0)
    for values in differences(pairs).values():
        assert len(values) >= 0.98 * len(asked)
        assert abs(statistics.median(values)) <= 2
    connections = {row[5] for row in rows}
    assert len(connections) == (len(rows) if kind == "single" else 10)


class Scripted:
    """A service that does with its one connection what the test says."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=lambda: serve(self.listener.accept()[0]), daemon=True)

    def __enter__(self) -> socket.socket:
        self.thread.start()
        self.client = socket.create_connection(("127.0.0.1", self.port))
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.thread.join(120)
        self.listener.close()


def one_answer(connection: socket.socket) -> None:
    with connection:
        connection.recv(100)
        time.sleep(0.2)
        connection.sendall(b"first")
        time.sleep(0.2)
        connection.sendall(b"second")
        connection.recv(100)


def test_an_answer_has_a_first_and_a_last_byte(host: Satline) -> None:
    service = Scripted(one_answer)
    with recorder(host, "--command-names") as recording, service as client:
        time.sleep(0.3)
        client.sendall(b"sesame")
        assert client.recv(11, socket.MSG_WAITALL)
        time.sleep(0.5)
    (row,) = rows_of(recording, service.port)
    _, reaction, response, _, outcome, _, think, kind, _ = row
    assert outcome == "ok"
    assert 190_000 <= reaction < response
    assert response >= 390_000
    assert think >= 290_000
    assert kind.startswith(f"tcp/{service.port} ")
    for path in recording.rglob("*"):
        assert not path.is_file() or b"sesame" not in path.read_bytes()


def test_a_request_without_an_answer_is_cut(host: Satline) -> None:
    def drop(connection: socket.socket) -> None:
        connection.recv(100)
        connection.close()

    service = Scripted(drop)
    with recorder(host) as recording, service as client:
        client.sendall(b"x")
        assert client.recv(100) == b""
    (row,) = rows_of(recording, service.port)
    assert (row[1], row[2], row[4]) == (None, None, "cut")


def test_a_connection_that_is_older_than_the_recording_counts(host: Satline) -> None:
    def echo(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(100):
                connection.sendall(data)

    service = Scripted(echo)
    with service as client:
        client.sendall(b"x")
        client.recv(1)
        with recorder(host) as recording:
            for _ in range(3):
                client.sendall(b"x")
                client.recv(1)
    rows = rows_of(recording, service.port)
    assert [row[4] for row in rows] == ["ok"] * 3
    assert len({row[5] for row in rows}) == 1


def test_requests_sent_ahead_are_marked(host: Satline) -> None:
    ahead = threading.Event()

    def line_by_line(connection: socket.socket) -> None:
        with connection:
            while connection.recv(1):
                connection.sendall(b"a")
                assert ahead.wait(120)
                time.sleep(0.1)
                connection.sendall(b"b")

    service = Scripted(line_by_line)
    with recorder(host) as recording, service as client:
        client.sendall(b"1")
        assert client.recv(1) == b"a"
        client.sendall(b"2")
        ahead.set()
        client.recv(3, socket.MSG_WAITALL)
    rows: list[Any] = rows_of(recording, service.port)
    assert [row[8] for row in rows] == [1, 0]
    # The second had come long before it was read.
    assert rows[1][3] >= 50_000
    assert rows[1][1] >= rows[1][3]
    assert rows[1][6] is None, "nobody thought about it"


@pytest.mark.slow
def test_no_request_is_lost_uncounted(host: Satline) -> None:
    with server("asyncio", host.recording.parent / "service") as port:
        with recorder(host) as recording:
            monitor = int(
                subprocess.run(
                    ["pgrep", "-f", f"satline-monitor --recording {recording}"],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()[0]
            )
            os.kill(monitor, signal.SIGSTOP)
            how = {"clients": 8, "seconds": 300, "think_s": 0, "seed": 1, "requests": 18_000}
            asked = crowd(port, "asyncio", **how, paths=["/0/0/100"])
            os.kill(monitor, signal.SIGCONT)
            time.sleep(2)
        recorded, lost = len(rows_of(recording, port)), lost_of(recording)
    assert recorded >= 16_000
    assert lost > 0
    assert abs(recorded + lost - len(asked)) <= 8


def test_users_and_groups_of_services_are_those_of_their_processes(host: Satline) -> None:
    service = Scripted(one_answer)
    with recorder(host) as recording, service as client:
        client.sendall(b"x")
        client.recv(11, socket.MSG_WAITALL)
    connection = Recording.open(recording).connect(tables=["transaction"])
    user, group = connection.execute(
        'SELECT "user", cgroup FROM transaction WHERE class = ?', [f"tcp/{service.port}"]
    ).fetchall()[0]
    connection.close()
    assert user == "root"
    own = Path("/proc/self/cgroup").read_text()
    assert any(line.endswith(f":{group}") for line in own.splitlines()), (group, own)


def by_ssh(server: SshServer, *words: str) -> subprocess.Popen[bytes]:
    """A session with a shell, which has said that it is there."""
    command = [
        *("ssh", "-q", *words, "-p", str(server.port), "-i", str(server.identity)),
        *("-o", f"UserKnownHostsFile={server.known_hosts}", "-o", "BatchMode=yes"),
        *(f"root@{server.address}", "exec sh"),
    ]
    session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say(session, b"echo re''ady", b"ready")
    return session


def say(session: subprocess.Popen[bytes], line: bytes, answer: bytes) -> None:
    assert session.stdin is not None
    assert session.stdout is not None
    session.stdin.write(line + b"\n")
    session.stdin.flush()
    while answer not in (got := session.stdout.readline()):
        assert got, "the session ended"


def test_lines_by_ssh_are_rows_where_there_is_no_terminal(host: Satline, tmp_path: Path) -> None:
    server = SshServer(tmp_path / "sshd")
    try:
        with recorder(host) as recording:
            spans = {}
            for kind in ("-T", "-tt"):
                session = by_ssh(server, kind)
                time.sleep(0.3)
                begun = time.monotonic_ns()
                for _ in range(4):
                    say(session, b"sleep 0.3; echo do''ne", b"done")
                    time.sleep(0.2)
                spans[kind] = (begun, time.monotonic_ns())
                session.communicate(b"exit\n", timeout=60)
        rows = rows_of(recording, server.port)
    finally:
        server.stop()
    within = {kind: [row for row in rows if begun <= row[0] <= end] for kind, (begun, end) in spans.items()}
    # At a terminal a line is a transaction already (--terminals), and no request besides.
    assert not within["-tt"]
    slow = [row for row in within["-T"] if row[2] is not None and row[2] >= 290_000]
    assert len(slow) == 4
    assert all(row[4] == "ok" and row[6] >= 190_000 for row in slow)
