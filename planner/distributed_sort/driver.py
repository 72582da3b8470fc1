"""The process that drives cluster sorts. It runs on the head's machine, separate from the command line, because Ray
ends a driver whose head is gone.

Its arguments are a file descriptor and the head's address. It reads orders from standard input and writes events to the
descriptor, as one JSON object per line. The last event of an order is a `result` or an `error`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort.abandoning import abandon
from planner.distributed_sort.connection import ADVICE, missing_distributions, needed_distributions, require_head, stage
from planner.distributed_sort.dataset.copies import check_copies
from planner.distributed_sort.dataset.dataset import dataset_of
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.nodes import Nodes, import_ray
from planner.distributed_sort.job.waiting import REPORT_EVERY_S, limit_retries, waiting
from planner.distributed_sort.node_files.node_environment import end_machine, node_name
from planner.distributed_sort.run import RunRequest, finish, run
from planner.distributed_sort.sort import sort_dataset
from planner.distributed_sort.staging import generate_with_checksum
from planner.errors import IoFailureError, PlannerError

_LONGEST_END_S: Final = 60.0
_LONGEST_REASON: Final = 2000


def main(orders: Iterable[str], *, descriptor: int, address: str) -> None:
    """Carry out orders one after another and write their events to `descriptor`."""

    def emit(event: dict[str, Any]) -> None:
        os.write(descriptor, (json.dumps(event) + "\n").encode())

    limit_retries()
    ray = import_ray()
    for line in orders:
        try:
            order = json.loads(line)
            if not ray.is_initialized():
                _connect(ray, address, emit)
                _ship(ray, address, order, emit)
            emit({"event": "result"} | _HANDLERS[order["do"]](ray, order, emit))
        except PlannerError as error:
            emit({"event": "error", "kind": type(error).__name__} | error.as_values())
        except Exception as error:  # the parent process reports every error
            why = [f"{type(error).__name__}: {error}"[:_LONGEST_REASON]]
            emit({"event": "error", "kind": "IoFailureError", "message": "Ray failed", "details": why})
    ray.shutdown()


def _ship(ray: Any, address: str, order: dict[str, Any], emit: Any) -> None:
    """Connect again with the code that some nodes lack, if any. Raises IoFailureError."""
    if not (missing := missing_distributions(ray, needed_distributions(order), emit)):
        return
    emit({"event": "shipped", "packages": missing})
    ray.shutdown()
    with tempfile.TemporaryDirectory() as folder:
        _connect(ray, address, emit, runtime_env=stage(missing, Path(folder)))


def _connect(ray: Any, address: str, emit: Any, **options: Any) -> None:
    """Connect to the cluster from an empty directory, since Ray lets its workers import from the driver's directory.
    Raises IoFailureError without a cluster.
    """
    require_head(address)
    late = waiting([address], since_s=REPORT_EVERY_S, reason=f"no Ray head answers; {ADVICE}")
    doubt = threading.Timer(REPORT_EVERY_S, emit, [late])
    doubt.daemon = True
    doubt.start()
    try:
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            ray.init(
                address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **options
            )
    except ConnectionError as error:
        raise IoFailureError(f"--ray {address}: no Ray cluster is there", [ADVICE], code="no-ray-cluster") from error
    finally:
        doubt.cancel()


def _run(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    document = order["request"]
    source = None if document.get("source") is None else dataset_of(document["source"])
    request = RunRequest(**document | {"source": source})
    return dataclasses.asdict(run(request, ray=ray, journal=Path(order["journal"]), emit=emit))


def _finish(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    request = RunRequest(**order["request"] | {"source": None})
    return dataclasses.asdict(finish(request, order["sorted"], ray=ray, emit=emit))


def _sort(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    request = SortRequest(**order["request"] | {"source": dataset_of(order["request"]["source"])})
    dataset, report = sort_dataset(
        request,
        ray=ray,
        journal=Path(order["journal"]),
        emit=emit,
        manifest=order.get("manifest", ""),
        replaces=order.get("replaces", False),
    )
    return {"dataset": json.loads(dataset.to_json()), "report": dataclasses.asdict(report)}


def _abandon(ray: Any, order: dict[str, Any], emit: Any) -> dict[str, Any]:
    asked = {name: order[name] for name in ("manifest", "wait_s", "forgets_absent")}
    return dataclasses.asdict(abandon(ray=ray, journal=Path(order["journal"]), emit=emit, **asked))


def _generate(ray: Any, order: dict[str, Any], _: Any) -> dict[str, Any]:
    dataset, checksum = generate_with_checksum(Nodes(ray), records=order["records"])
    return {"dataset": json.loads(dataset.to_json()), "checksum": checksum}


def _validate(ray: Any, order: dict[str, Any], _: Any) -> dict[str, Any]:
    return {"copies": [dataclasses.asdict(copy) for copy in check_copies(Nodes(ray), dataset_of(order["dataset"]))]}


def _end(ray: Any, _: dict[str, Any], emit: Any) -> dict[str, Any]:
    """End the machines of the cluster, this one last, as they do automatically when their time is over."""
    nodes = Nodes(ray)
    others = [name for name in nodes.names if name != node_name()]
    emit({"event": "ending", "nodes": others})
    if asked := [nodes.run(name, end_machine) for name in others]:
        ray.wait(asked, num_returns=len(asked), timeout=_LONGEST_END_S)
    end_machine()
    return {}


_HANDLERS = {
    "abandon": _abandon, "end": _end, "finish": _finish, "generate": _generate, "run": _run, "sort": _sort,
    "validate": _validate,
}  # fmt: skip

if __name__ == "__main__":
    main(sys.stdin, descriptor=int(sys.argv[1]), address=sys.argv[2])
