"""Steps of query plans that stages ran, from the names of their RDDs, else from the plan of their jobs' query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from planner.spark.log.fields import Event, FieldError, group, items

_MOST_STEPS: Final = 200
_EXECUTION: Final = "spark.sql.execution.id"


def operators_of(info: Event) -> tuple[str, ...]:
    """Return the steps named by a stage's RDDs and metrics, each once: `BatchEvalPython`, `PythonRDD`, `Exchange`.

    Raises FieldError.
    """
    named = [name for rdd in items(info, "RDD Info") if isinstance(rdd, dict) for name in _names(rdd)]
    metrics = [str(a.get("Name")) for a in items(info, "Accumulables") if isinstance(a, dict)]
    if not any("Python" in name for name in named) and any("Python workers" in name for name in metrics):
        named.append("Python workers")
    return tuple(dict.fromkeys(named))[:_MOST_STEPS]


def _names(rdd: Event) -> tuple[str, ...]:
    scope = rdd.get("Scope")
    scopes = _scope_names(scope) if isinstance(scope, str) else ()
    is_python = "PythonRDD.scala" in str(rdd.get("Callsite", ""))
    return (
        str(rdd.get("Name", "")),
        *scopes,
        *(["PythonRDD"] if is_python else []),
    )  # the program may give it another name


@lru_cache(maxsize=1024)
def _scope_names(scope: str) -> tuple[str, ...]:
    """Return the name in a scope, as a tuple; many RDDs share a scope."""
    try:
        fields = json.loads(scope)
    except (ValueError, RecursionError):
        return ()
    return (str(fields.get("name", "")),) if isinstance(fields, dict) else ()


class PlanTally:
    """Plans of queries, and the query of each job."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[str, ...]] = {}
        self._queries: dict[int, str] = {}

    def note_query(self, event: Event) -> None:
        """Note the plan of a query; a later one replaces it. Raises FieldError."""
        plan = group(event, "sparkPlanInfo")
        self._steps[str(event.get("executionId"))] = tuple(dict.fromkeys(_nodes(plan)))[:_MOST_STEPS]

    def note_job(self, job_id: int, properties: Event) -> None:
        """Note the query of a job."""
        if _EXECUTION in properties:
            self._queries[job_id] = str(properties[_EXECUTION])

    def operators(self, jobs: Sequence[int]) -> tuple[str, ...]:
        """Return the plan steps of the queries of these jobs."""
        return tuple(step for job in jobs for step in self._steps.get(self._queries.get(job, ""), ()))


def _nodes(plan: Event) -> Iterator[str]:
    pending: list[Any] = [plan]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            raise FieldError(f"a step of a plan is {node!r:.40}, not an object")
        yield str(node.get("nodeName", ""))
        pending += items(node, "children")
