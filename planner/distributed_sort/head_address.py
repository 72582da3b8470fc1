"""Check for a Ray head at an address: Ray itself tries for up to minutes, and does not report the reason of a
failure.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError, IoFailureError

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
