"""A node's server of its segments: other nodes fetch their blocks of the slices that were grouped here.

A connection begins with 32 random bytes from the server. Within ten seconds the client answers with its job, an HMAC
under the secret of that job, and its request. The HMAC covers these bytes, the addresses of both ends, and the request,
so that a relayed one serves no other request, no other server and no later time. The answer to each part is a byte that
marks whether the part exists, and the part. The kernel sends it from the file's pages (sendfile). Only parts of the
job's segments can be requested, by their names.
"""

from __future__ import annotations

import hmac
import json
import os
import random
import secrets
import socket
import socketserver
import struct
import threading
import time
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from planner.distributed_sort.exchange.segments import open_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import IoFailureError

Address = tuple[str, int]
"""Host and port."""

SILENT_S: Final = 60.0
"""A connection is closed after this time without data: on a slow link others may take turns for a while."""
NONCE_BYTES: Final = 32
HEAD: Final = struct.Struct("<64s32s32sI")
"""The job, the client's HMAC, and the SHA-256 and the length of its request."""
_HANDSHAKE_S: Final = 10.0
HERE: Final = b"+"
MISSING: Final = b"-"
_WORTH_WAKING_BYTES: Final = 256 << 10
_MOST_REQUEST_BYTES: Final = 1 << 24
_PORTS: Final = range(20_000, 30_000)
"""Ports below those that the kernel gives to connections, and above those of Ray's workers."""
OPEN_PORTS: Final = f"nodes fetch data from each other: open the TCP ports {_PORTS[0]} to {_PORTS[-1]} between them"
_PORTS_TRIED: Final = 50


def head_of(token: bytes, nonce: bytes, request: bytes, *, job: str, client: str, server: Address) -> bytes:
    """Return the head that the client at an address sends before its request to a server."""
    digest = sha256(request).digest()
    proof = _proof(token, nonce, digest, job=job.encode(), client=client, server=server)
    return HEAD.pack(job.encode(), proof, digest, len(request))


def _proof(token: bytes, nonce: bytes, digest: bytes, *, job: bytes, client: str, server: Address) -> bytes:
    """Return the HMAC under the secret of a job, which is derived from the token of all jobs and does not reveal it."""
    host, port = server
    secret = hmac.digest(token, job, "sha256")
    return hmac.digest(secret, nonce + digest + f"{client} {host} {port}".encode(), "sha256")


def request_of(files: JobFiles, parts: list[tuple[str, int, int]]) -> bytes:
    """Return a request for parts of segments: (segment, offset, bytes)."""
    return json.dumps({"directory": files.directory, "parts": parts}).encode()


class BlockServer:
    """Serves until the process ends. `seed` chooses the port, so that a restarted process gets the same one."""

    def __init__(self, host: str, *, token: bytes, seed: int) -> None:
        self._server = _bound(host, seed)
        self._server.token = token
        threading.Thread(target=self._server.serve_forever, name="blocks", daemon=True).start()

    @property
    def address(self) -> Address:
        """Address on which it listens."""
        return self._server.address

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    token = b""

    @property
    def address(self) -> Address:
        """Address on which it listens."""
        host, port = self.server_address[:2]
        return str(host), int(port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        connection: socket.socket = self.request
        connection.settimeout(_HANDSHAKE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        nonce, began = secrets.token_bytes(NONCE_BYTES), time.monotonic()
        connection.sendall(nonce)
        padded, given, digest, length = HEAD.unpack(receive_exactly(connection, HEAD.size))
        job, server = padded.rstrip(b"\0"), self.server
        assert isinstance(server, _Server)
        known = _proof(server.token, nonce, digest, job=job, client=self.client_address[0], server=server.address)
        is_known = hmac.compare_digest(given, known) and time.monotonic() - began < _HANDSHAKE_S
        if not is_known or length > _MOST_REQUEST_BYTES:
            return
        connection.settimeout(SILENT_S)
        content = receive_exactly(connection, length)
        if sha256(content).digest() != digest:
            return
        request = json.loads(content)
        files = JobFiles(job=job.decode(), output="", directory=request["directory"])
        for name, offset, size in request["parts"]:
            _send(connection, files, name, offset=offset, size=size)


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Return `size` bytes from a connection. Raises ConnectionError when it ends before."""
    content = bytearray(size)
    receive_into(connection, memoryview(content))
    return bytes(content)


def receive_into(connection: socket.socket, view: memoryview) -> None:
    """Fill `view` from a connection. Raises ConnectionError when it ends before."""
    while view:
        # Over a slow link the thread would wake for each packet, and take longer than the link itself.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(len(view), _WORTH_WAKING_BYTES))
        if not (count := connection.recv_into(view)):
            raise ConnectionError("the other end closed the connection")
        view = view[count:]


def _send(connection: socket.socket, files: JobFiles, name: str, *, offset: int, size: int) -> None:
    """Send a part, or the mark of a missing one. A file that is too short ends the connection."""
    try:
        descriptor = open_segment(files, name)
    except OSError:
        connection.sendall(MISSING)
        return
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        connection.sendall(HERE)
        if size and connection.sendfile(file, offset, size) < size:
            raise ConnectionError(f"{name} is too short")


def _bound(host: str, seed: int) -> _Server:
    ports = random.Random(seed).sample(_PORTS, _PORTS_TRIED)
    for port in ports:
        with suppress(OSError):
            return _Server((host, port), _Handler)
    raise IoFailureError(
        f"{host}: none of {_PORTS_TRIED} ports from {_PORTS[0]} to {_PORTS[-1]} is free for blocks", code="no-free-port"
    )
