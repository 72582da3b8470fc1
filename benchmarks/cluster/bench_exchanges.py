"""Three ways to move a block from a node's memory to another's: processor time of both ends for each GB.

The exchange of the sort (`sendfile` from a segment), Arrow Flight, and Ray's object store between two raylets; each
sends the same blocks over loopback, in turn. Processor time is that of all processes of a way, including the kernel's.

python benchmarks/cluster/bench_exchanges.py --data 1GB --runs 5
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
import psutil

from planner.distributed_sort.exchange.block_fetch import BlockFetcher, Part
from planner.distributed_sort.exchange.block_server import BlockServer
from planner.distributed_sort.exchange.segments import write_segment
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, NODE_MEMORY, NODE_NAME, JobFiles
from planner.units import parse_size

BLOCK_BYTES = 16_000_000
RECORD_BYTES = 100
FILES = JobFiles(job="bench", output="out")
TOKEN = b"t" * 32

Fetch = Callable[[], None]


def block(number: int) -> Any:
    return np.random.default_rng(number).integers(0, 256, BLOCK_BYTES, np.uint8)


def serve_segments(pipe: Connection, count: int) -> None:
    for number in range(count):
        write_segment(FILES, f"s-{number}", [block(number)], reserve_bytes=0)
    server = BlockServer("127.0.0.1", token=TOKEN, seed=os.getpid())
    pipe.send(server.address)
    pipe.recv()


@contextmanager
def by_segments(count: int) -> Iterator[Fetch]:
    with served(serve_segments, count) as address:
        into, fetcher = np.empty(BLOCK_BYTES, np.uint8), BlockFetcher(TOKEN)

        def fetch() -> None:
            for number in range(count):
                part = Part(number, address, f"s-{number}", offset=0, size_bytes=BLOCK_BYTES, partitions=0)
                (piece,) = fetcher.fetch(FILES, [part], into)
                assert piece is not None

        yield fetch


def serve_flight(pipe: Connection, count: int) -> None:
    import pyarrow as pa
    from pyarrow import flight

    tables = []
    for number in range(count):
        values = pa.py_buffer(block(number))
        column = pa.Array.from_buffers(pa.binary(RECORD_BYTES), BLOCK_BYTES // RECORD_BYTES, [None, values])
        tables.append(pa.table({"records": column}))

    class Server(flight.FlightServerBase):  # type: ignore[misc]
        def do_get(self, _: Any, ticket: Any) -> Any:
            return flight.RecordBatchStream(tables[int(ticket.ticket)])

    with Server("grpc://127.0.0.1:0") as server:
        pipe.send(server.port)
        pipe.recv()


@contextmanager
def by_flight(count: int) -> Iterator[Fetch]:
    from pyarrow import flight

    with served(serve_flight, count) as port, flight.connect(f"grpc://127.0.0.1:{port}") as client:

        def fetch() -> None:
            for number in range(count):
                table = client.do_get(flight.Ticket(str(number).encode())).read_all()
                assert table.nbytes >= BLOCK_BYTES

        yield fetch


@contextmanager
def by_ray(count: int) -> Iterator[Fetch]:
    import ray
    from ray.cluster_utils import Cluster

    store = {"num_cpus": 1, "object_store_memory": 2 * count * BLOCK_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=store | {"resources": {"from": 1}})
    cluster.add_node(num_cpus=1, object_store_memory=2 * count * BLOCK_BYTES, resources={"to": 1})
    ray.init(address=cluster.address, log_to_driver=False)

    class Holder:
        def blocks(self) -> list[Any]:
            return [ray.put(block(number)) for number in range(count)]

    class Taker:
        def take(self, references: list[Any]) -> int:
            return sum(len(ray.get(reference)) for reference in references)

    holder = ray.remote(resources={"from": 1})(Holder).remote()
    taker = ray.remote(resources={"to": 1})(Taker).remote()
    try:
        held: list[list[Any]] = [ray.get(holder.blocks.remote())]

        def fetch() -> None:
            assert ray.get(taker.take.remote(held[0])) == count * BLOCK_BYTES

        def renew() -> None:  # blocks that the other node has would not be sent again
            held[0] = ray.get(holder.blocks.remote())

        fetch.renew = renew  # type: ignore[attr-defined]
        yield fetch
    finally:
        ray.shutdown()
        cluster.shutdown()


@contextmanager
def served(target: Callable[[Connection, int], None], count: int) -> Iterator[Any]:
    """Yield the answers of a process that serves blocks."""
    context = multiprocessing.get_context("spawn")
    own, other = context.Pipe()
    process = context.Process(target=target, args=(other, count))
    process.start()
    try:
        yield own.recv()
    finally:
        own.send(None)
        process.join()


def processor_seconds() -> float:
    """Return the processor time of this process and all its children."""
    seconds, me = 0.0, psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds += times.user + times.system
    return seconds


def measured(fetch: Fetch) -> tuple[float, float]:
    """Return the seconds, and the processor seconds, of fetching all blocks."""
    getattr(fetch, "renew", lambda: None)()
    before, began = processor_seconds(), time.monotonic()
    fetch()
    return time.monotonic() - began, processor_seconds() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="1GB")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    count = int(parse_size(options.data)) // BLOCK_BYTES
    data_gb = count * BLOCK_BYTES / 1e9
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        os.environ |= {NODE_NAME: "node", NODE_DIRECTORY: folder, NODE_MEMORY: memory}
        for name, way in (("sendfile", by_segments), ("Arrow Flight", by_flight), ("Ray", by_ray)):
            with way(count) as fetch:
                measured(fetch)
                runs = [measured(fetch) for _ in range(options.runs)]
            processor = sorted(seconds / data_gb for _, seconds in runs)
            rate = median(data_gb / seconds for seconds, _ in runs)
            spread = f"{processor[0]:.2f}-{processor[-1]:.2f}"
            print(f"{name}: {median(processor):.2f} s of a processor for each GB ({spread}), {rate:.2f} GB/s")


if __name__ == "__main__":
    main()
