"""A node's server of its segments: other nodes fetch their blocks of the slices that were grouped here.

A connection begins with 32 random bytes from the server. Within ten seconds the client answers with its job, an HMAC
under the secret of that job, and the job's directory. The HMAC covers these bytes, the addresses of both ends and the
directory, so that a relayed one serves no other server and no later time. Then the client may request parts, again and
again. The sort core answers (`native/include/sortcore/exchange`), from the segments' pages. Only parts of the job's
segments can be requested, by their names.
"""

from __future__ import annotations

import hmac
import json
import random
import secrets
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from planner.distributed_sort.exchange.segments import hold_folder, is_job, is_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import IoFailureError
from planner.native import core

Address = tuple[str, int]
"""Host and port."""

SILENT_S: Final = 60.0
"""A connection is closed after this time without data: on a slow link others may take turns for a while."""
NONCE_BYTES: Final = 32
HEAD: Final = struct.Struct("<64s32s32sI")
"""The job, the client's HMAC, and the SHA-256 and the length of its introduction."""
_LENGTH: Final = struct.Struct("<I")
_HANDSHAKE_S: Final = 10.0
_MOST_REQUEST_BYTES: Final = 1 << 24
_PORTS: Final = range(20_000, 30_000)
"""Ports below those that the kernel gives to connections, and above those of Ray's workers."""
OPEN_PORTS: Final = f"nodes fetch data from each other: open the TCP ports {_PORTS[0]} to {_PORTS[-1]} between them"
_PORTS_TRIED: Final = 50


def introduction_of(token: bytes, nonce: bytes, files: JobFiles, *, client: str, server: Address) -> bytes:
    """Return what the client at an address sends first to a server, in the name of a job."""
    job, directory = files.job.encode(), files.directory.encode()
    digest = sha256(directory).digest()
    proof = _proof(token, nonce, digest, job=job, client=client, server=server)
    return HEAD.pack(job, proof, digest, len(directory)) + directory


def _proof(token: bytes, nonce: bytes, digest: bytes, *, job: bytes, client: str, server: Address) -> bytes:
    """Return the HMAC under the secret of a job, which is derived from the token of all jobs and does not reveal it."""
    host, port = server
    secret = hmac.digest(token, job, "sha256")
    return hmac.digest(secret, nonce + digest + f"{client} {host} {port}".encode(), "sha256")


def request_of(parts: Sequence[tuple[str, int, int]]) -> bytes:
    """Return a request for parts of segments: (segment, offset, bytes)."""
    content = json.dumps(parts).encode()
    return _LENGTH.pack(len(content)) + content


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
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        with suppress(OSError):  # the client has gone
            if (files := self._introduced(connection)) is not None:
                connection.settimeout(SILENT_S)
                while (length := _length_in(connection)) <= _MOST_REQUEST_BYTES:
                    _answer(connection, files, json.loads(receive_exactly(connection, length)))

    def _introduced(self, connection: socket.socket) -> JobFiles | None:
        """Return the files of the client's job, None for one that does not know its secret."""
        connection.settimeout(_HANDSHAKE_S)
        nonce, began = secrets.token_bytes(NONCE_BYTES), time.monotonic()
        connection.sendall(nonce)
        padded, given, digest, length = HEAD.unpack(receive_exactly(connection, HEAD.size))
        job, server = padded.rstrip(b"\0"), self.server
        assert isinstance(server, _Server)
        known = _proof(server.token, nonce, digest, job=job, client=self.client_address[0], server=server.address)
        if not hmac.compare_digest(given, known) or length > _MOST_REQUEST_BYTES:
            return None
        directory = receive_exactly(connection, length)
        is_late = time.monotonic() - began >= _HANDSHAKE_S
        if is_late or sha256(directory).digest() != digest or not is_job(job.decode()):
            return None
        return JobFiles(job=job.decode(), output="", directory=directory.decode())


def _length_in(connection: socket.socket) -> int:
    length: int = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size))[0]
    return length


def _answer(connection: socket.socket, files: JobFiles, parts: list[tuple[str, int, int]]) -> None:
    """Send parts of the segments of a job, and say which are missing. Raises OSError."""
    folders = files.segment_folders()
    hold_folder(folders[0])
    asked = [(name if is_segment(name) else "", offset, size) for name, offset, size in parts]
    core.send_parts(connection.fileno(), list(map(str, folders)), asked, silent_s=SILENT_S)


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Return `size` bytes from a connection. Raises ConnectionError when it ends before."""
    content = bytearray()
    while len(content) < size:
        if not (received := connection.recv(size - len(content))):
            raise ConnectionError("the other end closed the connection")
        content += received
    return bytes(content)


def _bound(host: str, seed: int) -> _Server:
    ports = random.Random(seed).sample(_PORTS, _PORTS_TRIED)
    for port in ports:
        with suppress(OSError):
            return _Server((host, port), _Handler)
    raise IoFailureError(
        f"{host}: none of {_PORTS_TRIED} ports from {_PORTS[0]} to {_PORTS[-1]} is free for blocks", code="no-free-port"
    )
