"""The SDKs of clouds, which are optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from planner.errors import BadInputError


def sdk(module: str, *, extra: str) -> Any:
    """Import a module of a cloud's SDK. Raises BadInputError saying how to install it when it is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        raise BadInputError(
            f"{module} is not installed; {extra} needs it: pip install 'sortplanner[{extra}]'"
        ) from error
