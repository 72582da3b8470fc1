"""A proxy before a cloud's emulator that records requests and can refuse one, lose its answer, or kill the client."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

POOR_LISTINGS = {"X-Listings": "poor"}
"""Requests through a proxy get realistic listings; a test that asks the emulator directly sees everything."""


@dataclass(frozen=True, kw_only=True)
class ProxiedRequest:
    """A request: its place in the sequence from 1 on, the time it came, and its content."""

    number: int
    at_s: float
    method: str
    path: str
    action: str
    params: dict[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The proxy's answer in place of the cloud's."""

    status: int
    body: str
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/xml"})


@dataclass(frozen=True)
class Lose:
    """Break the connection: before the cloud receives the request, or after it has carried it out."""

    carried_out: bool


@dataclass(frozen=True)
class Kill:
    """Let the cloud carry the request out, then kill the process that made it before it gets the answer."""

    pid: Callable[[], int]


Fault = Answer | Lose | Kill | None


class FaultProxy:
    """Forwards to `port`; `judge` decides the fate of a request. `naming` returns a REST request's action from its
    method and path.
    """

    def __init__(
        self, port: int, *, naming: Callable[[str, str], str] = lambda method, path: f"{method} {path}"
    ) -> None:
        self.upstream = port
        self.naming = naming
        self.seen: list[ProxiedRequest] = []
        self.judge: Callable[[ProxiedRequest], Fault] = lambda _: None
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 20  # headers and body in one packet, or each answer waits for a delayed acknowledgement

            def handle_any(self) -> None:
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def reset(self) -> None:
        """Forget the requests seen, and let everything pass."""
        self.seen.clear()
        self.judge = lambda _: None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def actions(self) -> list[str]:
        """Return the names of all requests."""
        return [seen.action for seen in self.seen]

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        fault = self.judge(self._note(handler, body))
        if isinstance(fault, Answer):
            _reply(handler, fault.status, fault.headers, fault.body.encode())
        elif isinstance(fault, Lose) and not fault.carried_out:
            _hang_up(handler)
        else:
            try:
                status, headers, answer = self._forward(handler, body)
            except OSError:  # the emulator hung or died: the client sees a broken connection
                _hang_up(handler)
                return
            if isinstance(fault, Kill):
                with suppress(ProcessLookupError):  # another of its requests, at the same time, killed it
                    os.kill(fault.pid(), signal.SIGKILL)
            if fault is None:
                _reply(handler, status, headers, answer)
            else:
                _hang_up(handler)

    def _note(self, handler: BaseHTTPRequestHandler, body: bytes) -> ProxiedRequest:
        target = handler.headers.get("X-Amz-Target", "").rpartition(".")[2]
        path, _, query = handler.path.partition("?")
        form = {} if target else _first_values(query) | _first_values(body.decode("latin-1") if not query else "")
        with self._lock:
            seen = ProxiedRequest(
                number=len(self.seen) + 1,
                at_s=time.monotonic(),
                method=handler.command,
                path=handler.path,
                action=target or form.get("Action") or self.naming(handler.command, path),
                params=form,
                body=body,
            )
            self.seen.append(seen)
        return seen

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=60)) as connection:
            connection.request(handler.command, handler.path, body, dict(handler.headers.items()) | POOR_LISTINGS)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()


def _first_values(form: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(form).items()}


def _reply(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    handler.send_response_only(status)
    for name, value in headers.items():
        if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Reset the connection without an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.close_connection = True
    handler.connection.close()


def ec2_error(code: str, message: str = "", *, status: int = 400) -> Answer:
    """Return a refusal by EC2."""
    error = f"<Error><Code>{code}</Code><Message>{message or code}</Message></Error>"
    return Answer(status=status, body=f"<Response><Errors>{error}</Errors><RequestID>0</RequestID></Response>")
