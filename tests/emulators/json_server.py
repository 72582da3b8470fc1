"""An emulator over HTTP that answers with JSON, one request after another."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit


class JsonHandler(BaseHTTPRequestHandler):
    """Its `answer` takes a path, a query and a body, and returns a status with JSON values, or a text."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20
    lock: ClassVar = threading.Lock()

    def answer(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        raise NotImplementedError

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        with self.lock:
            status, answer = self.answer(parts.path, dict(parse_qsl(parts.query)), body)
            content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def serve(handler: type[JsonHandler]) -> None:
    """Print the port, and serve until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
