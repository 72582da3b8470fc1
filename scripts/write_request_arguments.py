"""Write the arguments of `planner.recommend`, `up` and `run` as TypedDicts, from which type checkers and editors know
them.

Usage: python scripts/write_request_arguments.py
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from planner.api.input_format import InputFormat
from planner.api.rental_options import RentalOptions
from planner.api.run import Work, effort_of
from planner.clusters.emulated.shaping import parse_shaping
from planner.schemas.arguments import arguments, python_type

PACKAGE: Final = Path(__file__).resolve().parent.parent / "planner"
_REQUEST: Final = '''"""Arguments of `recommend`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.schemas.request_forms import NetworkView, NodeLimit, Objective, OwnPrice


class RequestArguments(TypedDict, total=False):
    """Options of `plan`, as `recommend` takes them."""

'''
_RENTAL: Final = '''"""Arguments of `up` and `run`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class RentalArguments(TypedDict, total=False):
    """How to rent machines, as `up` and `run` take it."""

'''
_LINKS: Final = '''

class LinkArguments(TypedDict, total=False):
    """Caps of the links of emulated nodes, as `run` takes them."""

'''
_EFFORT: Final = '''

class EffortArguments(TypedDict, total=False):
    """How rented machines are measured before a sort, as `run` takes it."""

'''
_RUN: Final = '''

class RunArguments(RentalArguments, LinkArguments, EffortArguments, total=False):
    """Options of `planner run`, as `run` takes them."""

'''
_TYPES: Final = {
    "Format": "Literal['records', 'lines', 'csv', 'parquet']",
    "Path": "str | PathLike[str]",
    "Count": "int",
    "Bytes": "int",
    "Offset": "int",
    "Usd": "float",
}
"""The types of values whose bounds are checked at the door."""


def files() -> dict[Path, str]:
    """Return the files as they are shipped."""
    of_plan = {name: python_type(name) for name in arguments() if name != "data"}
    of_rental = _fields(RentalOptions, without=("cloud", "region_source"))
    of_run = _fields(Work, without=("data", "form", "asked")) | _fields(InputFormat)
    parts = {_RENTAL: of_rental, _LINKS: _parameters(parse_shaping), _EFFORT: _parameters(effort_of), _RUN: of_run}
    return {
        PACKAGE / "schemas" / "request_arguments.py": _REQUEST + _lines(of_plan),
        PACKAGE / "api" / "run_arguments.py": "".join(head + _lines(types) for head, types in parts.items()),
    }


def _lines(types: Mapping[str, str]) -> str:
    return "".join(f"    {name}: {types[name]}\n" for name in sorted(types))


def _fields(declared: type[Any], without: tuple[str, ...] = ()) -> dict[str, str]:
    return {item.name: _plain(item.type) for item in fields(declared) if item.name not in without}


def _parameters(function: Any) -> dict[str, str]:
    return {name: _plain(p.annotation) for name, p in inspect.signature(function).parameters.items()}


def _plain(annotation: str) -> str:
    return " | ".join(_TYPES.get(part, part) for part in annotation.split(" | ")).replace("'", '"')


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
