"""S3 over HTTP for the tests: moto, which answers every n-th request with an error that passes.

    python s3_server.py HOST PORT EVERY FILE

The errors so far are counted in FILE; buckets are made by whoever needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

SLOW_DOWN = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)


class Faulty:
    """Answers every `every`-th request with 503 SlowDown, all others with the application's answer."""

    def __init__(self, application: Any, *, every: int, counted: Path) -> None:
        self._application = application
        self._every = every
        self._counted = counted
        self._numbers = count(1)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        number = next(self._numbers)
        if number % self._every:
            answer: Iterable[bytes] = self._application(environ, start)
            return answer
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        self._counted.write_text(str(number // self._every))
        start("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(SLOW_DOWN)))])
        return [SLOW_DOWN]


def main(host: str, port: str, every: str, counted: str) -> None:
    moto = DomainDispatcherApplication(create_backend_app)
    run_simple(host, int(port), Faulty(moto, every=int(every), counted=Path(counted)), threaded=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
