"""Addresses of Ray services other than the head."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

from planner.distributed_sort.connection import require_head
from planner.errors import IoFailureError


class Head(gcs_service_pb2_grpc.NodeInfoGcsServiceServicer):  # type: ignore[misc]
    """Reports another version of Ray."""

    def CheckAlive(self, request: object, context: object) -> object:
        del request, context
        return gcs_service_pb2.CheckAliveReply(ray_version="1.0.0")


@pytest.fixture
def server() -> Iterator[tuple[grpc.Server, str]]:
    with ThreadPoolExecutor() as pool:
        made = grpc.server(pool)
        port = made.add_insecure_port("127.0.0.1:0")
        made.start()
        yield made, f"127.0.0.1:{port}"
        made.stop(None)


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [("", "this is not the port of Ray's head"), ("ray://", "this is not the port of Ray's client server")],
)
def test_another_port_of_ray_is_told(server: tuple[grpc.Server, str], scheme: str, reason: str) -> None:
    with pytest.raises(IoFailureError, match=reason) as caught:
        require_head(scheme + server[1])
    assert len(caught.value.message) <= 100


def test_another_version_of_ray_is_told(server: tuple[grpc.Server, str]) -> None:
    gcs_service_pb2_grpc.add_NodeInfoGcsServiceServicer_to_server(Head(), server[0])
    with pytest.raises(IoFailureError, match=r"there is Ray 1\.0\.0, here ") as caught:
        require_head(server[1])
    assert len(caught.value.message) <= 100


def test_no_address_is_looked_at_that_ray_finds_itself() -> None:
    with socket.socket():
        require_head("auto")
        require_head("local")
