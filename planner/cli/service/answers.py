"""The five questions of `planner serve`, each with a JSON object as input and its command's JSON as output.

A caller is not the user of the machine: no file that the caller names is read, except logs in the folder that the
server was started with, and nothing is written, rented or asked of a cloud.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.errors import BadInputError, PlannerError, nearest

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation

Arguments = Mapping[str, Any]


def answer(question: str, arguments: Arguments, folder: str | None) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the JSON of an answer: 400 for errors that the caller can fix, 422 for a request that
    nothing meets; `exit_code` is the command's.
    """
    from planner.schemas.json_values import VERSION

    try:
        return 200, {"version": VERSION, **QUESTIONS[question](arguments, folder)}
    except PlannerError as error:
        status = {2: 400, 3: 422}.get(error.exit_code, 500)
        return status, refusal(error.sentence, error.details, error.exit_code, field=error.field, code=error.code)
    except Exception as error:  # a caller's input must not end the server; the server's user sees the error
        logging.getLogger(__name__).exception("%s: %.2000s", question, arguments)
        return 500, refusal(f"{type(error).__name__} in the server; its log has more", code="bug")


def refusal(
    text: str, details: Sequence[str] = (), exit_code: int = 1, *, field: str = "", code: str
) -> dict[str, Any]:
    """Return the JSON of an error: `code` is its kind and `field` the argument that is wrong, see `PlannerError`."""
    return {"error": text, "details": list(details), "exit_code": exit_code, "field": field, "code": code}


def _plan(arguments: Arguments, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import versioned

    _only(arguments, "asked")
    return versioned(_recommended(arguments).plan)


def _why_not(arguments: Arguments, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import to_jsonable

    _only(arguments, "asked", "instance_type")
    return {"why_not": to_jsonable(_recommended(arguments).why_not(_text(arguments, "instance_type")))}


def _what_if(arguments: Arguments, _: str | None) -> dict[str, Any]:
    from planner.schemas.json_values import versioned

    _only(arguments, "asked", "changes")
    changes = _object(arguments, "changes")
    changed = _recommended(arguments).what_if(**_safe(changes))
    return versioned(changed.plan)


def _export(arguments: Arguments, _: str | None) -> dict[str, Any]:
    _only(arguments, "asked", "to")
    return asdict(_recommended(arguments).export(_text(arguments, "to")))


def _explain_log(arguments: Arguments, folder: str | None) -> dict[str, Any]:
    from planner.cli.logs.explain_log import explanation_json
    from planner.spark import log as spark_log
    from planner.spark.model.bounds import explain

    _only(arguments, "file", "app")
    logs = spark_log.read(_inside(folder, _text(arguments, "file")))
    application = logs.only(_text(arguments, "app") if "app" in arguments else None)
    return explanation_json(logs, application, explain(application))


QUESTIONS: Final[Mapping[str, Callable[[Arguments, str | None], dict[str, Any]]]] = {
    "plan": _plan,
    "why-not": _why_not,
    "what-if": _what_if,
    "explain-log": _explain_log,
    "export": _export,
}
"""Functions by the name of their question, which is also its path."""


def _recommended(arguments: Arguments) -> Recommendation:
    from planner.api.recommend import recommend

    return recommend(**_safe(_object(arguments, "asked")))


LOCAL: Final = ("input", "output", "profile", "option", "today")
"""Arguments of `recommend` that read files or object stores of the server, or do not belong to a question."""


def _safe(given: Arguments) -> dict[str, Any]:
    """Return arguments of `recommend`. Raises BadInputError for one that would read something the caller names."""
    from planner.catalog.loading import catalog_names
    from planner.config.paths import model_names

    if refused := sorted(set(given) & set(LOCAL)):
        raise BadInputError(
            f"{', '.join(refused)}: reads the server's files or stores; leave it out", code="local-argument"
        )
    known = {name: catalog_names() for name in ("cloud", "catalog", "catalogs")} | {"model": [*model_names(), "all"]}
    for argument, names in known.items():
        for name in _names(given.get(argument)):
            if name not in names:
                raise BadInputError(
                    f"{name!r} does not ship with the server.{nearest(name, names)}", field=argument, code="not-shipped"
                )
    return dict(given)


def _names(value: Any) -> list[str]:
    """Return the names in a comma-separated text, or in a list."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadInputError(f"{value!r:.40}: a name or a list of names is expected", code="wrong-type")
    return [name.strip() for part in parts for name in part.split(",")]


def _inside(folder: str | None, name: str) -> Path:
    """Return a file of the folder that the server was started with. Raises BadInputError for any other, including links
    that lead out of it.
    """
    if folder is None:
        raise BadInputError("the server was started without --logs FOLDER, so it reads no logs", code="no-log-folder")
    root = Path(folder).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.exists():
        raise BadInputError(f"{name!r:.60} is not in the server's folder of logs", field="file", code="no-such-file")
    return path


def _only(arguments: Arguments, *names: str) -> None:
    for name in arguments:
        if name not in names:
            raise BadInputError(
                f"no such field; it takes {', '.join(names)}.{nearest(name, names)}",
                field=name,
                code="unknown-argument",
            )


def _object(arguments: Arguments, name: str) -> dict[str, Any]:
    value = arguments.get(name)
    if not isinstance(value, dict):
        raise BadInputError('an object is expected, such as {"data": "1TB"}', field=name, code="wrong-type")
    return value


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        raise BadInputError("a text is expected", field=name, code="wrong-type")
    return value
