"""Fetching a parcel's blocks from the nodes that grouped them, from all of these at the same time."""

from __future__ import annotations

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.exchange.block_server import (
    HERE,
    NONCE_BYTES,
    SILENT_S,
    Address,
    head_of,
    receive_exactly,
    receive_into,
    request_of,
)
from planner.distributed_sort.node_files.node_environment import JobFiles

_AGAIN_FOR_S: Final = 10.0
"""Time for which an unresponsive server is asked again: its process may be restarting. A lost node is noticed and
abandoned earlier.
"""
_AGAIN_EVERY_S: Final = 0.2
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


class _Wanted(NamedTuple):
    """A part, its place among those of a parcel, and the memory to put it in."""

    number: int
    part: Part
    into: Bytes


class BlockFetcher:
    """Fetches for one node. `give_up` abandons fetches from lost nodes."""

    def __init__(self, token: bytes) -> None:
        self._token = token
        self._lock = threading.Lock()
        self._open: dict[Address, set[socket.socket]] = defaultdict(set)
        self._given_up: set[Address] = set()
        self._round = 0

    def fetch(
        self,
        files: JobFiles,
        parts: Sequence[Part],
        into: Bytes,
        *,
        on_arrival: Callable[[Part], None] = lambda _: None,
    ) -> list[Bytes | None]:
        """Fetch parts into consecutive pieces of `into`; return the pieces, None for unavailable parts. `on_arrival` is
        called for each part that has arrived, from several threads.
        """
        ends = np.cumsum([part.size_bytes for part in parts]).tolist()
        pieces = [into[end - part.size_bytes : end] for part, end in zip(parts, ends, strict=True)]
        by_source = defaultdict[Address, list[_Wanted]](list)
        for number, (part, piece) in enumerate(zip(parts, pieces, strict=True)):
            by_source[part.address].append(_Wanted(number, part, piece))
        outcomes = dict[int, bool]()

        def fetch_from(wanted: list[_Wanted]) -> None:
            self._fetch_from(files, wanted, outcomes, on_arrival)

        if len(by_source) == 1:
            fetch_from(*by_source.values())
        elif by_source:
            with ThreadPoolExecutor(len(by_source)) as threads:
                list(threads.map(fetch_from, by_source.values()))
        return [piece if outcomes.get(number) else None for number, piece in enumerate(pieces)]

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

    def _fetch_from(
        self, files: JobFiles, wanted: list[_Wanted], outcomes: dict[int, bool], on_arrival: Callable[[Part], None]
    ) -> None:
        """Fetch parts from one address, note whether they arrived, and continue with the rest if a connection is
        lost.
        """
        address, began_round, last_s = wanted[0].part.address, self._round, time.monotonic()
        while left := [want for want in wanted if want.number not in outcomes]:
            if not self._is_wanted(address, began_round) or time.monotonic() - last_s > _AGAIN_FOR_S:
                return
            try:
                with self._connection(address, began_round) as connection:
                    self._receive(connection, files, left, outcomes, on_arrival)
            except OSError:
                if left[0].number in outcomes:
                    last_s = time.monotonic()
                time.sleep(_AGAIN_EVERY_S)

    def _receive(
        self,
        connection: socket.socket,
        files: JobFiles,
        wanted: list[_Wanted],
        outcomes: dict[int, bool],
        on_arrival: Callable[[Part], None],
    ) -> None:
        """Request parts and receive them. Raises OSError when the connection is lost."""
        request = request_of(files, [(part.segment, part.offset, part.size_bytes) for _, part, _ in wanted])
        nonce = receive_exactly(connection, NONCE_BYTES)
        server, client = wanted[0].part.address, connection.getsockname()[0]
        head = head_of(self._token, nonce, request, job=files.job, client=client, server=server)
        connection.sendall(head + request)
        for number, part, piece in wanted:
            is_here = receive_exactly(connection, 1) == HERE
            if is_here:
                receive_into(connection, piece.data)
                on_arrival(part)
            outcomes[number] = is_here

    def _is_wanted(self, address: Address, began_round: int) -> bool:
        return address not in self._given_up and self._round == began_round

    @contextmanager
    def _connection(self, address: Address, began_round: int) -> Iterator[socket.socket]:
        with socket.create_connection(address, timeout=_AGAIN_FOR_S) as connection:
            connection.settimeout(SILENT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            with self._lock:
                self._open[address].add(connection)
            try:
                if not self._is_wanted(address, began_round):
                    raise ConnectionError("given up")
                yield connection
            finally:
                with self._lock:
                    self._open[address].discard(connection)
