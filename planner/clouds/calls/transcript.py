"""Transcript of requests to a cloud and its answers, recorded below the SDKs, which all use urllib3.

A transcript is for a bug report, and for a test that replays it: it has no headers and no requests for credentials, and
every value that could identify an account, a person or an address is replaced by a word, always the same one.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

_CREDENTIALS: Final = re.compile(
    r"oauth2|/token\b|login\.microsoftonline|//169\.254\.|metadata\.google|//(?:portal|oidc)\.sso\.|:generate\w*Token",
    re.I,
)
"""URLs of requests for credentials."""
_OF_SESSIONS: Final = re.compile(r'"Action": "(?:AssumeRole|GetSessionToken|GetFederationToken)')
"""Bodies of such requests to AWS."""
_OWN_NETWORK: Final = ("10.", "0.", "127.", "255.", "169.254.", "199.36.153.")
"""Prefixes of addresses that identify nobody: private networks, unassigned ones, and Google's private access."""
_RULES: Final[tuple[tuple[str, str], ...]] = (
    ("key", r"ssh-(?:ed25519|rsa) [A-Za-z0-9+/=]+(?: [^\s\"\\]+)?|ecdsa-\S+ [A-Za-z0-9+/=]+"),
    ("key", r"-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----"),
    ("key", r"(?<=PublicKeyMaterial=)[^&\"]+|(?<=PublicKeyMaterial\": \")[^\"]+"),
    ("key", r"\b(?:AKIA|ASIA|AIDA|AROA)[A-Z0-9]{6,}"),
    ("person", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("person", r"(?<=:user/)[\w+=,.@/-]+|(?<=:assumed-role/)[\w+=,.@/-]+"),
    ("account", r"(?<=/subscriptions/)[^/\"?&\s]+|(?<=/projects/)[^/\"?&\s]+"),
    ("account", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    ("account", r"\b\d{12}\b"),
    ("address", r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\bec2-(?:\d{1,3}-){3}\d{1,3}\b"),
)


class Redactor:
    """Replaces identifying values, each by a fixed word. `private` are values known beforehand."""

    def __init__(self, private: dict[str, str]) -> None:
        self._words: dict[str, str] = {}
        self._private = private

    def __call__(self, text: str) -> str:
        """Return a text without private values."""
        for value, name in self._private.items():
            if value:
                text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", self._word(name, value), text)
        for name, pattern in _RULES:
            text = re.sub(pattern, lambda match, name=name: self._redact(name, match[0]), text)  # type: ignore[misc]
        return text

    def _redact(self, name: str, value: str) -> str:
        if name == "address" and value.startswith(_OWN_NETWORK):
            return value
        return value if value.startswith("<") else self._word(name, value)

    def _word(self, name: str, value: str) -> str:
        if value not in self._words:
            count = sum(word.startswith(f"<{name}-") for word in self._words.values()) + 1
            self._words[value] = f"<{name}-{count}>"
        return self._words[value]


class Transcript:
    """Appends each exchange to a file as a line of JSON without private values, as soon as it ends: a killed process
    leaves what it has asked. `status` is 0 without an answer; `target` is the operation where neither the URL nor the
    body names it (AWS's JSON services). The first line has what the recording is `about`; without exchanges there is no
    file.

    A file that cannot be written stops the recording, never a request; `failure` then has the reason.
    """

    def __init__(self, path: Path, *, about: dict[str, Any], private: dict[str, str]) -> None:
        self.path = path
        self.requests = 0
        self.failure = ""
        self._about = about
        self._redact = Redactor(private)
        self._lock = threading.Lock()

    def add(self, **exchange: Any) -> None:
        """Append an exchange."""
        with self._lock:
            texts = {name: self._redact(_without_base64(exchange[name])) for name in ("url", "request", "answer")}
            lines = [{"number": self.requests + 1, **exchange, **texts}]
            try:
                self._append(lines if self.requests else [self._about, *lines])
            except OSError as error:
                self.failure = self.failure or f"{self.path}: {error.strerror or error}"

    def _append(self, lines: list[dict[str, Any]]) -> None:
        if self.failure:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)
        self.requests += 1


def _without_base64(text: str) -> str:
    """Return a text with long runs of base64, which no rule can inspect, replaced by their length."""

    def closed(match: re.Match[str]) -> str:
        try:
            size = len(base64.b64decode(match[0] + "=" * (-len(match[0]) % 4)))
        except binascii.Error:
            return match[0]
        return f"<{size} bytes in base64>"

    return re.sub(r"[A-Za-z0-9+/]{200,}={0,2}", closed, text)


@contextmanager
def recorded(transcript: Transcript) -> Iterator[None]:
    """Add each exchange of this process with a cloud to a transcript while the body runs."""
    from urllib3.connectionpool import HTTPConnectionPool

    usual = HTTPConnectionPool.urlopen

    def urlopen(pool: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> Any:
        began = time.monotonic()
        where = url if "://" in url else f"{pool.scheme}://{pool.host}{url}"
        request, target = _body_text(body), (headers or {}).get("X-Amz-Target", "")

        def note(status: int, answer: str) -> None:
            if _CREDENTIALS.search(where) or _OF_SESSIONS.search(request):
                return
            transcript.add(
                method=method,
                url=where,
                target=target.decode() if isinstance(target, bytes) else target,
                request=request,
                status=status,
                answer=answer,
                seconds=round(time.monotonic() - began, 3),
            )

        return _replayed_answer(lambda: usual(pool, method, url, body, headers, **options), note)

    HTTPConnectionPool.urlopen = urlopen  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        HTTPConnectionPool.urlopen = usual  # type: ignore[method-assign]


def _replayed_answer(call: Callable[[], Any], note: Callable[[int, str], None]) -> Any:
    """Return a copy of an answer whose body has been read and recorded."""
    from urllib3.response import HTTPResponse

    try:
        came = call()
    except Exception as error:
        note(0, type(error).__name__)
        raise
    content = came.read(decode_content=False)
    again = [
        HTTPResponse(
            body=io.BytesIO(content),
            headers=came.headers,
            status=came.status,
            version=came.version,
            reason=came.reason,
            preload_content=False,
        )
        for _ in range(2)
    ]
    note(came.status, again[0].read(decode_content=True).decode(errors="replace"))
    came.release_conn()
    return again[1]


def _body_text(body: Any) -> str:
    """Return a request's body; forms, as EC2 takes them, become JSON."""
    text = body.decode(errors="replace") if isinstance(body, bytes | bytearray) else str(body or "")
    return json.dumps(dict(parse_qsl(text))) if text.startswith("Action=") or "&Action=" in text else text
