"""Reaching a cluster: the check for a Ray head at an address, as Ray itself tries for minutes without a reason, and the
code that nodes lack, found by a task that needs only Ray and sent with Ray's runtime environment.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path, PurePath
from typing import Any, Final

from planner.compression.text_codecs import LIBRARIES
from planner.distributed_sort.job.waiting import REPORT_EVERY_S, Emit, KilledForMemoryError, ignore, waiting
from planner.errors import BadInputError, IoFailureError
from planner.native import core

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
    if _has_tls():
        return
    if reason := _refusal(place, is_client=scheme == "ray"):
        raise IoFailureError(f"--ray {address}: {reason}", [ADVICE, *_MORE], code="no-ray-cluster")


def _require_listener(address: str, host: str, port: int) -> None:
    try:
        with socket.create_connection((host, port), timeout=_LISTENS_WITHIN_S) as connection:
            first = b"" if _has_tls() else _first_answer(connection)
    except OSError as error:
        raise IoFailureError(
            f"--ray {address}: nothing listens there: {error.strerror or 'no answer'}", [ADVICE], code="nothing-listens"
        ) from error
    if first and first[3] != _SETTINGS:
        raise IoFailureError(f"--ray {address}: what listens there is not Ray", [ADVICE], code="not-ray")


def _has_tls() -> bool:
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


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
        from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc, ray_client_pb2, ray_client_pb2_grpc
    except ImportError:  # Ray can do without, and may move them
        return ""
    shown = {"metadata": _token(), "timeout": _ANSWERS_WITHIN_S}
    with grpc.insecure_channel(place) as channel:
        try:
            if is_client:
                ping = ray_client_pb2.ClusterInfoRequest(type=ray_client_pb2.ClusterInfoType.PING)
                ray_client_pb2_grpc.RayletDriverStub(channel).ClusterInfo(ping, **shown)
                return ""
            service = gcs_service_pb2_grpc.NodeInfoGcsServiceStub(channel)
            answer = service.CheckAlive(gcs_service_pb2.CheckAliveRequest(), **shown)
            return _difference(answer.ray_version)
        except grpc.RpcError as error:
            return _reason(error.code().name, is_client=is_client)


def _token() -> tuple[tuple[str, str], ...]:
    """Return Ray's token as gRPC sends it, from where Ray takes it; nothing without one."""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return ()
    token = os.environ.get("RAY_AUTH_TOKEN", "")
    if not token:
        with suppress(OSError):
            token = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token").read_text()
    return (("authorization", f"Bearer {token.strip()}"),) if token.strip() else ()


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


OWN: Final = "sortplanner"
_ALWAYS: Final = (OWN, "numpy", "psutil")
_TABLES, _STORES = "pyarrow", "obstore"
_NODES_ANSWER_WITHIN_S: Final = 30.0
_LEFT_BEHIND: Final = {"tests", "__pycache__", "include"}
_SUFFIXES_LEFT_BEHIND: Final = {".pyi", ".pyc", ".a", ".h"}

Versions = Mapping[str, str]
"""Versions by distribution, '' where it is not installed; and the processor's architecture as `machine`."""


def needed_distributions(order: Mapping[str, Any]) -> list[str]:
    """Return the distributions that the nodes need for an order: of the optional ones, only those for its data.

    Distributions that the driver itself lacks are left out.
    """
    request = order.get("request", {})
    dataset = order.get("dataset") or request.get("source") or {}
    copies = [copy for partition in dataset.get("partitions", ()) for copy in partition["copies"]]
    places = [request.get("output") or "", *(copy["uri"] for copy in copies)]
    files = [*copies, *(part for copy in copies for part in copy.get("parts", ()))]
    wanted = [LIBRARIES[form] for file in files if (form := file.get("compression")) in LIBRARIES]
    wanted += [_TABLES] * bool(dataset.get("layout", {}).get("table"))
    wanted += [_STORES] * any("://" in place for place in places)
    return [name for name in dict.fromkeys((*_ALWAYS, *wanted)) if _installed_version(name)]


def missing_distributions(ray: Any, names: Sequence[str], emit: Emit = ignore) -> list[str]:
    """Return the distributions that some node lacks, and this package also where a node has another version.

    Nodes that do not answer for 30 s are skipped: later steps report them. Raises IoFailureError where distributions
    are missing and a node's processors differ from the driver's.
    """
    found = _ask_nodes(ray, names, emit)
    missing = [name for name in names if any(not versions[name] for _, versions in found)]
    if OWN not in missing and any(versions[OWN] != _installed_version(OWN) for _, versions in found):
        missing.insert(0, OWN)
    machine = platform.machine()
    others = [f"{node}: {versions['machine']}" for node, versions in found if versions["machine"] != machine]
    if missing and others:
        raise IoFailureError(
            f"nodes lack {', '.join(missing)}, and what the driver has is for {machine}",
            [*others, f"pip install '{OWN}[ray]' on every node"],
            code="no-wheels",
        )
    return missing


def stage(names: Collection[str], folder: Path) -> dict[str, Any]:
    """Copy distributions into a folder, and return the runtime environment with which nodes import them from there."""
    for name in names:
        for source, place in _own_files() if name == OWN else _files_of(name):
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return {"working_dir": str(folder)}


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _ask_nodes(ray: Any, names: Sequence[str], emit: Emit) -> list[tuple[str, Versions]]:
    """Return the address and versions of each node that answers; an event names the nodes that are waited for."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(_probe())
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    asked = {
        task.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(
            list(names)
        ): node["NodeManagerAddress"]
        for node in nodes
    }
    left, found, waited_s = list(asked), list[tuple[str, Versions]](), 0.0
    while left and waited_s < _NODES_ANSWER_WITHIN_S:
        if waited_s:
            late = [asked[reference] for reference in left]
            emit(waiting(late, since_s=waited_s, reason="they have yet to say what is installed there"))
        _, left = ray.wait(left, num_returns=len(left), timeout=REPORT_EVERY_S)
        waited_s += REPORT_EVERY_S
    for reference in asked.keys() - set(left):
        try:
            found.append((asked[reference], ray.get(reference)))
        except ray.exceptions.OutOfMemoryError as error:
            raise KilledForMemoryError.of(str(error)) from error
        except ray.exceptions.RayError:
            continue
    return found


def _probe() -> Callable[[list[str]], Versions]:
    """Return a task that Ray sends as its code, since nodes would have to import one that is named by its module."""

    def versions(names: list[str]) -> Versions:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = {"machine": platform.machine()}
        for name in names:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = ""
        return found

    return versions


def _own_files() -> Iterator[tuple[Path, PurePath]]:
    """Yield this package's modules, its extension and its name and version, with their places below a folder."""
    top = Path(__file__).parents[1]
    yield from ((path, path.relative_to(top.parent)) for path in top.rglob("*.py"))
    extension = Path(str(core.__file__))
    yield extension, PurePath("planner", extension.name)
    yield from ((source, place) for source, place in _files_of(OWN) if place.name == "METADATA")


def _files_of(name: str) -> Iterator[tuple[Path, PurePath]]:
    for file in distribution(name).files or ():
        if file.suffix in _SUFFIXES_LEFT_BEHIND or ".." in file.parts or _LEFT_BEHIND.intersection(file.parts):
            continue
        yield Path(str(file.locate())), PurePath(file)
