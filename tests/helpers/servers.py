"""Small HTTP servers that act as clouds: requests are recorded, and answers come from a function of the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from planner.clouds.calls.retry import RetryPolicy

HASTY = RetryPolicy(most_attempts=3, first_pause_s=0.01, longest_pause_s=0.02)
"""Three attempts, a hundredth of a second apart."""


@dataclass(frozen=True)
class ReceivedRequest:
    """One request."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """The response sent; `cut` bytes are left off its end, although the header promises them."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0


@dataclass
class Served:
    """A running server: its address, and the requests received."""

    url: str
    asked: list[ReceivedRequest]


@contextmanager
def served(answer: Callable[[ReceivedRequest], Answer]) -> Iterator[Served]:
    """Serve `answer` on a port of this machine until the body ends."""
    asked: list[ReceivedRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            body = json.loads(text) if text.startswith("{") else text
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            asked.append(ReceivedRequest(path=parts.path, query=query, headers=dict(self.headers), body=body))
            self._send(answer(asked[-1]))

        do_POST = do_GET

        def _send(self, given: Answer) -> None:
            data = given.body if isinstance(given.body, bytes) else json.dumps(given.body).encode()
            self.send_response(given.status)
            for name, value in {"Content-Type": "application/json", **given.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - given.cut])

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield Served(url=f"http://127.0.0.1:{server.server_port}", asked=asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
