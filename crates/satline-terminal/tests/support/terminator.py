"""TLS in front of a plain server on loopback: `terminator.py CERTIFICATE KEY PORT VERSION END`.

Prints its own port. VERSION is `1.2` or `1.3`, and no other is spoken. END is what a connection that the
plain server closed ends with: `notify` (as TLS demands), `cut` (only the connection's end) or `reset`.
"""

import os
import select
import socket
import ssl
import struct
import sys
import threading

certificate, key, port, version, end = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
spoken = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3
context.minimum_version = context.maximum_version = spoken


def attend(raw):
    """One connection."""
    with context.wrap_socket(raw, server_side=True) as secure:
        if end == "cut":
            # The end goes out with the last of the answer: nobody asks again in between.
            secure.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        with socket.create_connection(("127.0.0.1", int(port))) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                waiting = [secure] if secure.pending() else select.select([secure, plain], [], [])[0]
                if secure in waiting:
                    came = secure.recv(65536)
                    if not came:
                        return
                    plain.sendall(came)
                if plain in waiting:
                    try:
                        came = plain.recv(65536)
                    except ConnectionError:
                        came = b""
                    if not came:
                        break
                    secure.sendall(came)
        if end == "notify":
            secure.unwrap()
        elif end == "reset":
            secure.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def safely(raw):
    """A connection that fails is the other side's to notice."""
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        attend(raw)
    except (OSError, ValueError):
        raw.close()


def watch():
    """Whoever started this has ended."""
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=watch, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listener.getsockname()[1], flush=True)
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=safely, args=(accepted,), daemon=True).start()
