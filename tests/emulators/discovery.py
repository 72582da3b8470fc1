"""Google's discovery documents as judges: whether the API knows a request or an answer, down to each field.

A request may not set fields marked output only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import googleapiclient

_DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
_COMMON = {"$alt", "alt"}


@dataclass(frozen=True)
class ApiCall:
    """A request that the API knows: its method, and the names in its path, its query and its body."""

    method: str
    path: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]


class WrongRequestError(Exception):
    """The API does not know such a request."""


class Discovery:
    """One API, by the document that ships with google-api-python-client."""

    def __init__(self, name: str) -> None:
        self._document = json.loads((_DOCUMENTS / f"{name}.json").read_text("utf-8"))
        self._schemas = self._document["schemas"]
        self._methods = list(self._all(self._document.get("resources", {}), ""))

    def _all(
        self, resources: dict[str, Any], prefix: str
    ) -> Iterator[tuple[str, str, re.Pattern[str], dict[str, Any]]]:
        for name, resource in resources.items():
            for verb, method in resource.get("methods", {}).items():
                path = re.escape(method["path"])
                for word, rule in method.get("parameters", {}).items():  # {+word} accepts slashes, as its pattern does
                    path = path.replace(rf"\{{\+{word}\}}", f"(?P<{word}>{rule.get('pattern', '[^:]+').strip('^$')})")
                pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/:]+)", path)
                whole = re.compile("/" + re.escape(self._document["servicePath"]) + pattern)
                yield f"{prefix}{name}.{verb}", method["httpMethod"], whole, method
            yield from self._all(resource.get("resources", {}), f"{prefix}{name}.")

    def asked(self, http_method: str, path: str, query: dict[str, str], body: bytes) -> ApiCall | None:
        """Return the content of a request, None when it is for another API.

        Raises WrongRequestError for parameters or fields that the API does not know, or values that do not fit.
        """
        for name, verb, pattern, method in self._methods:
            match = pattern.fullmatch(path) if verb == http_method else None
            if match:
                content = json.loads(body) if body else {}
                wrong = [*self._wrong_parameters(method, match.groupdict(), query)]
                wrong += self._wrong(method.get("request", {}), content, "body", asking=True) if body else []
                if wrong:
                    raise WrongRequestError(f"{name}: {'; '.join(wrong)}")
                return ApiCall(method=name, path=match.groupdict(), query=query, body=content)
        return None

    def require_known(self, name: str, answer: dict[str, Any]) -> None:
        """Raise WrongRequestError for an answer to a method with fields that the API does not have."""
        if wrong := list(self._wrong(self.answer_of(name), answer, "answer", asking=False)):
            raise WrongRequestError(f"{name}: {'; '.join(wrong[:5])}")

    def answer_of(self, name: str) -> dict[str, Any]:
        """Return the schema of a method's answer."""
        return next(dict(method["response"]) for method_name, _, _, method in self._methods if method_name == name)

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema that a schema refers to, or itself."""
        return dict(self._schemas[schema["$ref"]]) if "$ref" in schema else schema

    def _wrong_parameters(self, method: dict[str, Any], path: dict[str, str], query: dict[str, str]) -> Iterator[str]:
        parameters = method.get("parameters", {})
        for name in set(query) - set(parameters) - _COMMON:
            yield f"no parameter {name}"
        for name, rule in parameters.items():
            value = path.get(name) or query.get(name)
            if value is None:
                if rule.get("required"):
                    yield f"{name} is required"
            elif "pattern" in rule and not re.fullmatch(rule["pattern"].strip("^$"), value):
                yield f"{name}={value} does not match {rule['pattern']}"

    def _wrong(self, schema: dict[str, Any], value: Any, where: str, *, asking: bool) -> Iterator[str]:
        """Yield the parts of a value, in a request if `asking`, that do not fit a schema."""
        schema = self.resolved(schema)
        json_type = schema.get("type")
        if json_type == "object":
            yield from self._wrong_object(schema, value, where, asking=asking)
        elif json_type == "array":
            if not isinstance(value, list):
                yield f"{where} is no list"
            else:
                for number, item in enumerate(value):
                    yield from self._wrong(schema["items"], item, f"{where}[{number}]", asking=asking)
        elif not isinstance(value, {"boolean": bool, "integer": int, "number": int | float}.get(str(json_type), str)):
            yield f"{where}={value!r} is no {json_type}"
        elif schema.get("format") in ("int64", "uint64") and not re.fullmatch(r"-?\d+", str(value)):
            yield f"{where}={value!r} is no whole number"
        elif "enum" in schema and value not in schema["enum"]:
            yield f"{where}={value!r} is none of {schema['enum']}"
        elif "pattern" in schema and not re.fullmatch(schema["pattern"], str(value)):
            yield f"{where}={value!r} does not match {schema['pattern']}"

    def _wrong_object(self, schema: dict[str, Any], value: Any, where: str, *, asking: bool) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} is no object"
            return
        for name, item in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if rule is None:
                yield f"{where}.{name} is unknown"
            elif asking and (rule.get("readOnly") or rule.get("description", "").startswith("[Output Only]")):
                yield f"{where}.{name} is output only"
            else:
                yield from self._wrong(rule, item, f"{where}.{name}", asking=asking)
