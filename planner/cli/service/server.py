"""The server: a path for each question, and the same questions as tools of the Model Context Protocol at /mcp, behind
one token. Worker processes answer, so that planning uses all cores, with limits on waiting questions and their time.
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import json
import multiprocessing
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.resources import files
from inspect import signature
from typing import Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from planner.cli.service.answers import LOCAL, QUESTIONS, answer, refusal


class _Options:
    """The schema of `asked`: a request's options, without those that read what the caller names."""

    def __get_pydantic_json_schema__(self, _: Any, handler: Any) -> dict[str, Any]:
        schema = json.loads((files("planner.schemas") / "files" / "request.json").read_text(encoding="utf-8"))
        properties = {name: of for name, of in schema["properties"].items() if name not in LOCAL}
        return {name: schema[name] for name in ("type", "additionalProperties")} | {"properties": properties}


_ANSWERS_PER_PROCESS: Final = 200
"""Answers after which a process ends, and its caches with it: this bounds its memory."""

_OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""As in `planner.cli.entry`: plans are many objects, and hardly any are garbage in a cycle."""


_ASKED: Final = Annotated[dict[str, Any], _Options()]
Ask = Callable[[str, dict[str, Any]], Awaitable[tuple[int, dict[str, Any]]]]

_INSTRUCTIONS = (
    "Which cluster to rent to sort or shuffle data, for how long and for how much. `asked` has the options of the"
    ' command `plan` under their names, with underscores: {"data": "10TB", "cloud": "aws,gcp", "deadline": "1h"}.'
    " Nothing is rented or written."
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a caller: bytes of a question, seconds until its answer, simultaneous answers, and waiting ones."""

    body_bytes: int = 1 << 20
    seconds: float = 60.0
    processes: int = 2
    waiting: int = 16


class Workers:
    """The processes. `ask` is called from one event loop."""

    def __init__(self, limits: Limits, *, folder: str | None) -> None:
        self._limits = limits
        self._folder = folder
        self._pool = self._new_pool()
        self._in_hand = 0

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._limits.processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=gc.set_threshold,
            initargs=(_OBJECTS_BETWEEN_COLLECTIONS,),
            max_tasks_per_child=_ANSWERS_PER_PROCESS,
        )

    async def ask(self, question: str, arguments: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the JSON of an answer; 503 where too many wait, 504 where it takes too long. A
        late answer keeps its place until its process is done with it.
        """
        if self._in_hand >= self._limits.processes + self._limits.waiting:
            return 503, refusal("too many questions at once; ask again in a few seconds", code="busy")
        loop = asyncio.get_running_loop()
        try:
            future = self._pool.submit(answer, question, arguments, self._folder)
            self._in_hand += 1
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            text = f"no answer within {self._limits.seconds:g} s; ask for fewer types, regions or sizes"
            return 504, refusal(text, code="too-slow")
        except BrokenProcessPool:
            self._pool = self._new_pool()
            return 500, refusal("the process that answered ended; ask again", code="worker-ended")

    def _done(self) -> None:
        self._in_hand -= 1

    def close(self) -> None:
        """End the processes when they have answered; waiting questions are dropped."""
        self._pool.shutdown(cancel_futures=True)


def application(workers: Workers, limits: Limits, *, token: str, host: str) -> ASGIApp:
    """Return the server's application; every request must carry the token."""
    server = MCPServer("sortplanner", instructions=_INSTRUCTIONS, log_level="WARNING")
    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for question in QUESTIONS:
        server.add_tool(_tool(question, workers.ask), name=question, annotations=hints)
        server.custom_route(f"/{question}", methods=["POST"])(_handler(question, workers.ask, limits))
    app = server.streamable_http_app(
        json_response=True, stateless_http=True, max_request_body_size=limits.body_bytes, host=host
    )
    return BearerToken(app, token=token)


class BearerToken:
    """Filter that passes only requests with the token."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._bears_token(scope):
            await self._app(scope, receive, send)
            return
        error = refusal("no valid token: send `Authorization: Bearer TOKEN`", exit_code=4, code="wrong-token")
        await JSONResponse(error, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _bears_token(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(given, self._expected)


_MOST_LEVELS: Final = 32
_TOO_DEEP: Final = f"the question is nested too deeply: it may have {_MOST_LEVELS} levels"


def _handler(question: str, ask: Ask, limits: Limits) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        try:
            async with asyncio.timeout(limits.seconds):
                body = await _body(request, limits.body_bytes)
        except TimeoutError:
            return _bad(408, f"the question did not come within {limits.seconds:g} s", code="too-slow")
        if body is None:
            return _bad(413, f"a question has at most {limits.body_bytes} bytes", code="too-long")
        try:
            asked = json.loads(body)
        except ValueError as error:
            return _bad(400, f"the question is no JSON: {error}", code="not-json")
        except RecursionError:
            return _bad(400, _TOO_DEEP, code="too-deep")
        if _is_deeper(asked, _MOST_LEVELS):
            return _bad(400, _TOO_DEEP, code="too-deep")
        if not isinstance(asked, dict):
            return _bad(400, 'the question is no JSON object, such as {"asked": {"data": "1TB"}}', code="wrong-type")
        status, document = await ask(question, asked)
        return JSONResponse(document, status, {"Retry-After": "5"} if status == 503 else None)

    return handle


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value has objects or lists within each other, more levels of them than these."""
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(within) and (levels == 0 or any(_is_deeper(inner, levels - 1) for inner in within))


async def _body(request: Request, most_bytes: int) -> bytes | None:
    """Return the body, None if it is too long; at most `most_bytes` are kept."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            return None
    return bytes(body)


def _bad(status: int, text: str, *, code: str) -> Response:
    return JSONResponse(refusal(text, exit_code=2, code=code), status)


def _tool(question: str, ask: Ask) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return a question as a function of its fields, as far as a tool has them."""

    async def tool(**asked: Any) -> dict[str, Any]:
        status, document = await ask(question, asked)
        if status != 200:
            raise ToolError("\n".join([document["error"], *document["details"]]))
        return document

    function = QUESTIONS[question]
    whole = signature(function, eval_str=True)
    fields = [
        field.replace(annotation=_ASKED) if field.name == "asked" else field
        for field in whole.parameters.values()
        if field.kind is field.POSITIONAL_OR_KEYWORD
    ]
    tool.__signature__ = whole.replace(parameters=fields)  # type: ignore[attr-defined]
    tool.__annotations__ = {field.name: field.annotation for field in fields} | {"return": whole.return_annotation}
    tool.__name__, tool.__doc__ = function.__name__, function.__doc__
    return tool
