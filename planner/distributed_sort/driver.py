"""The process that drives cluster sorts. It runs on the head's machine, separate from the command line, because Ray
ends a driver whose head is gone.

Its arguments are a file descriptor and the head's address. It reads orders from standard input and writes events to the
descriptor, as one JSON object per line. The last event of an order is a `result` or an `error`. The address is checked
first: Ray itself tries for up to minutes, and does not report the reason of a failure.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import dataset_of
from planner.distributed_sort.generate import generate_with_checksum
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.nodes import Nodes, import_ray
from planner.distributed_sort.job.silence import REPORT_EVERY_S, waiting
from planner.distributed_sort.node_files.node_environment import end_machine, node_name
from planner.distributed_sort.run import RunRequest, finish, run
from planner.distributed_sort.shipping import missing_distributions, needed_distributions, stage
from planner.distributed_sort.sort import sort_dataset
from planner.distributed_sort.validate import check_copies
from planner.errors import BadInputError, IoFailureError, PlannerError

_LONGEST_END_S: Final = 60.0
_LONGEST_REASON: Final = 2000


def main(orders: Iterable[str], *, descriptor: int, address: str) -> None:
    """Carry out orders one after another and write their events to `descriptor`."""

    def emit(event: dict[str, Any]) -> None:
        os.write(descriptor, (json.dumps(event) + "\n").encode())

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


_HANDLERS = {"end": _end, "finish": _finish, "generate": _generate, "run": _run, "sort": _sort, "validate": _validate}

if __name__ == "__main__":
    main(sys.stdin, descriptor=int(sys.argv[1]), address=sys.argv[2])


ADVICE: Final = "name the address that `ray start --head` printed, or start Ray"
_LISTENS_WITHIN_S: Final = 8.0
_ANSWERS_WITHIN_S: Final = 5.0
"""With both limits and the driver's start, a wrong address is reported within 20 s."""
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""First bytes of an HTTP/2 client, the protocol of Ray, followed by its settings, here none."""
_SETTINGS: Final = 4
_FRAME_BYTES: Final = 9
_MORE: Final = (
    "ray:// is for the port of Ray's client server, 10001 unless it was set",
    "set RAY_AUTH_MODE and RAY_AUTH_TOKEN as they are there",
)


def require_head(address: str) -> None:
    """Raise IoFailureError with the reason where no Ray head of this Ray's version answers at an address, and
    BadInputError for an invalid address.
    """
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if scheme in ("http", "https") or (not scheme and ":" not in place and place not in ("auto", "local")):
        raise BadInputError(
            f"--ray {address}: the head's address has the form 10.0.0.1:6379",
            [ADVICE, "`auto` is the head of this machine, ray://10.0.0.1:10001 a head's server of Ray's client"],
            code="malformed",
        )
    if not (host and port.isdigit()):
        return
    _require_listener(address, host.strip("[]"), int(port))
    if reason := _refusal(place, is_client=scheme == "ray"):
        raise IoFailureError(f"--ray {address}: {reason}", [ADVICE, *_MORE], code="no-ray-cluster")


def _require_listener(address: str, host: str, port: int) -> None:
    try:
        with socket.create_connection((host, port), timeout=_LISTENS_WITHIN_S) as connection:
            first = b"" if os.environ.get("RAY_USE_TLS", "0") in ("1", "true") else _first_answer(connection)
    except OSError as error:
        raise IoFailureError(
            f"--ray {address}: nothing listens there: {error.strerror or 'no answer'}", [ADVICE], code="nothing-listens"
        ) from error
    if first and first[3] != _SETTINGS:
        raise IoFailureError(f"--ray {address}: what listens there is not Ray", [ADVICE], code="not-ray")


def _first_answer(connection: socket.socket) -> bytes:
    """Return the head of an HTTP/2 server's first frame, or as much as another server sends."""
    connection.settimeout(_ANSWERS_WITHIN_S)
    try:
        connection.sendall(_PREFACE)
        return connection.recv(_FRAME_BYTES).ljust(_FRAME_BYTES, b" ")
    except OSError:  # it sends nothing, or ends the connection
        return b" " * _FRAME_BYTES


def _refusal(place: str, *, is_client: bool) -> str:
    """Return the reason why a service is not the expected head, '' if it is, or if that is unknown."""
    try:
        import grpc
        from ray._private.grpc_utils import init_grpc_channel
        from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc, ray_client_pb2, ray_client_pb2_grpc
    except ImportError:  # Ray can do without, and may move them
        return ""
    with init_grpc_channel(place) as channel:
        try:
            if is_client:
                ping = ray_client_pb2.ClusterInfoRequest(type=ray_client_pb2.ClusterInfoType.PING)
                ray_client_pb2_grpc.RayletDriverStub(channel).ClusterInfo(ping, timeout=_ANSWERS_WITHIN_S)
                return ""
            service = gcs_service_pb2_grpc.NodeInfoGcsServiceStub(channel)
            answer = service.CheckAlive(gcs_service_pb2.CheckAliveRequest(), timeout=_ANSWERS_WITHIN_S)
            return _difference(answer.ray_version)
        except grpc.RpcError as error:
            return _reason(error.code().name, is_client=is_client)


def _difference(version: str) -> str:
    import ray

    return f"there is Ray {version}, here {ray.__version__}: install one" if version != ray.__version__ else ""


def _reason(code: str, *, is_client: bool) -> str:
    reasons: dict[str, Any] = {
        "UNAUTHENTICATED": "Ray's token is missing, or another one",
        "UNIMPLEMENTED": "this is not the port of Ray's client server"
        if is_client
        else "this is not the port of Ray's head; is it the client's?",
        "DEADLINE_EXCEEDED": "no Ray head answers there",
        "UNAVAILABLE": "no Ray head answers there",
    }
    return str(reasons.get(code, ""))
