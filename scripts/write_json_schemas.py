"""Write a JSON Schema (draft 2020-12) of each kind of stored JSON from its dataclasses, and of a request from its
options.

Usage: python scripts/write_json_schemas.py
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from planner.api.recommend import recommend
from planner.schemas.door import accepted, arguments_of
from planner.schemas.json_values import VERSION
from planner.schemas.plan import Plan
from planner.schemas.request import Request, default_of, options
from planner.schemas.run_report import RunReport

FOLDER: Final = Path(__file__).resolve().parent.parent / "planner" / "schemas" / "files"
KINDS: Final[dict[str, Any]] = {"plan": Plan, "run-report": RunReport, "request": Request}
_SCALARS: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}
_DERIVED: Final[dict[str, dict[str, Any]]] = {
    "PhaseComparison": {
        "error": {"type": "number", "description": "predicted_s / measured_s - 1: 0.1 is 10% too long."}
    },
    "RunReport": {"passed": {"type": "boolean", "description": "Whether every check passed."}},
}
"""Fields that a writer adds to those of a dataclass."""
_BESIDE: Final[dict[str, dict[str, Any]]] = {
    "plan": {"simulation": {"type": "object", "description": "What `planner simulate --json` adds."}}
}
"""Fields that a document of a kind may have in addition to its own."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of documents; further fields are allowed."""
    definitions: dict[str, Any] = {}
    _reference(KINDS[kind], definitions)
    whole = definitions.pop(KINDS[kind].__name__)
    version = {"const": VERSION, "description": "Version of this form; a reader of it accepts 1 to 3."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:sortplanner:{kind}:{VERSION}",
        "title": f"{kind}, version {VERSION}",
        **whole,
        "properties": {"version": version, **whole["properties"], **_BESIDE.get(kind, {})},
        "required": ["version", *whole["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


def request_schema() -> dict[str, Any]:
    """Return the schema of what `planner.recommend` takes and `planner serve` is asked: the options of `plan` by their
    names in Python. An option that may be cleared takes null.
    """
    hints = {name: argument.hint for name, argument in arguments_of(recommend).items()}
    properties: dict[str, Any] = {}
    for name, (item, option) in options().items():
        sentence = re.sub(r"; for `sizes`: .*", ".", option.help)
        sentence = re.sub(r"--([a-z-]+)", lambda named: f"`{named[1].replace('-', '_')}`", sentence)
        words = {"examples": list(option.complete)} if isinstance(option.complete, tuple) and option.complete else {}
        is_first = option is item.metadata["options"][0]
        usual = None if item.type.startswith("dict") or not is_first else default_of(item)
        shown = {} if usual in (None, (), dataclasses.MISSING) else {"default": usual}
        properties[name] = {**_argument(hints[name]), "description": sentence, **shown, **words}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:sortplanner:request",
        "title": "request",
        "description": " ".join(request_schema.__doc__.split()).replace("Return the schema of what", "What"),
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _argument(hint: Any) -> dict[str, Any]:
    """Return the schema of an argument: every form in which Python takes it."""
    parts: dict[str, dict[str, Any]] = {}
    for kind in accepted(hint):
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(inner)}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            parts["object"] = {"type": "object", "additionalProperties": _argument(inner[1])}
        elif isinstance(origin, type) and issubclass(origin, Sequence):
            parts["array"] = {"type": "array", "items": _argument(inner[0])}
        else:
            parts[kind.__name__] = {"type": {**_SCALARS, type(None): "null"}[kind]}
    return _any_of(list(parts.values())) if len(parts) > 1 else next(iter(parts.values()))


def _reference(of: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if of.__name__ not in definitions:
        definitions[of.__name__] = {}  # ends the recursion of one that contains itself
        definitions[of.__name__] = _object(of, definitions)
    return {"$ref": f"#/$defs/{of.__name__}"}


def _object(of: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, said = get_type_hints(of), dict(_field_descriptions(of))
    properties: dict[str, Any] = {}
    for field in fields(of):
        stored = field.metadata.get("stored")
        hint = stored.annotation if stored else hints[field.name]
        description = {"description": said[field.name]} if field.name in said else {}
        properties[field.name] = {**_value(hint, definitions), **description}
    properties |= _DERIVED.get(of.__name__, {})
    about = " ".join((of.__doc__ or "").split())
    return {"type": "object", "description": about, "properties": properties, "required": list(properties)}


def _value(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if is_dataclass(hint):
        return _reference(hint, definitions)
    if origin in (Union, types.UnionType):
        return _any_of([{"type": "null"} if part is type(None) else _value(part, definitions) for part in inner])
    if origin is tuple:
        return {"type": "array", "items": _value(inner[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _value(inner[1], definitions)}
    return {"enum": list(inner)} if origin is Literal else {"type": _SCALARS[hint]}


def _any_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    if all(part.keys() == {"type"} for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": parts}


def _field_descriptions(of: Any) -> Iterator[tuple[str, str]]:
    """Yield a field's description: the sentence of the docstring that begins with its name, or its option's help."""
    names = {field.name for field in fields(of)}
    for sentence in re.split(r"(?<=[.;])\s+", " ".join((of.__doc__ or "").split())):
        if (first := re.match(r"`(\w+)`", sentence)) and first[1] in names:
            yield first[1], sentence.rstrip(";.") + "."
    for field in fields(of):
        for option in field.metadata.get("options", ())[:1]:
            yield field.name, option.help


def text_of(kind: str) -> str:
    """Return the schema of a kind as it is shipped."""
    return json.dumps(request_schema() if kind == "request" else schema_of(kind), indent=2) + "\n"


if __name__ == "__main__":
    for kind in KINDS:
        (FOLDER / f"{kind}.json").write_text(text_of(kind), encoding="utf-8")
