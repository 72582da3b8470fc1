"""The server: a path for each question, and the same questions as tools of the Model Context Protocol at /mcp, behind
one token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from planner.cli.service.answers import LOCAL, QUESTIONS, refusal
from planner.cli.service.workers import Limits, Workers


class _Options:
    """The schema of `asked`: a request's options, without those that read what the caller names."""

    def __get_pydantic_json_schema__(self, _: Any, handler: Any) -> dict[str, Any]:
        schema = json.loads((files("planner.schemas") / "files" / "request.json").read_text(encoding="utf-8"))
        properties = {name: of for name, of in schema["properties"].items() if name not in LOCAL}
        return {name: schema[name] for name in ("type", "additionalProperties")} | {"properties": properties}


Asked = Annotated[dict[str, Any], _Options()]
Ask = Callable[[str, dict[str, Any]], Awaitable[tuple[int, dict[str, Any]]]]

_INSTRUCTIONS = (
    "Which cluster to rent to sort or shuffle data, for how long and for how much. `asked` has the options of the"
    ' command `plan` under their names, with underscores: {"data": "10TB", "cloud": "aws,gcp", "deadline": "1h"}.'
    " Nothing is rented or written."
)


def application(workers: Workers, limits: Limits, *, token: str, host: str) -> ASGIApp:
    """Return the server's application; every request must carry the token."""
    server = MCPServer("sortplanner", instructions=_INSTRUCTIONS, log_level="WARNING")
    _add_tools(server, workers.ask)
    for question in QUESTIONS:
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
        if not isinstance(asked, dict):
            return _bad(400, 'the question is no JSON object, such as {"asked": {"data": "1TB"}}', code="wrong-type")
        status, document = await ask(question, asked)
        return JSONResponse(document, status, {"Retry-After": "5"} if status == 503 else None)

    return handle


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


def _add_tools(server: MCPServer, ask: Ask) -> None:
    async def answered(question: str, asked: dict[str, Any]) -> dict[str, Any]:
        status, document = await ask(question, asked)
        if status != 200:
            raise ToolError("\n".join([document["error"], *document["details"]]))
        return document

    async def plan(asked: Asked) -> dict[str, Any]:
        """Recommend a cluster: the JSON of `plan --json`, with `best`, `candidates` and `rejected`."""
        return await answered("plan", {"asked": asked})

    async def why_not(asked: Asked, instance_type: str) -> dict[str, Any]:
        """Explain why a plan does not recommend a type of machine, and what would make it come first."""
        return await answered("why-not", {"asked": asked, "instance_type": instance_type})

    async def what_if(asked: Asked, changes: dict[str, Any]) -> dict[str, Any]:
        """Plan again with a resource multiplied ({"network": 2}) or an option replaced ({"data": "20TB"})."""
        return await answered("what-if", {"asked": asked, "changes": changes})

    async def explain_log(file: str) -> dict[str, Any]:
        """Show where the time of a Spark application went; `file` is a log in the server's folder of logs."""
        return await answered("explain-log", {"file": file})

    async def export(asked: Asked, to: str) -> dict[str, Any]:
        """Write a plan's cluster as a platform's file: emr, dataproc, databricks, kuberay, skypilot, terraform, ..."""
        return await answered("export", {"asked": asked, "to": to})

    tools: tuple[Callable[..., Any], ...] = (plan, why_not, what_if, explain_log, export)
    for name, tool in zip(QUESTIONS, tools, strict=True):
        server.add_tool(tool, name=name, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
