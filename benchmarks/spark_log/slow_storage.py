"""A store of files that serves each at a given rate, as WebHDFS; it measures how long it held tasks back."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

_PIECE_BYTES: Final = 1 << 18
_LINE: Final = b"a line of a file that is slow to come\n"
_API: Final = "/webhdfs/v1"


class SlowStorage:
    """Server of `files` files in the folder `/data`, each of `file_bytes`, at `bytes_per_s` for each request."""

    def __init__(self, *, files: int, file_bytes: int, bytes_per_s: float) -> None:
        self.files, self.file_bytes, self.bytes_per_s = files, file_bytes, bytes_per_s
        self.held_back_s = 0.0
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                query = {key.lower(): value[0] for key, value in parse_qs(address.query).items()}
                store.answer(self, address.path.removeprefix(_API), query)

            def log_message(self, *_: Any) -> None:
                """Keep stderr for Spark."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port

    def __enter__(self) -> SlowStorage:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str]) -> None:
        """Answer one request."""
        asked = query["op"].upper()
        if asked == "OPEN":
            self._send(handler, int(query.get("offset", 0)), int(query.get("length", self.file_bytes)))
            return
        if asked == "LISTSTATUS":
            statuses = [self._status(f"part-{place}") for place in range(self.files)]
            body: dict[str, Any] = {"FileStatuses": {"FileStatus": statuses}}
        elif asked == "GETFILEBLOCKLOCATIONS":
            body = {"BlockLocations": {"BlockLocation": []}}
        elif asked == "GET_BLOCK_LOCATIONS":
            whole = {"fileLength": self.file_bytes, "isUnderConstruction": False, "isLastBlockComplete": True}
            body = {"LocatedBlocks": {**whole, "locatedBlocks": [], "lastLocatedBlock": None}}
        elif "_spark_metadata" in path:
            gone = {"exception": "FileNotFoundException", "javaClassName": "java.io.FileNotFoundException"}
            body = {"RemoteException": {**gone, "message": "none"}}
        else:
            body = {"FileStatus": self._status("" if path.rstrip("/") == "/data" else path)}
        text = json.dumps(body).encode()
        handler.send_response(404 if "RemoteException" in body else 200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _status(self, name: str) -> dict[str, Any]:
        size = self.file_bytes if name else 0
        return {
            "pathSuffix": name if "/" not in name else "", "type": "FILE" if name else "DIRECTORY", "length": size,
            "blockSize": 1 << 27, "replication": 1, "permission": "755", "owner": "o", "group": "g",
            "accessTime": 0, "modificationTime": 0, "fileId": 1, "childrenNum": 0, "storagePolicy": 0,
        }  # fmt: skip

    def _send(self, handler: BaseHTTPRequestHandler, offset: int, length: int) -> None:
        left = min(length, self.file_bytes - offset)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.send_header("Content-Length", str(left))
        handler.end_headers()
        piece = _LINE * (_PIECE_BYTES // len(_LINE))
        try:
            while left > 0:
                part = piece[: min(left, len(piece))]
                begin = time.perf_counter()
                time.sleep(len(part) / self.bytes_per_s)
                handler.wfile.write(part)
                left -= len(part)
                with self._lock:
                    self.held_back_s += time.perf_counter() - begin
        except (BrokenPipeError, ConnectionResetError):
            return
