"""SSH host keys on a machine's console, which only its owner and the cloud can read."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

_KEYS_BEGIN: Final = "-----BEGIN SSH HOST KEY KEYS-----"
_KEYS_END: Final = "-----END SSH HOST KEY KEYS-----"
"""What cloud-init puts around the host keys."""


def host_keys_in(console: str) -> tuple[str, ...]:
    """Return the public SSH host keys on a console, each as `type key`; none until all are there.

    The kernel writes to the console too, in the middle of lines: what is not a whole key is left out. Keys that are
    told twice, by us and later by cloud-init, count once.
    """
    between = console.partition(_KEYS_BEGIN)[2].rpartition(_KEYS_END)[0]
    words = [line.split() for line in between.splitlines()]
    return tuple(dict.fromkeys(" ".join(line[:2]) for line in words if len(line) >= 2 and _is_key(*line[:2])))


def _is_key(key_type: str, text: str) -> bool:
    """Say whether this is a whole public key: fields with their lengths before them, the type first (RFC 4253, 6.6)."""
    try:
        rest = b64decode(text, validate=True)
    except ValueError:
        return False
    fields: list[bytes] = []
    while rest:
        end = 4 + int.from_bytes(rest[:4], "big")
        if len(rest) < max(end, 5):
            return False
        fields.append(rest[4:end])
        rest = rest[end:]
    return len(fields) > 1 and fields[0] == key_type.encode()
