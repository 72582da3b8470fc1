"""The protocol between agents and their driver: JSON messages, and a proof on both sides that they know the token.

The token itself never crosses the wire. The called side sends a challenge. The caller answers with its greeting and an
HMAC over challenge and greeting. The called side proves itself over the caller's own challenge. All later messages and
the traffic are neither encrypted nor signed: they are generated records and byte counts.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
from typing import Any, Final

from planner.errors import BadInputError, IoFailureError

HANDSHAKE_S: Final = 10.0
LONGEST_MESSAGE_BYTES: Final = 16 << 20
LEAST_TOKEN_LENGTH: Final = 8
_LENGTH: Final = struct.Struct("!I")


class RefusedError(IoFailureError):
    """The other side does not know the token, or is not an agent."""

    code = "refused-by-agent"


def check_token(token: str) -> str:
    """Return the token. Raises BadInputError when it is too short to be safe."""
    if len(token) < LEAST_TOKEN_LENGTH:
        raise BadInputError(
            f"the shared token must have at least {LEAST_TOKEN_LENGTH} characters", code="token-too-short"
        )
    return token


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port`. Raises BadInputError for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise BadInputError(f"agent {address!r}: write it as host:port, for example 10.0.0.5:7070", code="malformed")
    return host.strip("[]"), int(port)


def send_message(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one message. Raises OSError."""
    body = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive_message(connection: socket.socket) -> dict[str, Any]:
    """Return the next message. Raises OSError (ConnectionError at the end of the stream), and RefusedError for invalid
    data.
    """
    (length,) = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size))
    if length > LONGEST_MESSAGE_BYTES:
        raise RefusedError("the other side does not speak this protocol; is it an agent?", code="other-protocol")
    try:
        message = json.loads(_receive_exactly(connection, length))
    except ValueError as error:
        raise RefusedError(
            "the other side does not speak this protocol; is it an agent?", code="other-protocol"
        ) from error
    if not isinstance(message, dict):
        raise RefusedError("the other side does not speak this protocol; is it an agent?", code="other-protocol")
    return message


def call(address: str, *, token: str, greeting: dict[str, Any]) -> socket.socket:
    """Connect to the agent at `address`, prove the token to each other, and return the connection without timeout.

    Raises IoFailureError, naming the address, when it cannot be reached; RefusedError when the tokens differ.
    """
    try:
        connection = socket.create_connection(split_address(address), timeout=HANDSHAKE_S)
    except OSError as error:
        raise IoFailureError(
            f"agent {address}: {error}; is it running there, and reachable from here?", code="unreachable"
        ) from error
    try:
        _prove(connection, token=token, greeting=greeting)
    except (OSError, RefusedError) as error:
        connection.close()
        reason = f"agent {address} refused: {error}; both sides need the same token"
        raise RefusedError(reason) from error
    connection.settimeout(None)
    return connection


def answer(connection: socket.socket, *, token: str) -> dict[str, Any]:
    """Receive a call and return its greeting once the caller has proved the token. Raises RefusedError or OSError."""
    connection.settimeout(HANDSHAKE_S)
    challenge = secrets.token_hex(16)
    send_message(connection, {"challenge": challenge})
    reply = receive_message(connection)
    greeting, own_challenge = str(reply.get("greeting", "")), str(reply.get("challenge", ""))
    if not hmac.compare_digest(_proof(token, "caller", challenge, greeting), str(reply.get("proof", ""))):
        raise RefusedError("a caller does not know the token", code="wrong-token")
    send_message(connection, {"proof": _proof(token, "called", own_challenge, greeting)})
    connection.settimeout(None)
    fields = json.loads(greeting)
    return fields if isinstance(fields, dict) else {}


def _prove(connection: socket.socket, *, token: str, greeting: dict[str, Any]) -> None:
    challenge, own_challenge = str(receive_message(connection).get("challenge", "")), secrets.token_hex(16)
    text = json.dumps(greeting)
    proof = _proof(token, "caller", challenge, text)
    send_message(connection, {"greeting": text, "challenge": own_challenge, "proof": proof})
    theirs = str(receive_message(connection).get("proof", ""))
    if not hmac.compare_digest(_proof(token, "called", own_challenge, text), theirs):
        raise RefusedError("it does not know the token", code="wrong-token")


def _proof(token: str, side: str, challenge: str, greeting: str) -> str:
    message = json.dumps([side, challenge, greeting]).encode()
    return hmac.new(token.encode(), message, hashlib.sha256).hexdigest()


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the connection was closed")
        received += part
    return bytes(received)
