"""The process that drives a cluster sort: on the head's machine, apart from the command line, because Ray ends a driver
whose head is gone.

It reads its order as JSON from standard input and writes events, one JSON object a line, to the descriptor that is its
argument; the last one is a `result` or an `error`.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from planner.errors import PlannerError
from planner.sorting.cluster.crew import import_ray
from planner.sorting.cluster.dataset import dataset_of
from planner.sorting.cluster.generated import run_generated
from planner.sorting.cluster.job import SortRequest
from planner.sorting.cluster.sort import sort_dataset


def main(order: dict[str, Any], descriptor: int) -> None:
    """Carry out one order and write its events."""

    def emit(event: dict[str, Any]) -> None:
        os.write(descriptor, (json.dumps(event) + "\n").encode())

    try:
        emit({"event": "result"} | _carried_out(order, emit))
    except PlannerError as error:
        kind = type(error).__name__
        emit({"event": "error", "kind": kind, "message": error.message, "details": list(error.details)})
    except Exception as error:  # the parent must hear of it, whatever it is
        emit({"event": "error", "kind": "IoFailureError", "message": f"Ray failed: {error!r}", "details": []})


def _carried_out(order: dict[str, Any], emit: Any) -> dict[str, Any]:
    ray = import_ray()
    ray.init(address=order["address"], log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    try:
        return _DOINGS[order["do"]](ray, order, emit)
    finally:
        ray.shutdown()


def _run_generated(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    arguments = order["arguments"]
    done = run_generated(ray=ray, emit=emit, **arguments | {"journal": Path(arguments["journal"])})
    return dataclasses.asdict(done)


def _sort(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    request = SortRequest(**order["request"] | {"source": dataset_of(order["request"]["source"])})
    dataset, report = sort_dataset(request, ray=ray, journal=Path(order["journal"]), emit=emit)
    return {"dataset": json.loads(dataset.to_json()), "report": report.to_dict()}


_DOINGS = {"run": _run_generated, "sort": _sort}

if __name__ == "__main__":
    main(json.load(sys.stdin), int(sys.argv[1]))
