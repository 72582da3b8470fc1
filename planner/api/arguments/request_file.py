"""A request as a TOML file: the options of `plan` by their names in Python, as `planner.recommend` takes them.

data = "3TB"
cloud = ["aws", "gcp"]
deadline = "2h"

[assume]
network = "800MB/s"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.api.recommend import recommend
from planner.api.request_inputs import price_sheets
from planner.config.paths import StrPath
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, Finding, bad_input
from planner.schemas.arguments import columns, request_fields
from planner.schemas.door import arguments_of, checked, problem
from planner.schemas.request import options
from planner.schemas.wrong_words import argument_meant

OF_PROFILE: Final = ("profile", "option")
"""Arguments that a request has besides its own options."""
_ALSO: Final = {name: name.removesuffix("s") for name in ("catalogs", "clouds", "instances", "models", "regions")}
"""Keys of a list that also go by the plural, as in a policy."""
_TABLES: Final = ("options", "plan", "request")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


@checked
def read_request(path: StrPath) -> dict[str, Any]:
    """Return the arguments in a TOML file, for `planner.recommend(**planner.read_request("nightly.toml"))`.

    Its keys are those of `planner schema request`, or the plurals of some, such as `regions`; a table [set] may
    hold settings. Paths in it count from the current folder, as on the command line. Raises BadInputError that lists
    every wrong key and value.

    >>> import planner, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "nightly.toml")
    >>> _ = file.write_text('data = "3TB"\\nnodes = 8')
    >>> planner.read_request(file)
    {'data': '3TB', 'nodes': 8}
    """
    try:
        table = tomllib.loads(read_user_file(Path(path)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInputError(f"{path} is no TOML: {error}", code="not-toml") from error
    given: dict[str, Any] = {}
    problems = []
    settings = table.pop("set", {}) if isinstance(table.get("set"), Mapping) else {}
    for key, value in (*table.items(), *settings.items()):
        name = _ALSO.get(plain := key.replace("-", "_"), plain)
        twice = Finding(field=plain, code="contradiction", text=f"says the same as {name}: give one of them")
        if found := twice if name in given else _problem(name, value):
            problems.append(found)
        given[name] = value
    if problems:
        raise bad_input(path, problems)
    return given


def _problem(name: str, value: Any) -> Finding | None:
    """Return what is wrong with an argument on its own."""
    known = [*options(), *OF_PROFILE]
    if name in _TABLES and isinstance(value, Mapping):
        return Finding(field=name, code="unknown-argument", text=f"its keys stand at the top, without [{name}]")
    if name not in known:
        return Finding(field=name, code="unknown-argument", text=f"no such option.{argument_meant(name, known)}")
    if wrong := problem(value, arguments_of(recommend)[name].hint):
        return Finding(field=name, code=wrong[0], text=wrong[1])
    try:
        if name == "option":
            columns(value)
        elif name not in OF_PROFILE:
            request_fields({name: value} | price_sheets({name: value}))
    except BadInputError as error:
        return Finding(field=name, code=error.code, text=error.message)
    return None


def request_toml(arguments: Mapping[str, Any]) -> str:
    """Return arguments as the text of a request's file; those that are None have no line."""
    given = {name: value for name, value in arguments.items() if value is not None}
    tables = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    lines = ["# A request for `plan FILE`; `planner schema request` prints the schema of its keys."]
    lines += [f"{name} = {_value(value)}" for name, value in given.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    """Return a value of TOML, whose texts, numbers and lists are written as in JSON."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
