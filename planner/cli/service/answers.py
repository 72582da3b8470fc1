"""The five questions of `planner serve`, each with a JSON object as input and its command's JSON as output.

A caller is not the user of the machine: no file that the caller names is read, except logs in the folder that the
server was started with, and nothing is written, rented or asked of a cloud.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from inspect import signature
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

    function = QUESTIONS[question]
    try:
        return 200, {"version": VERSION, **function(**_fields(function, arguments, folder=folder))}
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


def _fields(function: Callable[..., Any], given: Arguments, *, folder: str | None) -> dict[str, Any]:
    """Return the arguments of a question. Raises BadInputError for unknown, missing and wrong ones."""
    taken = dict(signature(function).parameters)
    fields = {"folder": folder} if taken.pop("folder", None) else {}
    for name in given:
        if name not in taken:
            known = f"it takes {', '.join(taken)}.{nearest(name, list(taken))}"
            raise BadInputError(f"no such field; {known}", field=name, code="unknown-argument")
    for name, parameter in taken.items():
        if name not in given and parameter.default is None:
            continue
        value = fields[name] = given.get(name)
        if parameter.annotation == "dict[str, Any]" and not isinstance(value, dict):
            raise BadInputError('an object is expected, such as {"data": "1TB"}', field=name, code="wrong-type")
        if parameter.annotation != "dict[str, Any]" and not (isinstance(value, str) and value):
            raise BadInputError("a text is expected", field=name, code="wrong-type")
    return fields


def plan(asked: dict[str, Any]) -> dict[str, Any]:
    """Recommend a cluster: the JSON of `plan --json`, with `best`, `candidates` and `rejected`."""
    from planner.schemas.json_values import versioned

    return versioned(_recommended(asked).plan)


def why_not(asked: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """Explain why a plan does not recommend a type of machine, and what would make it come first."""
    from planner.schemas.json_values import to_jsonable

    return {"why_not": to_jsonable(_recommended(asked).why_not(instance_type))}


def what_if(asked: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Plan again with a resource multiplied ({"network": 2}) or an option replaced ({"data": "20TB"})."""
    from planner.schemas.json_values import versioned

    return versioned(_recommended(asked).what_if(**_safe(changes)).plan)


def explain_log(file: str, *, app: str | None = None, folder: str | None) -> dict[str, Any]:
    """Show where the time of a Spark application went; `file` is a log in the server's folder of logs."""
    from planner.cli.logs.explain_log import explanation_json
    from planner.spark import log as spark_log
    from planner.spark.model.bounds import explain

    logs = spark_log.read(_inside(folder, file))
    application = logs.only(app)
    return explanation_json(logs, application, explain(application))


def export(asked: dict[str, Any], to: str) -> dict[str, Any]:
    """Write a plan's cluster as a platform's file: emr, dataproc, databricks, kuberay, skypilot, terraform, ..."""
    return asdict(_recommended(asked).export(to))


QUESTIONS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {
    "plan": plan,
    "why-not": why_not,
    "what-if": what_if,
    "explain-log": explain_log,
    "export": export,
}
"""Functions by the name of their question, which is also its path; the fields of a question are their parameters. An
agent's tool has those by place alone, and their first lines as its description.
"""


def _recommended(asked: Arguments) -> Recommendation:
    from planner.api.recommend import recommend

    return recommend(**_safe(asked))


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
