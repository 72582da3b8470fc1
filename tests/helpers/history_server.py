"""A history server for tests that lists and serves logs like Spark's own, over HTTP on this machine.

As in Spark's source, the latest end comes first, `limit` counts applications, an application is listed where an attempt
ended by `maxEndDate`, and running ones by `status` alone. Every request is recorded; a path may first fail some times.
"""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class HistoryServer:
    """Applications: files of their logs by id, ends (None: running); `failing` has the number of failures of a path.
    The first attempts of those in `lost` have no end, so they are listed as running.
    """

    logs: Mapping[str, Mapping[str, bytes]]
    ends_ms: Mapping[str, int | None]
    failing: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    lost: frozenset[str] = frozenset()
    address: str = ""

    def listed(self, query: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
        running = query.get("status") == ["running"]
        until_ms = _milliseconds(query.get("maxEndDate", ["3000-01-01T00:00:00.000GMT"])[0])
        ids = [
            app
            for app, end in self.ends_ms.items()
            if (end is None or app in self.lost) == running and (end or 0) <= until_ms
        ]
        ids.sort(key=lambda app: -(self.ends_ms[app] or 0))
        return [self._info(app) for app in ids[: int(query.get("limit", ["1000000"])[0])]]

    def _info(self, app: str) -> dict[str, Any]:
        end = self.ends_ms[app]
        attempt = {
            "startTimeEpoch": 1, "endTimeEpoch": -1 if end is None else end, "lastUpdatedEpoch": end or 2,
            "completed": end is not None, "sparkUser": "anna", "duration": 1,
        }  # fmt: skip
        lost = {**attempt, "startTimeEpoch": 0, "endTimeEpoch": -1, "completed": False}
        return {"id": app, "name": "test", "attempts": [attempt, *[lost] * (app in self.lost)]}

    def zipped(self, app: str) -> bytes | None:
        files = self.logs.get(app)
        if files is None:
            return None
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return content.getvalue()


def _milliseconds(text: str) -> int:
    assert text.endswith("GMT")
    return round(datetime.fromisoformat(text.removesuffix("GMT") + "+00:00").timestamp() * 1000)


@contextmanager
def history_server(server: HistoryServer) -> Iterator[HistoryServer]:
    """Serve until the body ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            place = urlsplit(self.path)
            if server.failing.get(place.path, 0) > 0:
                server.failing[place.path] -= 1
                self.send_error(503)
            elif place.path == "/api/v1/applications":
                self._answer(json.dumps(server.listed(parse_qs(place.query))).encode(), "application/json")
            elif place.path.startswith("/api/v1/applications/") and place.path.endswith("/logs"):
                content = server.zipped(place.path.split("/")[4])
                self.send_error(404) if content is None else self._answer(content, "application/octet-stream")
            else:
                self._answer(b"<html>Spark</html>", "text/html")

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    server.address = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
