"""`planner serve` over real HTTP, and through the official client of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from approvals import Approve
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from spark_events import lines, small_job

from planner import recommend

TOKEN = "token-of-the-test"
ASKED = {"data": "1TB", "instance": "i4i.4xlarge,i4i.8xlarge", "nodes": 8}


@dataclass(frozen=True)
class Served:
    """A running server, and the folder of its logs."""

    url: str
    logs: Path

    def post(self, path: str, body: Any, *, token: str | None = TOKEN) -> tuple[int, dict[str, Any]]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{self.url}{path}", content, headers), timeout=300
            ) as made:
                return made.status, json.load(made)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    logs = folder / "logs"
    logs.mkdir()
    (logs / "app-1").write_bytes(lines(small_job(tasks=8)))
    (folder / "secret").write_bytes(lines(small_job(tasks=8)))
    (logs / "out").symlink_to(folder / "secret")
    words = ["serve", "--host", "127.0.0.1", "--port", "0", "--logs", str(logs)]
    words += ["--processes", "1", "--waiting", "4", "--seconds", "250"]
    server = subprocess.Popen(
        [sys.executable, "-m", "planner", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PLANNER_TOKEN": TOKEN, "COLUMNS": "200"},
    )
    assert server.stderr is not None
    try:
        first = server.stderr.readline()
        assert "listening at http" in first, first + server.stderr.read()
        yield Served(first.partition("listening at ")[2].partition(";")[0].strip(), logs)
    finally:
        server.terminate()
        server.wait(60)
        server.stderr.close()


def test_a_plan_is_that_of_the_library(served: Served) -> None:
    status, document = served.post("/plan", {"asked": ASKED})
    assert status == 200
    assert document == json.loads(recommend(**ASKED).plan.to_json())  # type: ignore[arg-type]


def test_the_other_questions(served: Served) -> None:
    status, document = served.post("/why-not", {"asked": ASKED, "instance_type": "i4i.32xlarge"})
    assert status == 200 and document["why_not"]["cluster"]["nodes"] == 8
    status, document = served.post("/what-if", {"asked": ASKED, "changes": {"data": "2TB", "network": 2}})
    assert status == 200 and document["request"]["data_bytes"] == 2 * 10**12
    status, document = served.post("/export", {"asked": ASKED, "to": "terraform"})
    assert status == 200 and '"aws_instance"' in document["text"]
    status, document = served.post("/explain-log", {"file": "app-1"})
    assert status == 200 and document["stages"]


def test_without_the_token_nothing_is_answered(served: Served) -> None:
    for path in ("/plan", "/mcp", "/none"):
        for token in (None, "", TOKEN[:-1], TOKEN + "x"):
            status, document = served.post(path, {"asked": ASKED}, token=token)
            assert status == 401 and "error" in document


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/plan", b"{", 400, "no JSON"),
        ("/plan", [1], 400, "no JSON object"),
        ("/plan", b"[" * 100_000 + b"]" * 100_000, 400, "nested too deeply"),
        ("/plan", b'{"asked":' * 500 + b"1" + b"}" * 500, 400, "nested too deeply"),
        ("/plan", {}, 400, "asked: an object is expected"),
        ("/plan", {"asked": ASKED | {"daeta": "1TB"}}, 400, "no such argument"),
        ("/plan", {"asked": {"data": "1"}}, 400, "1"),
        ("/plan", {"asked": ASKED, "also": 1}, 400, "also: no such field"),
        ("/plan", {"asked": ASKED | {"input": "/etc/passwd"}}, 400, "input: reads the server's files"),
        ("/plan", {"asked": ASKED | {"input": "s3://bucket/in"}}, 400, "input: reads the server's files"),
        ("/plan", {"asked": ASKED | {"profile": "/etc/passwd"}}, 400, "profile: reads"),
        ("/plan", {"asked": ASKED | {"model": "/etc/passwd"}}, 400, "does not ship with the server"),
        ("/plan", {"asked": ASKED | {"catalog": "/etc"}}, 400, "does not ship with the server"),
        ("/plan", {"asked": ASKED | {"catalogs": ["aws", "/etc"]}}, 400, "does not ship with the server"),
        ("/what-if", {"asked": ASKED, "changes": {"model": "/etc/passwd"}}, 400, "does not ship with the server"),
        ("/what-if", {"asked": ASKED, "changes": {"input": "/etc/passwd"}}, 400, "input: reads the server's files"),
        ("/explain-log", {"file": "../secret"}, 400, "not in the server's folder"),
        ("/explain-log", {"file": "/etc/passwd"}, 400, "not in the server's folder"),
        ("/explain-log", {"file": "out"}, 400, "not in the server's folder"),
        ("/explain-log", {"file": 1}, 400, "a text is expected"),
        ("/export", {"asked": ASKED, "to": "emrr"}, 400, "no platform is called"),
        ("/export", {"asked": ASKED, "to": "k8s"}, 400, "Did you mean spark-operator"),
        ("/plan", b" " * (1 << 20) + b"{}", 413, "at most 1048576 bytes"),
    ],
)
def test_bad_questions_are_refused(served: Served, path: str, body: Any, status: int, said: str) -> None:
    got, document = served.post(path, body)
    assert got == status and said in document["error"]


def test_a_question_of_the_wrong_kind_does_not_end_the_server(served: Served) -> None:
    for wrong in ({"data": {}}, {"data": "1TB", "nodes": []}, {"data": "1TB", "deadline": {"a": 1}}):
        status, document = served.post("/plan", {"asked": wrong})
        assert status in {400, 500} and document["error"]
    assert served.post("/explain-log", {"file": "app-1"})[0] == 200


async def _with_client(served: Served) -> tuple[list[Any], Any, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=300) as http,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        plan = await client.call_tool("plan", {"asked": ASKED})
        refused = await client.call_tool("explain-log", {"file": "../secret"})
        return tools, plan, refused


def test_the_official_client_finds_five_tools_and_plans(served: Served, approve: Approve) -> None:
    tools, plan, refused = asyncio.run(_with_client(served))
    assert [tool.name for tool in tools] == ["plan", "why-not", "what-if", "explain-log", "export"]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    asked = tools[0].input_schema["properties"]["asked"]
    assert "deadline" in asked["properties"] and "input" not in asked["properties"]
    jsonschema.validate(ASKED, asked)
    assert not plan.is_error
    assert plan.structured_content == json.loads(recommend(**ASKED).plan.to_json())  # type: ignore[arg-type]
    assert refused.is_error
    approve(refused.content[0].text)
