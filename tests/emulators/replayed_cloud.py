"""A cloud that answers as a transcript of `planner cluster smoke --record` says, behind the fault proxy."""

from __future__ import annotations

import base64
import json
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from emulated_cloud import EmulatedCloud
from fault_proxy import Answer, Fault, Lose, ProxiedRequest

from planner.clouds.calls.transcript import Redactor

RUN = re.compile(r"r\d{8}-\d{4}-[a-z0-9]{6}")
WORD = re.compile(r"<(address|account|person|key|subnet)-(\d+)>")
READS = re.compile("describe|get|list|decode|simulate|retrieve|check|test|wait", re.I)
"""Beginnings of operations that change nothing."""


@dataclass(frozen=True)
class Request:
    """What of a request is the same in its recording and its repetition: the operation, its parts, and whether it
    changes anything.
    """

    operation: str
    parts: frozenset[str]
    writes: bool


class Replay:
    """A proxy's judge. A request gets the answer of the most similar one recorded for its operation, in their order.
    One that only reads gets an answer from between the last change and the next. `unknown` names requests for
    operations that were not recorded. Public price lists, which no transcript has, are the emulator's.
    """

    def __init__(self, transcript: Path, cloud: EmulatedCloud, *, private: dict[str, str]) -> None:
        self.about, *self._recorded = [json.loads(line) for line in transcript.read_text("utf-8").splitlines()]
        self.unknown: list[str] = []
        self._url, self._refusal = cloud.proxy.url, cloud.refusal("NotRecorded")
        self._redact = Redactor(private)
        self._requests = [
            self._request(each["method"], each["url"], each["target"], each["request"]) for each in self._recorded
        ]
        self._sites = {"{0.scheme}://{0.netloc}".format(urlsplit(each["url"])) for each in self._recorded}
        self._used: set[int] = set()
        self._changed = -1
        self._run = str(self.about["run"])
        self._lock = threading.Lock()

    def __call__(self, seen: ProxiedRequest) -> Fault:
        """Return the answer to a request."""
        text = f"{seen.path} {seen.body.decode()}"
        self._run = next((found[0] for found in RUN.finditer(text)), self._run)
        target = seen.action if seen.body.startswith(b"{") and seen.path == "/" else ""
        body = json.dumps(seen.params) if "Action" in seen.params else seen.body.decode()
        with self._lock:
            number = self._choose(self._request(seen.method, self._url + seen.path, target, body))
        if number is None and seen.path.startswith("/prices"):
            return None
        if number is None:
            self.unknown.append(f"{seen.action}: {text[:300]}")
            return self._refusal
        recorded = self._recorded[number]
        if not recorded["status"]:
            return Lose(carried_out=True)
        answer, run = _stand_ins(recorded["answer"]), self.about["run"]
        for old, new in {
            run: self._run,
            run.upper(): self._run.upper(),
            **dict.fromkeys(self._sites, self._url),
        }.items():
            answer = answer.replace(old, new)
        kind = "text/xml" if answer.startswith("<") else "application/json"
        return Answer(status=recorded["status"], body=answer, headers={"Content-Type": kind})

    def _choose(self, request: Request) -> int | None:
        alike = {
            number: len(request.parts & each.parts) / (len(request.parts | each.parts) or 1)
            for number, each in enumerate(self._requests)
            if each.operation == request.operation
        }
        best = [number for number, share in alike.items() if share == max(alike.values())]
        if not best:
            return None
        chosen = self._next_write(best) if request.writes else self._next_read(best)
        self._used.add(chosen)
        if request.writes:
            self._changed = max(self._changed, chosen)
        return chosen

    def _next_write(self, best: list[int]) -> int:
        return next((number for number in best if number not in self._used), best[-1])

    def _next_read(self, best: list[int]) -> int:
        """Return the first answer that no other request had between the last change and the next, or the last there."""
        open_writes = (n for n, each in enumerate(self._requests) if each.writes and n not in self._used)
        end = next((number for number in open_writes if number > self._changed), len(self._requests))
        now = [number for number in best if self._changed < number < end]
        earlier = [number for number in best if number < end]
        return next((n for n in now if n not in self._used), (now or earlier or best)[-1 if earlier else 0])

    def _request(self, method: str, url: str, target: str, body: str) -> Request:
        where = urlsplit(self._same(url))
        content = json.loads(body) if body.startswith("{") else body
        action = target.rpartition(".")[2] or (content.get("Action", "") if isinstance(content, dict) else "")
        query = {f"{name}={value}" for name, value in parse_qsl(where.query)}
        return Request(
            operation=f"{method} {where.path} {action}".lower(),
            parts=frozenset(query | {self._same(part) for part in _parts(content)}),
            writes=method != "GET" and not READS.match(action or where.path.rpartition("/")[2]),
        )

    def _same(self, text: str) -> str:
        return WORD.sub(r"<\1>", self._redact(RUN.sub("RUN", text)))


def _parts(content: Any, name: str = "") -> set[str]:
    """Return each value of a document with its place in it."""
    if isinstance(content, dict):
        return {part for key, value in content.items() for part in _parts(value, f"{name}.{key}")}
    if isinstance(content, list):
        return {part for value in content for part in _parts(value, name)}
    return {f"{name}={content}"}


def _stand_ins(answer: str) -> str:
    """Return an answer with made-up values in place of a transcript's words."""
    text = re.sub(r"<(\d+) bytes in base64>", lambda found: base64.b64encode(bytes(int(found[1]))).decode(), answer)
    return WORD.sub(lambda found: f"198.51.100.{found[2]}" if found[1] == "address" else f"{found[1]}-{found[2]}", text)
