"""Messages arrive whole, and both sides prove that they know the token."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from refusals import refused

from planner.errors import BadInputError, IoFailureError
from planner.measurement.instruments.net_wire import (
    RefusedError,
    answer,
    call,
    check_token,
    receive_message,
    send_message,
    split_address,
)

TOKEN = "a shared token"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_messages_come_one_after_the_other(pair: tuple[socket.socket, socket.socket]) -> None:
    for message in ({"a": 1}, {"b": "x" * 100_000}):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(send_message, pair[0], message)
            assert receive_message(pair[1]) == message


@pytest.mark.parametrize("content", [b"\xff\xff\xff\xff", b"\0\0\0\2[]", b"\0\0\0\3abc"])
def test_what_is_no_message_is_refused(pair: tuple[socket.socket, socket.socket], content: bytes) -> None:
    pair[0].sendall(content)
    with refused("other-protocol", kind=RefusedError):
        receive_message(pair[1])


def test_a_closed_connection_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(b"\0\0")
    pair[0].close()
    with pytest.raises(ConnectionError, match="closed"):
        receive_message(pair[1])


@pytest.mark.parametrize(("token", "is_known"), [(TOKEN, True), ("another token", False)])
def test_both_sides_prove_the_token(token: str, is_known: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def serve() -> dict[str, object]:
            connection, _ = server.accept()
            with connection:
                return answer(connection, token=TOKEN)

        greeting = pool.submit(serve)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if is_known:
            call(address, token=token, greeting={"role": "control"}).close()
            assert greeting.result() == {"role": "control"}
        else:
            with refused("refused-by-agent", kind=RefusedError):
                call(address, token=token, greeting={"role": "control"})
            with refused("wrong-token", kind=RefusedError):
                greeting.result()


def test_nobody_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(IoFailureError, match=f"agent {address}: .*is it running"):
        call(address, token=TOKEN, greeting={})


def test_addresses_and_tokens_are_checked() -> None:
    assert split_address("10.0.0.5:7070") == ("10.0.0.5", 7070)
    assert split_address("[::1]:7070") == ("::1", 7070)
    for address in ("10.0.0.5", ":7070", "h:x", "h:70000"):
        with pytest.raises(BadInputError, match="host:port"):
            split_address(address)
    with pytest.raises(BadInputError, match="at least 8"):
        check_token("short")
