"""S3 over HTTP for the tests: moto, which answers every n-th request with a transient error.

    python s3_server.py HOST PORT EVERY FILE        prints its port once it listens; PORT may be 0

The errors so far are counted in FILE; the clients make the buckets. One called `refusing` takes no parts of an output.
An object called `once-refused` is refused to its first reader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

import moto_folder
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

SLOW_DOWN = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)


DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


class Faulty:
    """Answers every `every`-th request with 503 SlowDown, all others with the application's answer. The bucket
    `refusing` takes no partitions until its `no-more` has been requested.
    """

    def __init__(self, application: Any, *, every: int, counted: Path) -> None:
        self._application = application
        self._every = every
        self._counted = counted
        self._refuses = True
        self._refused_once = set[str]()
        self._numbers = count(1)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        self._refuses &= path != "/refusing/no-more"
        if self._refuses and environ["REQUEST_METHOD"] == "PUT" and path.startswith("/refusing/") and "/part-" in path:
            return self._refuse(environ, start, "403 Forbidden", DENIED)
        if path.endswith("/once-refused") and environ["REQUEST_METHOD"] == "GET" and path not in self._refused_once:
            self._refused_once.add(path)
            return self._refuse(environ, start, "403 Forbidden", DENIED)
        number = next(self._numbers)
        if number % self._every:
            answer: Iterable[bytes] = self._application(environ, start)
            return answer
        self._counted.write_text(str(number // self._every))
        return self._refuse(environ, start, "503 Slow Down", SLOW_DOWN)

    @staticmethod
    def _refuse(environ: dict[str, Any], start: Callable[..., Any], status: str, text: bytes) -> Iterable[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))])
        return [text]


def main(host: str, port: str, every: str, counted: str) -> None:
    moto_folder.list_once()
    moto = DomainDispatcherApplication(create_backend_app)
    server = make_server(host, int(port), Faulty(moto, every=int(every), counted=Path(counted)), threaded=True)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
