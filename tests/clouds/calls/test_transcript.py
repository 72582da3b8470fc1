"""Content that a transcript keeps, and content that it removes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import urllib3

from planner.clouds.calls.transcript import Exchange, Redactor, record_exchanges, transcript_lines


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


def test_exchanges_are_noted_and_answers_still_arrive(server: str) -> None:
    with urllib3.PoolManager() as pool, record_exchanges() as exchanges:
        answer = pool.urlopen("POST", f"{server}/x", body=b"Action=RunInstances&MinCount=2", preload_content=False)
        assert answer.status == 200 and json.loads(answer.read()) == {"id": "i-1"}
        pool.urlopen("POST", f"{server}/token", body=b"grant=secret", preload_content=False).read()
    (exchange,) = exchanges
    assert (exchange.method, exchange.status, exchange.answer) == ("POST", 200, '{"id": "i-1"}')
    assert json.loads(exchange.request) == {"Action": "RunInstances", "MinCount": "2"}


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
    ],
)
def test_what_tells_who_somebody_is_goes(private: str) -> None:
    assert private not in Redactor({})(f'{{"a": "{private}"}}')


def test_long_texts_in_base64_are_told_by_their_length() -> None:
    hidden = base64.b64encode(b"203.0.113.9" * 30).decode()
    exchange = Exchange(number=1, method="GET", url="/", request="", status=200, answer=f"<o>{hidden}</o>", seconds=0.1)
    (line,) = transcript_lines([exchange], {})
    assert json.loads(line)["answer"] == "<o><330 bytes in base64></o>"
