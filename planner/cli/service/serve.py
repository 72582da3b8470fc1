"""`planner serve`: the answers of the commands over HTTP, and as tools for agents."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Annotated, Final

from typer import Option

from planner.cli.shell.console import talk
from planner.errors import BadInputError, IoFailureError

_TOKEN: Final = "PLANNER_TOKEN"


def serve(
    *,
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8765,
    host: Annotated[str, Option(help="Address to listen at; this machine's own by default.")] = "127.0.0.1",
    logs: Annotated[
        Path | None, Option(help="Folder of Spark logs that callers may have explained; none otherwise.")
    ] = None,
    processes: Annotated[int, Option(min=1, max=256, help="Answers at once, each in a process.")] = 2,
    waiting: Annotated[int, Option(min=0, max=10_000, help="Questions that may wait; more are refused.")] = 16,
    seconds: Annotated[float, Option(min=1, help="An answer may take so long.")] = 60.0,
) -> None:
    """Answer over HTTP: POST /plan, /why-not, /what-if, /explain-log and /export, and a server for agents at /mcp.

    Callers send the token in the variable PLANNER_TOKEN, or the one that is printed. Nothing is rented or written.

    Example: planner serve --port 8765
    """
    from planner.extras import optional

    uvicorn = optional("uvicorn", extra="serve", purpose="planner serve")
    optional("mcp", extra="serve", purpose="planner serve")
    from planner.cli.service.server import Limits, Workers, application

    if logs is not None and not logs.is_dir():
        raise BadInputError(f"--logs {logs}: no such folder; name one that has logs of Spark", code="no-such-folder")
    limits = Limits(processes=processes, waiting=waiting, seconds=seconds)
    token = os.environ.get(_TOKEN, "")
    if not token:
        token = secrets.token_urlsafe(32)
        talk(f"token: {token} ({_TOKEN} sets another)")
    listening = _listen(host, port)
    workers = Workers(limits, folder=str(logs) if logs else None)
    try:
        config = uvicorn.Config(
            application(workers, limits, token=token, host=host), log_level="warning", limit_concurrency=256
        )
        talk(f"listening at http://{host}:{listening.getsockname()[1]}; end with Ctrl-C")
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        workers.close()
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise IoFailureError(
            f"--host {host} --port {port}: {error.strerror or error}; name another", code="cannot-listen"
        ) from error
