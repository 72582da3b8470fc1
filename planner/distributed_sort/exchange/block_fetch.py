"""Fetching a parcel's blocks from the nodes that grouped them, from all of these at the same time."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.exchange.block_server import (
    NONCE_BYTES,
    SILENT_S,
    Address,
    introduction_of,
    receive_exactly,
    request_of,
)
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.native import core

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
