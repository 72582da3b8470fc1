"""SSH host keys on a machine's console, which only its owner and the cloud can read."""

from __future__ import annotations

from typing import Final

_KEYS_BEGIN: Final = "-----BEGIN SSH HOST KEY KEYS-----"
_KEYS_END: Final = "-----END SSH HOST KEY KEYS-----"
"""What cloud-init puts around the host keys."""


def host_keys_in(console: str) -> tuple[str, ...]:
    """Return the public SSH host keys on a console, each as `type key`; none until all are there."""
    between = console.partition(_KEYS_BEGIN)[2].partition(_KEYS_END)[0] if _KEYS_END in console else ""
    words = [line.split() for line in between.splitlines()]
    return tuple(" ".join(line[:2]) for line in words if len(line) >= 2)
