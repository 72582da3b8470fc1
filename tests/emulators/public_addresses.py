"""The public addresses of emulated machines: nobody's (RFC 2544), so that nothing can be sent astray."""

from __future__ import annotations

import secrets


def public_address() -> str:
    """Return an address that hardly anyone else has.

    The machine machines makes it known to all of this machine, where other rooms may be open, or left by a killed test.
    """
    return f"198.19.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
