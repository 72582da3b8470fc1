"""The five questions of `planner serve`, each a JSON object in and the JSON of its command out.

A caller is not the user of the machine: nothing is read that the caller names, except logs in the folder that the
server was started with, and nothing is written, rented or asked of a cloud.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.errors import BadInputError, PlannerError, nearest

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation

Asked = Mapping[str, Any]


def answer(question: str, asked: Asked, folder: str | None) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the JSON of an answer. What the caller can put right is 400, of a request that nothing
    meets 422; `exit_code` is the command's.
    """
    from planner.schemas.json_values import VERSION

    try:
        return 200, {"version": VERSION, **QUESTIONS[question](asked, folder)}
    except PlannerError as error:
        status = {2: 400, 3: 422}.get(error.exit_code, 500)
        return status, {"error": error.message, "details": list(error.details), "exit_code": error.exit_code}
    except Exception as error:  # what a caller sends must not end the server, and the server's user sees what it was
        logging.getLogger(__name__).exception("%s: %.2000s", question, asked)
        return 500, {"error": f"{type(error).__name__} in the server; its log has more", "details": [], "exit_code": 1}


def _plan(asked: Asked, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import versioned

    _only(asked, "asked")
    return versioned(_recommended(asked).plan)


def _why_not(asked: Asked, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import to_jsonable

    _only(asked, "asked", "instance_type")
    return {"why_not": to_jsonable(_recommended(asked).why_not(_text(asked, "instance_type")))}


def _what_if(asked: Asked, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import versioned

    _only(asked, "asked", "changes")
    changes = _object(asked, "changes")
    changed = _recommended(asked).what_if(**_safe(changes))
    return versioned(changed.plan)


def _export(asked: Asked, _: str | None) -> dict[str, Any]:
    _only(asked, "asked", "to")
    return asdict(_recommended(asked).export(_text(asked, "to")))


def _explain_log(asked: Asked, folder: str | None) -> dict[str, Any]:
    from planner.cli.plan.explain_log import explanation_json
    from planner.spark import log as spark_log
    from planner.spark.model.bounds import explain

    _only(asked, "file", "app")
    logs = spark_log.read(_inside(folder, _text(asked, "file")))
    application = logs.only(_text(asked, "app") if "app" in asked else None)
    return explanation_json(logs, application, explain(application))


QUESTIONS: Final[Mapping[str, Callable[[Asked, str | None], dict[str, Any]]]] = {
    "plan": _plan,
    "why-not": _why_not,
    "what-if": _what_if,
    "explain-log": _explain_log,
    "export": _export,
}
"""Each question by its name, which is its path, too."""


def _recommended(asked: Asked) -> Recommendation:
    from planner.api.recommend import recommend

    return recommend(**_safe(_object(asked, "asked")))


_LOCAL: Final = ("input", "output", "profile", "option", "today")
"""Arguments of `recommend` that read files or object stores of the server, or are no part of a question."""


def _safe(given: Asked) -> dict[str, Any]:
    """Return arguments of `recommend`. Raises BadInputError for one that reads what the caller names."""
    from planner.catalog.loading import catalog_names
    from planner.config.paths import model_names

    if refused := sorted(set(given) & set(_LOCAL)):
        raise BadInputError(f"{', '.join(refused)}: reads the server's files or stores; leave it out")
    known = {name: catalog_names() for name in ("cloud", "catalog", "catalogs")} | {"model": [*model_names(), "all"]}
    for argument, names in known.items():
        for name in _names(given.get(argument)):
            if name not in names:
                raise BadInputError(f"{argument}: {name!r} does not ship with the server.{nearest(name, names)}")
    return dict(given)


def _names(value: Any) -> list[str]:
    """Return the names in a text with commas, or in a list."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadInputError(f"{value!r:.40}: a name or a list of names is expected")
    return [name.strip() for part in parts for name in part.split(",")]


def _inside(folder: str | None, name: str) -> Path:
    """Return a file of the folder that the server was started with. Raises BadInputError for any other, links that
    lead out of it included.
    """
    if folder is None:
        raise BadInputError("the server was started without --logs FOLDER, so it reads no logs")
    root = Path(folder).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.exists():
        raise BadInputError(f"file: {name!r:.60} is not in the server's folder of logs")
    return path


def _only(asked: Asked, *names: str) -> None:
    for name in asked:
        if name not in names:
            raise BadInputError(f"{name}: no such field; it takes {', '.join(names)}.{nearest(name, names)}")


def _object(asked: Asked, name: str) -> dict[str, Any]:
    value = asked.get(name)
    if not isinstance(value, dict):
        raise BadInputError(f'{name}: an object is expected, such as {{"data": "1TB"}}')
    return value


def _text(asked: Asked, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise BadInputError(f"{name}: a text is expected")
    return value
