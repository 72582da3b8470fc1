"""Content that a transcript keeps, and content that it removes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from planner.clouds.calls.transcript import Redactor, Transcript, recorded


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b'{"id": "i-1"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    made = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def recording(path: Path) -> Transcript:
    return Transcript(path, about={"cloud": "aws"}, private={})


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_exchanges_are_noted_and_answers_still_arrive(server: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "r1.jsonl"
    with urllib3.PoolManager() as pool, recorded(recording(out)):
        answer = pool.urlopen("POST", f"{server}/x", body=b"Action=RunInstances&MinCount=2", preload_content=False)
        assert answer.status == 200 and json.loads(answer.read()) == {"id": "i-1"}
        assert len(lines_of(out)) == 2, "it is written before the next request"
        pool.urlopen("POST", f"{server}/", headers={"X-Amz-Target": "Quotas.GetServiceQuota"}, body=b"{}").read()
    about, first, second = lines_of(out)
    assert about == {"cloud": "aws"}
    assert (first["number"], first["method"], first["status"], first["answer"]) == (1, "POST", 200, '{"id": "i-1"}')
    assert json.loads(first["request"]) == {"Action": "RunInstances", "MinCount": "2"}
    assert (second["number"], second["target"], second["request"]) == (2, "Quotas.GetServiceQuota", "{}")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/token", "grant=secret"),
        ("/", "Action=AssumeRole&Version=2011-06-15&RoleArn=x"),
        ("/", "Version=2011-06-15&Action=AssumeRoleWithWebIdentity"),
        ("/v1/projects/-/serviceAccounts/x:generateAccessToken", "{}"),
    ],
)
def test_requests_for_credentials_are_not_noted(server: str, tmp_path: Path, path: str, body: str) -> None:
    with urllib3.PoolManager() as pool, recorded(recording(tmp_path / "r1.jsonl")):
        assert pool.urlopen("POST", f"{server}{path}", body=body.encode()).status == 200
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_stops_no_request(server: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    transcript = recording(tmp_path / "file" / "r1.jsonl")
    with urllib3.PoolManager() as pool, recorded(transcript):
        assert json.loads(pool.urlopen("POST", f"{server}/x", preload_content=False).read()) == {"id": "i-1"}
    assert transcript.requests == 0 and "r1.jsonl" in transcript.failure


def test_the_same_value_is_the_same_word_everywhere() -> None:
    redact = Redactor({"anna": "person"})
    text = redact("anna at 198.51.100.4, then 203.0.113.9 and 198.51.100.4; annabel and 10.77.0.4 stay")
    assert text == "<person-1> at <address-1>, then <address-2> and <address-1>; annabel and 10.77.0.4 stay"


@pytest.mark.parametrize(
    "private",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ planner-r1",
        "0b1f6471-1bf0-4dda-aec3-111122223333",
        "123456789012",
        "anna@example.com",
        "203.0.113.9",
        "ec2-203-0-113-9.compute-1.amazonaws.com",
    ],
)
def test_what_tells_who_somebody_is_goes(private: str) -> None:
    assert private not in Redactor({})(f'{{"a": "{private}"}}')


def test_long_texts_in_base64_are_told_by_their_length(server: str, tmp_path: Path) -> None:
    hidden = base64.b64encode(b"203.0.113.9" * 30).decode()
    with urllib3.PoolManager() as pool, recorded(recording(tmp_path / "r1.jsonl")):
        pool.urlopen("POST", f"{server}/x", body=f"<o>{hidden}</o>".encode())
    assert lines_of(tmp_path / "r1.jsonl")[1]["request"] == "<o><330 bytes in base64></o>"
