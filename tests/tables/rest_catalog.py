"""Iceberg's REST catalog over HTTP, in front of pyiceberg's catalog in a file: its tables, commits, and answers that
fail.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import CommitTableRequest

Fault = Callable[[Callable[[], None]], int | None]
"""Takes what commits, and returns a status to answer instead; 0 closes the connection."""


class RestCatalog:
    """A server of the tables of a catalog in a file; `faults` decide about its next commits, one each."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = properties
        self.faults: list[Fault] = []
        self.commits = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def load(self, name: str) -> dict[str, Any]:
        table = load_catalog(**self.properties).load_table(name)
        return {"metadata-location": table.metadata_location, "metadata": json.loads(table.metadata.model_dump_json())}

    def commit(self, name: str, content: bytes) -> None:
        asked = CommitTableRequest.model_validate(json.loads(content) | {"identifier": _identifier(name)})
        catalog = load_catalog(**self.properties)
        catalog.commit_table(catalog.load_table(name), asked.requirements, asked.updates)
        self.commits += 1


def _identifier(name: str) -> dict[str, Any]:
    space, _, table = name.rpartition(".")
    return {"namespace": space.split("."), "name": table}


def _handler(catalog: RestCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def answer(self, status: int, content: Any) -> None:
            if status == 0:
                self.close_connection = True
                return
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def refuse(self, status: int, kind: str) -> None:
            self.answer(status, {"error": {"message": "as the test asks", "type": kind, "code": status}})

        @property
        def table(self) -> str:
            parts = self.path.partition("?")[0].split("/")
            return f"{parts[parts.index('namespaces') + 1]}.{parts[-1]}"

        def do_GET(self) -> None:
            if self.path.startswith("/v1/config"):
                self.answer(200, {"defaults": {}, "overrides": {}})
                return
            try:
                self.answer(200, catalog.load(self.table))
            except NoSuchTableError:
                self.refuse(404, "NoSuchTableException")

        def do_POST(self) -> None:
            content, status = self.rfile.read(int(self.headers["Content-Length"])), None
            try:
                if catalog.faults:
                    status = catalog.faults.pop(0)(lambda: catalog.commit(self.table, content))
                else:
                    catalog.commit(self.table, content)
            except CommitFailedException:
                status = 409
            if status is None:
                self.answer(200, catalog.load(self.table))
            else:
                self.refuse(status, "CommitFailedException" if status == 409 else "ServerError")

    return Handler


@contextmanager
def served(properties: dict[str, str]) -> Iterator[RestCatalog]:
    """Serve the tables of a catalog in a file."""
    server = RestCatalog(properties)
    try:
        yield server
    finally:
        server.close()
