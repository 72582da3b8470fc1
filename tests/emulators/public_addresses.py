"""The public addresses of emulated machines, reserved by RFC 2544, so that no packet can go astray."""

from __future__ import annotations

import secrets


def public_address() -> str:
    """Return an address that hardly anyone else has.

    The emulated machines announce it to all of this machine, where other rooms may be open, or left by a killed test.
    """
    return f"198.19.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
