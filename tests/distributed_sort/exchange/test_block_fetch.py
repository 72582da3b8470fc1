"""Blocks are fetched from real servers; a failed fetch is repeated, and a block that no node has is left out."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.arrays import Bytes
from planner.distributed_sort.exchange import block_fetch
from planner.distributed_sort.exchange.block_fetch import (
    ARRIVED,
    HEAD,
    NONCE_BYTES,
    Address,
    BlockFetcher,
    BlockServer,
    Part,
    introduction_of,
    receive_exactly,
    request_of,
)
from planner.distributed_sort.exchange.segments import write_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import IoFailureError

FILES: Final = JobFiles(job="j", output="out")
TOKEN: Final = b"known to the job's nodes"
HOST: Final = "127.0.0.1"
SEGMENT: Final = np.random.default_rng(1).integers(0, 256, 300_000, np.uint8)


@pytest.fixture
def servers(this_node: Path) -> Iterator[list[BlockServer]]:
    """Two servers of one segment, s-0."""
    del this_node
    write_segment(FILES, "s-0", [SEGMENT], reserve_bytes=0)
    servers = [BlockServer(HOST, token=TOKEN, seed=seed) for seed in (1, 2)]
    yield servers
    for server in servers:
        server.close()


@pytest.fixture
def server(servers: list[BlockServer]) -> BlockServer:
    return servers[0]


def part_of(address: Address, *, offset: int, size_bytes: int, segment: str = "s-0") -> Part:
    return Part(slice=0, address=address, segment=segment, offset=offset, size_bytes=size_bytes, partitions=1)


def fetch(fetcher: BlockFetcher, *parts: Part, files: JobFiles = FILES) -> list[Bytes | None]:
    """Fetch parts, and close the connections."""
    into = np.zeros(sum(part.size_bytes for part in parts), np.uint8)
    with closing(fetcher):
        return fetcher.fetch(files, parts, into)


@given(cuts=st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 100_000)), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
def test_parts_of_several_nodes_come_in_their_places(servers: list[BlockServer], cuts: list[tuple[int, int]]) -> None:
    sources = [server.address for server in servers]
    parts = [part_of(sources[at % 2], offset=offset, size_bytes=size) for at, (offset, size) in enumerate(cuts)]
    states = np.zeros(len(parts), np.uint8)
    into = np.zeros(sum(part.size_bytes for part in parts), np.uint8)
    with closing(BlockFetcher(TOKEN)) as fetcher:
        pieces = fetcher.fetch(FILES, parts, into, states=states)
    for piece, (offset, size) in zip(pieces, cuts, strict=True):
        assert piece is not None
        assert piece.tobytes() == SEGMENT[offset : offset + size].tobytes()
    assert (states == ARRIVED).all()
    assert b"".join(piece.tobytes() for piece in pieces if piece is not None) == into.tobytes()


def test_a_segment_that_is_gone_is_left_out(server: BlockServer) -> None:
    gone = part_of(server.address, offset=0, size_bytes=10, segment="s-9")
    first_part = part_of(server.address, offset=5, size_bytes=10)
    first, second, third = fetch(BlockFetcher(TOKEN), first_part, gone, first_part)
    assert second is None
    assert first is not None and third is not None
    assert first.tobytes() == third.tobytes() == SEGMENT[5:15].tobytes()


def test_who_does_not_know_the_token_gets_nothing(server: BlockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 0.5)
    assert fetch(BlockFetcher(b"guessed"), part_of(server.address, offset=0, size_bytes=10)) == [None]
    with socket.create_connection(server.address) as connection:
        nonce = receive_exactly(connection, NONCE_BYTES)
        introduction = introduction_of(TOKEN, nonce, FILES, client=HOST, server=server.address)
        connection.sendall(introduction + struct.pack("<I", 1 << 30))
        assert connection.recv(1) == b"", "a request that is too long ends the connection"


def answer(
    server: BlockServer,
    *,
    address: Address,
    client: str = HOST,
    job: str = FILES.job,
    changed: bytes = b"",
    late_s: float = 0.0,
) -> bytes:
    """Return the answer to a client that signed its introduction for an address, and a job, and then `changed` it."""
    with socket.create_connection(server.address) as connection:
        nonce = receive_exactly(connection, NONCE_BYTES)
        files = replace(FILES, job=job, directory="/d")
        introduction = introduction_of(TOKEN, nonce, files, client=client, server=address)
        introduction = introduction.replace(job.encode(), FILES.job.encode(), 1)
        time.sleep(late_s)
        connection.settimeout(60)
        with suppress(ConnectionError):  # a server that does not know the client closes the connection
            connection.sendall(introduction[: len(introduction) - len(changed)] + changed)
            connection.sendall(request_of([("s-0", 0, 10)]))
            return connection.recv(11, socket.MSG_WAITALL)
    return b""


def test_a_handshake_that_is_passed_on_opens_nothing_else(servers: list[BlockServer]) -> None:
    first, second = servers
    assert answer(first, address=first.address) == bytes([ARRIVED]) + SEGMENT[:10].tobytes()
    assert answer(first, address=second.address) == b"", "another server's"
    assert answer(first, address=first.address, client="127.0.0.9") == b"", "another client's"
    assert answer(first, address=first.address, job="k") == b"", "another job's"
    assert answer(first, address=first.address, changed=b"/") == b"", "another directory's"


def test_connections_are_kept(server: BlockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that no longer listens serves whom it knows."""
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 0.5)
    fetcher, parts = BlockFetcher(TOKEN), [part_of(server.address, offset=at, size_bytes=10) for at in range(200)]
    wanted = [SEGMENT[at : at + 10].tobytes() for at in range(200)]
    with closing(fetcher):
        for _ in range(2):
            pieces = fetcher.fetch(FILES, parts, np.zeros(2000, np.uint8))
            assert [piece is not None and piece.tobytes() for piece in pieces] == wanted
            server.close()
    assert fetch(BlockFetcher(TOKEN), parts[0]) == [None]


def test_what_was_given_up_is_taken_back_by_the_next_sort(server: BlockServer) -> None:
    fetcher, part = BlockFetcher(TOKEN), part_of(server.address, offset=0, size_bytes=10)
    fetcher.give_up([server.address])
    assert fetch(fetcher, part) == [None]
    fetcher.resume_fetching([server.address])
    assert fetch(fetcher, part)[0] is not None


def test_an_address_that_is_not_reached_says_why(server: BlockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert BlockFetcher(TOKEN).reach(server.address) == ""
    monkeypatch.setattr(block_fetch, "_REACHED_WITHIN_S", 0.2)
    with socket.create_server((HOST, 0)) as silent:
        assert BlockFetcher(TOKEN).reach(silent.getsockname()) == "no answer within 0.2 s"
        address = silent.getsockname()
    assert BlockFetcher(TOKEN).reach(address) == "Connection refused"


def test_a_handshake_that_comes_late_opens_nothing(server: BlockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_fetch, "_HANDSHAKE_S", 0.05)
    assert answer(server, address=server.address, late_s=0.2) == b""


@pytest.mark.parametrize("name", ["../../etc-1", "/etc/passwd", "../{}", "", ".", "s-0/../s-0", "link-1"])
def test_nothing_but_segments_is_served(server: BlockServer, tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret-1"
    secret.write_bytes(b"0123456789")
    (FILES.segment_folders()[0] / "link-1").symlink_to(secret)
    for segment in (name, name.format(secret)):
        part = part_of(server.address, offset=0, size_bytes=10, segment=segment)
        assert fetch(BlockFetcher(TOKEN), part) == [None]


def test_the_job_of_a_request_is_no_path(server: BlockServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 0.5)
    (tmp_path / "x-blocks").mkdir()
    (tmp_path / "x-blocks" / "secret-1").write_bytes(b"0123456789")
    (tmp_path / "memory" / ".planner-sort-").mkdir()
    files = JobFiles(job="/../../x", output="")
    assert (files.segment_folders()[0] / "secret-1").exists()
    part = part_of(server.address, offset=0, size_bytes=10, segment="secret-1")
    assert fetch(BlockFetcher(TOKEN), part, files=files) == [None]


def test_a_segment_that_is_too_short_is_left_out(server: BlockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 0.5)
    too_long = part_of(server.address, offset=len(SEGMENT) - 5, size_bytes=10)
    assert fetch(BlockFetcher(TOKEN), too_long) == [None]


def test_a_server_that_begins_anew_has_the_same_address_and_is_asked_again(
    this_node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del this_node
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 60.0)
    write_segment(FILES, "s-0", [SEGMENT], reserve_bytes=0)
    first = BlockServer(HOST, token=TOKEN, seed=77)
    address = first.address
    first.close()
    pieces: list[Bytes | None] = []
    asking = threading.Thread(
        target=lambda: pieces.extend(fetch(BlockFetcher(TOKEN), part_of(address, offset=0, size_bytes=100)))
    )
    asking.start()
    time.sleep(0.3)
    again = BlockServer(HOST, token=TOKEN, seed=77)
    asking.join(60)
    assert again.address == address
    again.close()
    assert pieces[0] is not None
    assert pieces[0].tobytes() == SEGMENT[:100].tobytes()


class Halting:
    """A server that sends one part of two, then sends nothing, or closes the first `closes` connections."""

    def __init__(self, *, closes: int) -> None:
        self._socket = socket.create_server((HOST, 0))
        self.address: Address = self._socket.getsockname()
        self.requests = 0
        self._closes = closes
        self._open: list[socket.socket] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._open.append(connection)
                connection.sendall(bytes(NONCE_BYTES))
                *_, length = HEAD.unpack(receive_exactly(connection, HEAD.size))
                receive_exactly(connection, length)
                (length,) = struct.unpack("<I", receive_exactly(connection, 4))
                wanted = json.loads(receive_exactly(connection, length))
                self.requests += 1
                connection.sendall(bytes([ARRIVED] * len(wanted)) + b"x" * 10)
                if self.requests <= self._closes:
                    connection.close()

    def close(self) -> None:
        for connection in (self._socket, *self._open):
            connection.close()


def test_what_is_left_after_a_lost_connection_is_asked_for_again() -> None:
    halting = Halting(closes=2)
    parts = [part_of(halting.address, offset=at, size_bytes=10) for at in range(2)]
    pieces = fetch(BlockFetcher(TOKEN), *parts)
    halting.close()
    assert [piece is not None and piece.tobytes() for piece in pieces] == [b"x" * 10] * 2
    assert halting.requests == 2, "the second asks for the second part alone"


@pytest.mark.parametrize("is_named", [True, False])
def test_what_hangs_is_given_up(is_named: bool) -> None:
    """Once an address is named, later requests to it are given up, too."""
    halting, fetcher = Halting(closes=0), BlockFetcher(TOKEN)
    parts = [part_of(halting.address, offset=at, size_bytes=10) for at in range(2)]
    pieces: list[Bytes | None] = []
    states, into, end_s = np.zeros(2, np.uint8), np.zeros(20, np.uint8), time.monotonic() + 60
    hanging = threading.Thread(target=lambda: pieces.extend(fetcher.fetch(FILES, parts, into, states=states)))
    hanging.start()
    while states[0] != ARRIVED and time.monotonic() < end_s:
        time.sleep(0.01)
    assert states.tolist() == [ARRIVED, 0]
    fetcher.give_up([halting.address] if is_named else None)
    hanging.join(60)
    assert not hanging.is_alive()
    assert [piece is not None for piece in pieces] == [True, False]
    (later,) = fetch(fetcher, parts[0])
    assert (later is None) == is_named
    halting.close()


def test_nodes_of_which_nobody_is_left_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 0.5)
    with socket.socket() as deaf:  # holds its port, so no other process listens there
        deaf.bind((HOST, 0))
        address: Address = deaf.getsockname()
        assert fetch(BlockFetcher(TOKEN), part_of(address, offset=0, size_bytes=10)) == [None]
    assert fetch(BlockFetcher(TOKEN), part_of(("", 0), offset=0, size_bytes=10)) == [None]
    assert fetch(BlockFetcher(TOKEN)) == []


def test_no_free_port_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(block_fetch, "_PORTS", range(port, port + 1))
        monkeypatch.setattr(block_fetch, "_PORTS_TRIED", 1)
        with pytest.raises(IoFailureError, match=f"none of 1 ports from {port} to {port} is free"):
            BlockServer(HOST, token=TOKEN, seed=1)


def test_the_others_are_fetched_from_where_some_are_not_reached(
    server: BlockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 1.0)
    full = [socket.create_server((HOST, 0), backlog=0) for _ in range(3)]
    waiting = [socket.create_connection(each.getsockname()) for each in full]
    parts = [part_of(each.getsockname(), offset=0, size_bytes=10) for each in full]
    parts.append(part_of(server.address, offset=0, size_bytes=10))
    assert [piece is not None for piece in fetch(BlockFetcher(TOKEN), *parts)] == [False] * 3 + [True]
    for each in (*full, *waiting):
        each.close()
