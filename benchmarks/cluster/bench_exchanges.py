"""Ways to move blocks from a node's memory to another's: processor time of each end for each GB.

The exchange of the sort (from segments, in parcels), a bare socket, Arrow Flight, and Ray's object store between two
raylets; each sends the same bytes over loopback, in turn. Processor time includes the kernel's; for Ray it is that of
all processes together.

python benchmarks/cluster/bench_exchanges.py --data 1GB --block 1MiB --runs 5 [--ways segments,socket,flight,ray]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
import psutil

from planner.distributed_sort.exchange.block_fetch import BlockFetcher, BlockServer, Part
from planner.distributed_sort.exchange.segments import write_segment
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, NODE_MEMORY, NODE_NAME, JobFiles
from planner.units import parse_size

SEGMENT_BYTES = 16 << 20
RECORD_BYTES = 128
FILES = JobFiles(job="bench", output="out")
TOKEN = b"t" * 32

Fetch = Callable[[], None]


def segment(number: int) -> Any:
    return np.random.default_rng(number).integers(0, 256, SEGMENT_BYTES, np.uint8)


def serve_segments(pipe: Connection, count: int, _: int) -> None:
    for number in range(count):
        write_segment(FILES, f"s-{number}", [segment(number)], reserve_bytes=0)
    server = BlockServer("127.0.0.1", token=TOKEN, seed=os.getpid())
    report(pipe, server.address)


@contextmanager
def by_segments(count: int, block_bytes: int) -> Iterator[tuple[Fetch, int]]:
    with served(serve_segments, count, block_bytes) as (address, server):
        into, fetcher = np.empty(SEGMENT_BYTES, np.uint8), BlockFetcher(TOKEN)
        offsets = range(0, SEGMENT_BYTES, block_bytes)

        def fetch() -> None:
            for number in range(count):
                parts = [Part(number, address, f"s-{number}", at, block_bytes, partitions=0) for at in offsets]
                assert all(piece is not None for piece in fetcher.fetch(FILES, parts, into))

        yield fetch, server


def serve_socket(pipe: Connection, count: int, block_bytes: int) -> None:
    """Send all blocks to whoever connects, one after another."""
    blocks = np.concatenate([segment(number) for number in range(count)]).reshape(-1, block_bytes)
    with socket.create_server(("127.0.0.1", 0)) as server:
        pipe.send(server.getsockname())

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    for block in blocks:
                        connection.sendall(block.data)

        threading.Thread(target=serve, daemon=True).start()
        pipe.recv()


@contextmanager
def by_socket(count: int, block_bytes: int) -> Iterator[tuple[Fetch, int]]:
    with served(serve_socket, count, block_bytes) as (address, server):
        into = np.empty(block_bytes, np.uint8)

        def fetch() -> None:
            with socket.create_connection(address) as connection:
                for _ in range(count * (SEGMENT_BYTES // block_bytes)):
                    assert connection.recv_into(into.data, block_bytes, socket.MSG_WAITALL) == block_bytes

        yield fetch, server


def serve_flight(pipe: Connection, count: int, block_bytes: int) -> None:
    import pyarrow as pa
    from pyarrow import flight

    tables = []
    for number in range(count):
        values = pa.py_buffer(segment(number))
        column = pa.Array.from_buffers(pa.binary(RECORD_BYTES), SEGMENT_BYTES // RECORD_BYTES, [None, values])
        tables.append(pa.table({"records": column}))

    class Server(flight.FlightServerBase):  # type: ignore[misc]
        def do_get(self, _: Any, ticket: Any) -> Any:
            batches = tables[int(ticket.ticket)].to_batches(max_chunksize=block_bytes // RECORD_BYTES)
            return flight.GeneratorStream(tables[0].schema, iter(batches))

    with Server("grpc://127.0.0.1:0") as server:
        report(pipe, server.port)


@contextmanager
def by_flight(count: int, block_bytes: int) -> Iterator[tuple[Fetch, int]]:
    from pyarrow import flight

    with (
        served(serve_flight, count, block_bytes) as (port, server),
        flight.connect(f"grpc://127.0.0.1:{port}") as client,
    ):

        def fetch() -> None:
            for number in range(count):
                table = client.do_get(flight.Ticket(str(number).encode())).read_all()
                assert table.num_rows * RECORD_BYTES == SEGMENT_BYTES

        yield fetch, server


@contextmanager
def by_ray(count: int, block_bytes: int) -> Iterator[tuple[Fetch, int]]:
    import ray
    from ray.cluster_utils import Cluster

    store = {"num_cpus": 1, "object_store_memory": 2 * count * SEGMENT_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=store | {"resources": {"from": 1}})
    cluster.add_node(num_cpus=1, object_store_memory=2 * count * SEGMENT_BYTES, resources={"to": 1})
    ray.init(address=cluster.address, log_to_driver=False)

    class Holder:
        def blocks(self) -> list[Any]:
            each = SEGMENT_BYTES // block_bytes
            return [ray.put(block) for number in range(count) for block in segment(number).reshape(each, -1)]

    class Taker:
        def take(self, references: list[Any]) -> int:
            return sum(len(ray.get(reference)) for reference in references)

    holder = ray.remote(resources={"from": 1})(Holder).remote()
    taker = ray.remote(resources={"to": 1})(Taker).remote()
    try:
        held: list[list[Any]] = [ray.get(holder.blocks.remote())]

        def fetch() -> None:
            assert ray.get(taker.take.remote(held[0])) == count * SEGMENT_BYTES

        def renew() -> None:  # blocks that the other node has would not be sent again
            held[0] = ray.get(holder.blocks.remote())

        fetch.renew = renew  # type: ignore[attr-defined]
        yield fetch, 0
    finally:
        ray.shutdown()
        cluster.shutdown()


def report(pipe: Connection, address: Any) -> None:
    pipe.send(address)
    pipe.recv()


@contextmanager
def served(target: Callable[[Connection, int, int], None], count: int, block_bytes: int) -> Iterator[tuple[Any, int]]:
    """Yield the address of a process that serves blocks, and its number."""
    context = multiprocessing.get_context("spawn")
    own, other = context.Pipe()
    process = context.Process(target=target, args=(other, count, block_bytes))
    process.start()
    try:
        yield own.recv(), process.pid or 0
    finally:
        own.send(None)
        process.join()


def processor_seconds(server: int) -> tuple[float, float]:
    """Return the processor time of the serving process, or of all children, and of this one."""
    own = psutil.Process()
    others = [psutil.Process(server)] if server else own.children(recursive=True)
    seconds = 0.0
    for process in others:
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += sum(process.cpu_times()[:2])
    return seconds, sum(own.cpu_times()[:2])


def measured(fetch: Fetch, server: int) -> tuple[float, float, float]:
    """Return the seconds, and the processor seconds of serving and of fetching all blocks."""
    getattr(fetch, "renew", lambda: None)()
    before, began = processor_seconds(server), time.monotonic()
    fetch()
    seconds, after = time.monotonic() - began, processor_seconds(server)
    return seconds, after[0] - before[0], after[1] - before[1]


WAYS = {"segments": by_segments, "socket": by_socket, "flight": by_flight, "ray": by_ray}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="1GB")
    parser.add_argument("--block", default="1MiB", help="a power of two, at most 16MiB")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    count, block_bytes = int(parse_size(options.data)) // SEGMENT_BYTES, int(parse_size(options.block))
    data_gb = count * SEGMENT_BYTES / 1e9
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory(dir="/dev/shm") as memory,
        contextlib.ExitStack() as held,
    ):
        os.environ |= {NODE_NAME: "node", NODE_DIRECTORY: folder, NODE_MEMORY: memory}
        ways = {name: held.enter_context(WAYS[name](count, block_bytes)) for name in options.ways.split(",")}
        runs = dict[str, list[tuple[float, float, float]]]()
        for turn in range(options.runs + 1):
            for name, way in ways.items():
                runs.setdefault(name, []).append(measured(*way))
                if turn == 0:
                    runs[name].clear()
    for name, of_way in runs.items():
        seconds, serving, fetching = (
            sorted(value / data_gb for value in column) for column in zip(*of_way, strict=True)
        )
        ends = (f"{median(end):.3f} ({end[0]:.3f}-{end[-1]:.3f})" for end in (serving, fetching))
        print(f"{name}: {', '.join(ends)} s of a processor per GB to serve, to fetch; {1 / median(seconds):.2f} GB/s")


if __name__ == "__main__":
    main()
