"""Write the arguments of `planner.recommend`, `up`, `run`, `sort`, `find_disorder` and `measure` as TypedDicts, from
which type checkers and editors know them.

Usage: python scripts/write_request_arguments.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.api.measure import INSTRUMENTS
from planner.api.rental_options import RentalOptions
from planner.api.run import effort_of
from planner.api.run_job import Work
from planner.clusters.emulated.shaping import parse_shaping
from planner.schemas.arguments import arguments, python_type
from planner.schemas.door import arguments_of, source_of
from planner.sorting.sort_job import Comparison, InputFormat, SortJob

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
_LOCAL: Final = '''"""Arguments of sorts and measurements, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Required, TypedDict

from planner.api.progress import Step, TimedStep


class ComparisonArguments(TypedDict, total=False):
    """Contents of files, and their order, as `find_disorder` takes them."""

'''
_SORT: Final = '''

class SortArguments(ComparisonArguments, total=False):
    """Options of `planner sort`, as `sort` takes them."""

'''
_INSTRUMENT: Final = '''

class {name}Arguments(TypedDict, total=False):
    """What `measure("{what}")` takes."""

'''


def files() -> dict[Path, str]:
    """Return the files as they are shipped."""
    of_plan = {name: python_type(name) for name in arguments() if name != "data"}
    of_run = {name: text for name, text in _declared(Work).items() if name != "data"} | _declared(InputFormat)
    comparison, sort = _declared(Comparison), _declared(SortJob)
    own = {name: text for name, text in sort.items() if name not in comparison}
    of_sorts = {_LOCAL: comparison, _SORT: own}
    of_sorts |= {
        _INSTRUMENT.format(name=_class_name(what), what=what): _declared(of) for what, of in INSTRUMENTS.items()
    }
    rental, links, effort = map(_declared, (RentalOptions, parse_shaping, effort_of))
    parts = {_RENTAL: rental, _LINKS: links, _EFFORT: effort, _RUN: of_run}
    typed = PACKAGE / "api" / "arguments"
    return {
        PACKAGE / "schemas" / "request_arguments.py": _REQUEST + _lines(of_plan),
        typed / "run_arguments.py": "".join(head + _lines(types) for head, types in parts.items()),
        typed / "sort_arguments.py": "".join(head + _lines(types) for head, types in of_sorts.items()),
    }


def _lines(types: Mapping[str, str]) -> str:
    return "".join(f"    {name}: {types[name]}\n" for name in sorted(types))


def _declared(of: Any) -> dict[str, str]:
    """Return the arguments that a function, or the sentences of a dataclass, declare."""
    found = {name: argument for name, argument in arguments_of(of).items() if argument.help or not isinstance(of, type)}
    types = {name: re.sub(r"\bPath\b", "str | PathLike[str]", source_of(each.hint)) for name, each in found.items()}
    needed = {name for name, each in found.items() if each.default is inspect.Parameter.empty}
    return {name: f"Required[{text}]" if name in needed else text for name, text in types.items()}


def _class_name(what: str) -> str:
    return {"sort": "SortTest"}.get(what, what.title().replace("-", ""))


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
