"""A single-threaded local server: it takes one request at a time, and each costs processor time.

Usage: server.py --directory DIR --cpu-milliseconds M

It listens on a free port of the loopback interface, writes the port to DIR/server.port and then makes
DIR/server.ready. A request is one line; the answer is one line. Requests wait in the listen queue while
another is served, as in any service with one worker.
"""

import argparse
import hashlib
import pathlib
import socket
import sys
import time


def work(request: bytes, cpu_seconds: float) -> str:
    """Hash the request again and again until this thread has used `cpu_seconds` of processor time."""
    digest = hashlib.sha256(request).digest()
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        for _ in range(50):
            digest = hashlib.sha256(digest).digest()
    return digest.hex()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=pathlib.Path, required=True)
    parser.add_argument("--cpu-milliseconds", type=float, default=100.0)
    arguments = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        port = listener.getsockname()[1]
        (arguments.directory / "server.port").write_text(f"{port}\n")
        (arguments.directory / "server.ready").touch()
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10.0)
                try:
                    request = connection.makefile("rb").readline()
                    connection.sendall(f"answer {work(request, arguments.cpu_milliseconds / 1e3)}\n".encode())
                except OSError:
                    continue  # the client went away; the next one is waiting


if __name__ == "__main__":
    sys.exit(main())
