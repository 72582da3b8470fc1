"""A relay through which emulated nodes reach one server in this machine's network: an object store.

The nodes' network has no way out. The relay listens on the head's address in the nodes' network and connects to the
server in this machine's network. This works because a socket stays in the network in which it was created.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from planner.clusters.emulated.cluster import HEAD, EmulatedCluster
from planner.errors import BadInputError, IoFailureError

_LISTEN: Final = """\
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as passing, socket.create_server((sys.argv[2], 0)) as listening:
    socket.send_fds(passing, [b"."], [listening.fileno()])
"""
_CHUNK_BYTES: Final = 1 << 16


@contextmanager
def relay_url(nodes: EmulatedCluster, url: str) -> Iterator[str]:
    """Yield a URL at which the nodes reach the HTTP server at `url` while the body runs; plain nodes use `url` itself.

    Raises BadInputError for any other scheme than http://, since a certificate would not fit the relay's address.
    """
    if not nodes.is_shaped:
        yield url
        return
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise BadInputError(
            f"emulated nodes reach an object store by http only; AWS_ENDPOINT_URL is {url or 'not set'}",
            ["set it to a store that speaks http, such as one on this machine"],
            code="wrong-endpoint",
        )
    with _listen(nodes) as listening:
        port = listening.getsockname()[1]
        with _passing_on(listening, host=parts.hostname, port=parts.port or 80):
            yield f"http://{nodes.address(HEAD)}:{port}"


@contextmanager
def _listen(nodes: EmulatedCluster) -> Iterator[socket.socket]:
    """Yield a socket that listens on the head."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = nodes.command(HEAD, sys.executable, "-P", "-c", _LISTEN, str(theirs.fileno()), nodes.address(HEAD))
        done = subprocess.run(words, pass_fds=(theirs.fileno(),), capture_output=True, text=True, check=False)
        if done.returncode:
            raise IoFailureError(
                "no relay to the object store", done.stderr.strip().splitlines()[-3:], code="not-started"
            )
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    with socket.socket(fileno=descriptors[0]) as listening:
        yield listening


@contextmanager
def _passing_on(listening: socket.socket, *, host: str, port: int) -> Iterator[None]:
    """Relay connections in a thread; all are closed at the end."""
    loop = asyncio.new_event_loop()
    over = asyncio.Event()
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(_serve(listening, over, host=host, port=port)), name="relay"
    )
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


async def _serve(listening: socket.socket, over: asyncio.Event, *, host: str, port: int) -> None:
    in_progress: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        in_progress.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await _pass_on(reader, writer, host=host, port=port)
        finally:
            in_progress.discard(task)
            await _close(writer)

    server = await asyncio.start_server(on_connection, sock=listening)
    await over.wait()
    server.close()
    tasks = list(in_progress)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, host: str, port: int) -> None:
    there_reader, there_writer = await asyncio.open_connection(host, port)
    try:
        await asyncio.gather(_pour(reader, there_writer), _pour(there_reader, writer))
    finally:
        await _close(there_writer)


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK_BYTES):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
