"""A node's server of its segments: other nodes fetch their blocks of the slices that were grouped here.

A connection begins with 32 random bytes from the server. The client answers with an HMAC under the token that only the
job's nodes know, and with its request. The HMAC is of these bytes, of the address that the client asked, and of the
request, so that who passes it on can ask for nothing else and nobody else. For each part follows a byte, which says
whether it is there, and the part. The kernel sends it from the file's pages (sendfile). There are parts of segments
alone, by their names.
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
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from planner.distributed_sort.exchange.segments import open_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import IoFailureError

Address = tuple[str, int]
"""Host and port."""

SILENT_S: Final = 60.0
"""A connection over which nothing came for so long is given up: on a slow link others may take turns for a while."""
NONCE_BYTES: Final = 32
HEAD: Final = struct.Struct("<32s32sI")
"""The client's HMAC, and the SHA-256 and the length of its request."""
HERE: Final = b"+"
MISSING: Final = b"-"
_WORTH_WAKING_BYTES: Final = 256 << 10
_MOST_REQUEST_BYTES: Final = 1 << 24
_PORTS: Final = range(20_000, 30_000)
"""Below those that the kernel gives to connections, and above those of Ray's workers."""
_PORTS_TRIED: Final = 50


def head_of(token: bytes, nonce: bytes, address: Address, request: bytes) -> bytes:
    """Return what a client sends before its request to an address."""
    digest = sha256(request).digest()
    return HEAD.pack(_proof(token, nonce, address, digest), digest, len(request))


def _proof(token: bytes, nonce: bytes, address: Address, digest: bytes) -> bytes:
    host, port = address
    return hmac.digest(token, nonce + digest + f"{host} {port}".encode(), "sha256")


def request_of(files: JobFiles, parts: list[tuple[str, int, int]]) -> bytes:
    """Return a request for parts of segments of a job: (segment, offset, bytes)."""
    return json.dumps({"job": files.job, "directory": files.directory, "parts": parts}).encode()


class BlockServer:
    """Serves until the process ends. `seed` chooses the port, so that a restarted process gets the same one."""

    def __init__(self, host: str, *, token: bytes, seed: int) -> None:
        self._server = _bound(host, seed)
        self._server.token = token
        threading.Thread(target=self._server.serve_forever, name="blocks", daemon=True).start()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._server.address

    def close(self) -> None:
        """Listen no longer."""
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
        """Where it listens."""
        host, port = self.server_address[:2]
        return str(host), int(port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is none of the server's business."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        connection: socket.socket = self.request
        connection.settimeout(SILENT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        nonce = secrets.token_bytes(NONCE_BYTES)
        connection.sendall(nonce)
        given, digest, length = HEAD.unpack(receive_exactly(connection, HEAD.size))
        assert isinstance(self.server, _Server)
        known = _proof(self.server.token, nonce, self.server.address, digest)
        if not hmac.compare_digest(given, known) or length > _MOST_REQUEST_BYTES:
            return
        content = receive_exactly(connection, length)
        if sha256(content).digest() != digest:
            return
        request = json.loads(content)
        files = JobFiles(job=request["job"], output="", directory=request["directory"])
        for name, offset, size in request["parts"]:
            _send(connection, files, name, offset=offset, size=size)


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes from a connection. Raises ConnectionError when it ends before."""
    content = bytearray(size)
    receive_into(connection, memoryview(content))
    return bytes(content)


def receive_into(connection: socket.socket, view: memoryview) -> None:
    """Fill `view` from a connection. Raises ConnectionError when it ends before."""
    while view:
        # Over a slow link the thread would wake for each packet, and spend more than the link's time on it.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(len(view), _WORTH_WAKING_BYTES))
        if not (count := connection.recv_into(view)):
            raise ConnectionError("the other end closed the connection")
        view = view[count:]


def _send(connection: socket.socket, files: JobFiles, name: str, *, offset: int, size: int) -> None:
    """Send a part, or that there is none. A file that is too short ends the connection."""
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
    raise IoFailureError(f"{host}: none of {_PORTS_TRIED} ports from {_PORTS[0]} to {_PORTS[-1]} is free for blocks")
