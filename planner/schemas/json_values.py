"""Conversion between dataclasses and plain values, of JSON and TOML, with every type checked.

Readers take files of `VERSION` alone, and ignore unknown fields. A field in another form in JSON has that form as
`stored` in its metadata.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from planner.errors import BadInputError, Finding, bad_input
from planner.schemas.door import UNIONS, problem, shown
from planner.schemas.wrong_words import argument_meant

VERSION: Final = 3
"""Version of the JSON that the commands print and store."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Form of a field in JSON, `annotation`, with the conversions in both directions."""

    annotation: Any
    store: Callable[[Any], Any]
    restore: Callable[[Any], Any]


def versioned(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain dicts and lists, its version first."""
    return {"version": VERSION, **to_jsonable(value)}


def read_versioned(text: str, *, what: str) -> dict[str, Any]:
    """Return the object that a JSON text holds, without its version; `what` names the text in errors.

    Raises BadInputError for anything but a JSON object, and for one that states another version.
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise BadInputError(f"{what} is not JSON: {reason}", code="not-json") from error
    if not isinstance(document, dict):
        raise BadInputError(f"{what}: expected an object, found {shown(document)}", code="wrong-type")
    version = document.pop("version", VERSION)
    if type(version) is not int or version != VERSION:
        is_later = type(version) is int and version > VERSION
        advice = "upgrade the planner, then read again" if is_later else "make it again with this planner"
        raise BadInputError(
            f"{what}.version: {shown(version)}, and this planner reads {VERSION}", [advice], code="wrong-version"
        )
    return document


def to_jsonable(value: Any) -> Any:
    """Turn a dataclass, with any inside it, into plain dicts and lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(_as_stored(field, getattr(value, field.name))) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_jsonable(item) for item in value]
    return {key: to_jsonable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _as_stored(field: Any, value: Any) -> Any:
    stored: Stored | None = field.metadata.get("stored")
    return stored.store(value) if stored else value


def from_jsonable(annotation: Any, value: Any, *, where: str) -> Any:
    """Build a value of type `annotation` (a dataclass, a container or a scalar) from parsed JSON; fields that a
    dataclass lacks are ignored. Raises one BadInputError that lists all errors.
    """
    reader = Reader()
    built = reader.read(annotation, value, at=where)
    if reader.findings:
        is_lacking = any(finding.code == "missing-argument" for finding in reader.findings)
        advice = "; if another version of the planner wrote it, make it again with this one" if is_lacking else ""
        raise bad_input(where, reader.findings, advice)
    return built


class Reader:
    """The check of parsed JSON or TOML against types, with all errors as `findings`. In a file that users write
    (`is_strict`) unknown names and blank texts are errors, too. Codes and bounds are those of `planner.schemas.door`;
    keys of a mapping are any, or those of `Annotated[str, NAMES]`.
    """

    def __init__(self, *, is_strict: bool = False) -> None:
        self.findings: list[Finding] = []
        self._is_strict = is_strict

    def read(self, kind: Any, value: Any, *, at: str = "") -> Any:
        """Return the value as one of type `kind`; `at` is its path in the file. What is wrong becomes a finding."""
        if kind is Any or (type(value) is kind and kind in (str, int, bool)):
            return value
        origin, inner = get_origin(kind), get_args(kind)
        if origin in UNIONS and len(inner) == 2 and inner[1] is types.NoneType:
            return None if value is None else self.read(inner[0], value, at=at)
        if is_dataclass(kind):
            return self._record(kind, value, at)
        if origin is tuple:
            return tuple(self._items(inner, value, at))
        if origin in (dict, Mapping):
            return self._entries(inner, value, at)
        if found := problem(value, kind):
            return self.note(at, *found)
        if (inner[0] if origin is Annotated else kind) is not float:
            return value
        return float(value) if math.isfinite(value) else self.note(at, "wrong-type", f"{value!r} is not finite")

    def note(self, at: str, code: str, text: str) -> None:
        """Note an error of the field at a path."""
        self.findings.append(Finding(field=at, code=code, text=text))

    def _record(self, kind: Any, value: Any, at: str) -> Any:
        before, declared, given = len(self.findings), _declared(kind), {}
        if not self._is_of(dict, "a table" if self._is_strict else "an object", value, at):
            return None
        if self._is_strict:
            self._refuse_unknown(value, list(declared), at, inside={name: hint for name, (hint, _) in declared.items()})
        for name, (hint, item) in declared.items():
            is_needed = item.default is MISSING and item.default_factory is MISSING
            is_blank = self._is_strict and is_needed and isinstance(value.get(name), str) and not value[name].strip()
            if name in value and not is_blank:
                given[name] = self._field(item, hint, value[name], f"{at}.{name}" if at else name)
            elif is_needed:
                self.note(f"{at}.{name}" if at else name, "missing-argument", "is missing")
        return kind(**given) if len(self.findings) == before else None

    def _field(self, item: Field[Any], hint: Any, value: Any, at: str) -> Any:
        stored: Stored | None = item.metadata.get("stored")
        if stored is None:
            return self.read(hint, value, at=at)
        before, plain = len(self.findings), self.read(stored.annotation, value, at=at)
        return stored.restore(plain) if len(self.findings) == before else None

    def _items(self, inner: tuple[Any, ...], value: Any, at: str) -> list[Any]:
        if not self._is_of(list, "a list", value, at):
            return []
        kinds = inner if inner[-1] is not Ellipsis else inner[:1] * len(value)
        if len(kinds) != len(value):
            self.note(at, "wrong-type", f"expected {len(kinds)} values, not {len(value)}")
        return [self.read(*pair, at=f"{at}[{n}]") for n, pair in enumerate(zip(kinds, value, strict=False))]

    def _entries(self, inner: tuple[Any, ...], value: Any, at: str) -> dict[str, Any]:
        if not self._is_of(dict, "a table" if self._is_strict else "an object", value, at):
            return {}
        names = get_args(inner[0])[1] if get_origin(inner[0]) is Annotated else tuple(value)
        self._refuse_unknown(value, names, at)
        return {key: self.read(inner[1], item, at=f"{at}.{key}") for key, item in value.items() if key in names}

    def _is_of(self, kind: type, expected: str, value: Any, at: str) -> bool:
        if not isinstance(value, kind):
            self.note(at, "wrong-type", f"expected {expected}, not {shown(value)}")
        return isinstance(value, kind)

    def _refuse_unknown(
        self, value: Mapping[str, Any], names: Sequence[str], at: str, *, inside: Mapping[str, Any] = {}
    ) -> None:
        for name in value:
            if name in names:
                continue
            holder = next((f" It belongs in [{key}]." for key, hint in inside.items() if name in _fields_in(hint)), "")
            hint = holder or argument_meant(name, names)
            text = f"unknown key {name!r}; known are {', '.join(names)}.{hint}"
            self.note(f"{at}.{name}" if at else name, "unknown-argument", text)


@cache
def _declared(kind: Any) -> dict[str, tuple[Any, Field[Any]]]:
    """Return the type and the declaration of each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {item.name: (hints[item.name], item) for item in fields(kind)}


def _fields_in(hint: Any) -> list[str]:
    """Return the names of the fields of a dataclass, or of an optional one; none of another type."""
    records = [kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)]
    return [item.name for kind in records for item in fields(kind)]
