"""The stamping responder under TLS: `secure_responder.py CERT KEY LOGS listen|http`: prints its port."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO


def certificate(place: Path) -> tuple[Path, Path]:
    """A certificate of its own authority for loopback, and its key."""
    made, key = place / "certificate.pem", place / "key.pem"
    if not made.exists():
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench"
        )
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", str(key), "-out", str(made)]
        subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return made, key


def _respond(stream: BinaryIO, log: BinaryIO, http: bool) -> None:
    """Answers each line, or each request without a body, and notes when."""
    number = 0
    if not http:
        stream.write(b"ready\n")
        stream.flush()
    for line in stream:
        if http and line != b"\r\n":
            continue
        read_ns = time.monotonic_ns()
        number += 1
        answer = f"answer {number}\n".encode()
        if http:
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
        written_ns = time.monotonic_ns()
        stream.write(answer)
        stream.flush()
        log.write(b"%d %d\n" % (read_ns, written_ns))
        log.flush()


def _attend(raw: socket.socket, context: ssl.SSLContext, path: Path, http: bool) -> None:
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with context.wrap_socket(raw, server_side=True) as secure, path.open("ab") as log:
            _respond(secure.makefile("rwb"), log, http)  # type: ignore[arg-type]
    except OSError:
        pass  # the emulator has ended


def main() -> None:
    made, key, logs, how = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    # The first connection only looks at the certificate: it is number 0.
    number = 0
    while True:
        raw, _ = listener.accept()
        path = Path("/dev/null") if number == 0 else Path(logs) / str(number)
        threading.Thread(target=_attend, args=(raw, context, path, how == "http"), daemon=True).start()
        number += 1


if __name__ == "__main__":
    main()
