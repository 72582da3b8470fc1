"""moto's folder, listed once: moto lists it for each request, which is half of what its server does."""

from __future__ import annotations

from moto import backends


def list_once() -> None:
    """Have moto know its modules from now on."""
    modules = frozenset(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: modules
