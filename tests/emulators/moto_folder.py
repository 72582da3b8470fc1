"""moto's folder, listed once: moto lists it for each request, which takes half of its server's time."""

from __future__ import annotations

from moto import backends


def list_once() -> None:
    """Make moto cache its list of modules."""
    modules = frozenset(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: modules
