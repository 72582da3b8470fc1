"""The exchange of blocks: a node serves its segments, and fetches a parcel from all nodes that grouped it at once.

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
import select
import socket
import socketserver
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from planner.arrays import Bytes
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


_AGAIN_FOR_S: Final = 10.0
"""Time for which an unresponsive server is asked again: its process may be restarting. A lost node is noticed and
abandoned earlier.
"""
_AGAIN_EVERY_S: Final = 0.2
_KEPT_S: Final = 30.0
"""A connection without requests is closed after this time, before its server closes it."""
_MOST_AT_ONCE: Final = 64
"""Most nodes that are reached for the first time at once."""
_REACHED_WITHIN_S: Final = 8.0
"""Longest time to reach a server that no firewall blocks."""


class Part(NamedTuple):
    """A block to fetch: its place in a segment of the node at `address`, and its number of partitions.

    It begins with a `Block.head`.
    """

    slice: int
    address: Address
    segment: str
    offset: int
    size_bytes: int
    partitions: int


@dataclass(frozen=True, kw_only=True)
class PackedParts:
    """The parts of a parcel by columns: Ray packs a list of many objects one by one, which takes longer than the rest
    of ordering them.
    """

    slices: list[int]
    addresses: list[Address]
    segments: list[str]
    offsets: list[int]
    sizes_bytes: list[int]
    partitions: int

    def unpack(self) -> list[Part]:
        """Return the parts."""
        columns = zip(self.slices, self.addresses, self.segments, self.offsets, self.sizes_bytes, strict=True)
        return [Part(*values, self.partitions) for values in columns]


ARRIVED: Final = 1
"""State of a part that has arrived: those that may still come are 0, missing ones have another."""
_Served = tuple[Address, str, str]
"""An address, with the job and the directory for which it was reached."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fetch:
    """Parts that are fetched into `into`, with a state of each; it began in that round of the fetcher."""

    files: JobFiles
    parts: Sequence[Part]
    into: Bytes
    states: Bytes
    round: int

    def expected(self) -> dict[Address, list[int]]:
        """Return the parts, by number, that may still come from each address."""
        expected = defaultdict[Address, list[int]](list)
        for number in np.flatnonzero(self.states == 0).tolist():
            expected[self.parts[number].address].append(number)
        return expected

    def request(self, numbers: Sequence[int]) -> bytes:
        """Return the request for some of the parts."""
        wanted = (self.parts[number] for number in numbers)
        return request_of([(part.segment, part.offset, part.size_bytes) for part in wanted])

    def receive(self, answers: Sequence[tuple[int, list[int]]]) -> list[bool]:
        """Receive the answers of connections (socket, numbers of parts), and return which came whole."""
        sizes = [part.size_bytes for part in self.parts]
        return core.receive_parts(answers, self.into.data, sizes=sizes, states=self.states.data, silent_s=SILENT_S)

    def pieces(self) -> list[Bytes | None]:
        """Return the parts that have arrived, None for the others."""
        ends = np.cumsum([part.size_bytes for part in self.parts]).tolist()
        pieces = (self.into[end - part.size_bytes : end] for part, end in zip(self.parts, ends, strict=True))
        return [piece if state == ARRIVED else None for piece, state in zip(pieces, self.states.tolist(), strict=True)]


class BlockFetcher:
    """Fetches for one node, and keeps its connections. `give_up` abandons fetches from lost nodes."""

    def __init__(self, token: bytes) -> None:
        self._token = token
        self._lock = threading.Lock()
        self._open: dict[Address, set[socket.socket]] = defaultdict(set)
        self._kept: dict[_Served, list[tuple[socket.socket, float]]] = defaultdict(list)
        self._given_up: set[Address] = set()
        self._round = 0

    def fetch(
        self, files: JobFiles, parts: Sequence[Part], into: Bytes, *, states: Bytes | None = None
    ) -> list[Bytes | None]:
        """Fetch parts into consecutive pieces of `into`; return the pieces, None for unavailable parts. Meanwhile each
        part's byte of `states`, at first 0, may be read by other threads.
        """
        states = np.zeros(len(parts), np.uint8) if states is None else states
        fetch = _Fetch(files=files, parts=parts, into=into, states=states, round=self._round)
        silent_since_s = dict[Address, float]()
        while wanted := self._wanted(fetch, silent_since_s):
            self._ask(fetch, wanted)
            answering = {address for address, numbers in wanted.items() if states[numbers].any()}
            for address in wanted:
                silent_since_s.setdefault(address, time.monotonic())
                if address in answering:
                    del silent_since_s[address]
            if not answering:
                time.sleep(_AGAIN_EVERY_S)
        return fetch.pieces()

    def resume_fetching(self, addresses: Collection[Address]) -> None:
        """Fetch again from abandoned addresses: an earlier sort left out slow or full nodes."""
        with self._lock:
            self._given_up.difference_update(addresses)

    def reach(self, address: Address) -> str:
        """Return the reason why an address cannot be fetched from, '' if it answers."""
        for pause_s in (_AGAIN_EVERY_S, 1.0, 1.0, 0.0):  # a process may be restarting
            try:
                with socket.create_connection(address, timeout=_REACHED_WITHIN_S) as connection:
                    receive_exactly(connection, NONCE_BYTES)
                    return ""
            except TimeoutError:
                return f"no answer within {_REACHED_WITHIN_S:g} s"
            except OSError as error:
                reason = error.strerror or str(error)
            time.sleep(pause_s)
        return reason

    def give_up(self, addresses: Collection[Address] | None = None) -> None:
        """Abandon the fetches from some addresses, now and until they are taken back; where None, from all, but only
        now.
        """
        with self._lock:
            if addresses is None:
                self._round += 1
            else:
                self._given_up.update(addresses)
            sockets = [
                connection
                for address, connections in self._open.items()
                if addresses is None or address in addresses
                for connection in connections
            ]
            for connection in sockets:
                with suppress(OSError):  # it has ended already
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the kept connections."""
        with self._lock:
            for connection, _ in chain.from_iterable(self._kept.values()):
                connection.close()
            self._kept.clear()

    def _wanted(self, fetch: _Fetch, silent_since_s: dict[Address, float]) -> dict[Address, list[int]]:
        """Return what is expected of the addresses that are neither given up nor silent for long."""
        latest_s = time.monotonic() - _AGAIN_FOR_S
        return {
            address: numbers
            for address, numbers in fetch.expected().items()
            if self._is_wanted(address, fetch.round) and silent_since_s.get(address, latest_s) >= latest_s
        }

    def _ask(self, fetch: _Fetch, wanted: dict[Address, list[int]]) -> None:
        """Request parts from all addresses, receive all answers at once, and keep the connections that are not lost."""
        connections = dict[Address, socket.socket]()
        try:

            def ask(address: Address) -> None:
                with suppress(OSError):  # it is asked again
                    connections[address] = self._connected(fetch, address)
                    connections[address].sendall(fetch.request(wanted[address]))

            new = [address for address in wanted if not self._has_kept(fetch.files, address)]
            for address in wanted.keys() - new if len(new) > 1 else wanted:
                ask(address)
            if len(new) > 1:  # one of which may take long to be reached
                with ThreadPoolExecutor(min(len(new), _MOST_AT_ONCE)) as pool:
                    list(pool.map(ask, new))
            whole = fetch.receive([(taken.fileno(), wanted[address]) for address, taken in connections.items()])
            for address, is_whole in zip(list(connections), whole, strict=True):
                if is_whole:
                    self._keep(fetch.files, address, connections.pop(address))
        finally:
            for address, connection in connections.items():
                self._close(address, connection)

    def _is_wanted(self, address: Address, began_round: int) -> bool:
        return address not in self._given_up and self._round == began_round

    def _connected(self, fetch: _Fetch, address: Address) -> socket.socket:
        """Return a connection to an address, on which parts of the job's segments may be requested. Raises OSError."""
        if not self._is_wanted(address, fetch.round):
            raise ConnectionError("given up")
        connection = self._kept_connection(fetch.files, address)
        is_new = connection is None
        if connection is None:
            connection = socket.create_connection(address, timeout=_AGAIN_FOR_S)
        with self._lock:
            self._open[address].add(connection)
        try:
            if not self._is_wanted(address, fetch.round):
                raise ConnectionError("given up")
            if is_new:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
                nonce, client = receive_exactly(connection, NONCE_BYTES), connection.getsockname()[0]
                connection.sendall(introduction_of(self._token, nonce, fetch.files, client=client, server=address))
                connection.settimeout(SILENT_S)
        except BaseException:
            self._close(address, connection)
            raise
        return connection

    def _has_kept(self, files: JobFiles, address: Address) -> bool:
        with self._lock:
            return bool(self._kept.get((address, files.job, files.directory)))

    def _kept_connection(self, files: JobFiles, address: Address) -> socket.socket | None:
        """Return a kept connection that is still open, if there is one."""
        with self._lock:
            kept = self._kept[address, files.job, files.directory]
        while True:
            with self._lock:
                if not kept:
                    return None
                connection, _ = kept.pop()
            ended = select.poll()
            ended.register(connection, select.POLLIN)  # a server that is asked nothing sends nothing
            if not ended.poll(0):
                return connection
            connection.close()

    def _keep(self, files: JobFiles, address: Address, connection: socket.socket) -> None:
        """Keep a connection for the next request, and close those that were kept for long."""
        oldest_s = time.monotonic() - _KEPT_S
        with self._lock:
            self._open[address].discard(connection)
            self._kept[address, files.job, files.directory].append((connection, time.monotonic()))
            for kept in self._kept.values():
                while kept and kept[0][1] < oldest_s:
                    kept.pop(0)[0].close()

    def _close(self, address: Address, connection: socket.socket) -> None:
        with self._lock:
            self._open[address].discard(connection)
        connection.close()
