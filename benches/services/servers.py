"""Services that answer in known ways: threads, asyncio, one thread, TLS, a line protocol, nginx.

    python servers.py KIND PORT [DIRECTORY]

Each answers `GET /WAIT/GAP/SIZE`: it waits WAIT ms, writes the head of the answer, waits GAP ms and writes
SIZE bytes. `threads`, `asyncio` and `tls` keep connections open; `single` serves one connection after the
other, a request each; `lines` reads a line and answers with one, as databases do; `nginx` sends files of
DIRECTORY.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

KINDS = ("threads", "asyncio", "single", "tls", "lines", "nginx")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        wait, gap, size = (int(part) for part in self.path.strip("/").split("/"))
        time.sleep(wait / 1000)
        self.send_response_only(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.flush()
        time.sleep(gap / 1000)
        self.wfile.write(b"x" * size)

    def log_message(self, *_: object) -> None:
        pass


class OneByOne(Handler):
    protocol_version = "HTTP/1.0"


class Single(HTTPServer):
    # Who finds the queue of connections full asks anew a second later, and cannot be seen until then.
    request_queue_size = 128


class Threads(ThreadingHTTPServer):
    request_queue_size = 128


class Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            wait, gap, size = (int(part) for part in line.split()[1].strip(b"/").split(b"/"))
            time.sleep(wait / 1000)
            self.wfile.write(b"%d\n" % size)
            time.sleep(gap / 1000)
            self.wfile.write(b"x" * size)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            wait, gap, size = (int(part) for part in head.split()[1].strip(b"/").split(b"/"))
            await asyncio.sleep(wait / 1000)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            await writer.drain()
            await asyncio.sleep(gap / 1000)
            writer.write(b"x" * size)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve_events(port: int) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=128)
    async with server:
        await server.serve_forever()


def certificate(directory: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate made for this."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days"]
    command += ["1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def nginx(port: int, directory: Path) -> None:
    """Become nginx in the foreground, with files of DIRECTORY/files."""
    configuration = directory / "nginx.conf"
    configuration.write_text(
        f"daemon off; worker_processes 2; pid {directory}/nginx.pid; error_log {directory}/error.log;\n"
        "events { worker_connections 512; }\n"
        "http { access_log off; sendfile on; keepalive_requests 100000;\n"
        f"client_body_temp_path {directory}/a;\n"
        f"proxy_temp_path {directory}/b; fastcgi_temp_path {directory}/c; uwsgi_temp_path {directory}/d;\n"
        f"scgi_temp_path {directory}/e; server {{ listen 127.0.0.1:{port}; root {directory}/files; }} }}\n"
    )
    os.execvp("nginx", ["nginx", "-c", str(configuration), "-p", str(directory)])


def serve(kind: str, port: int, directory: Path) -> None:
    address = ("127.0.0.1", port)
    if kind == "threads":
        Threads(address, Handler).serve_forever()
    elif kind == "single":
        Single(address, OneByOne).serve_forever()
    elif kind == "tls":
        server = Threads(address, Handler)
        server.socket = certificate(directory).wrap_socket(server.socket, server_side=True)
        server.serve_forever()
    elif kind == "lines":
        socketserver.ThreadingTCPServer.allow_reuse_address = True
        socketserver.ThreadingTCPServer.request_queue_size = 128
        socketserver.ThreadingTCPServer(address, Lines).serve_forever()
    elif kind == "asyncio":
        asyncio.run(serve_events(port))
    else:
        nginx(port, directory)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def server(kind: str, directory: Path) -> Iterator[int]:
    """A service in a block; gives its port."""
    port = free_port()
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, kind, str(port), str(directory)]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"error: {kind}: {(directory / 'log').read_text()}") from None
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def installed(kind: str) -> bool:
    return shutil.which({"nginx": "nginx", "tls": "openssl"}.get(kind, "sh")) is not None


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
