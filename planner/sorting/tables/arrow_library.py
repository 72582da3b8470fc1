"""pyarrow, loaded on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planner.errors import BadInputError
from planner.extras import optional


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or a module of it. Raises PlannerError that explains how to install it."""
    return optional(module, extra="arrow", purpose="sorting Arrow tables and Parquet")


def opened(path: str) -> Any:
    """Open a file as pyarrow's `OSFile`, as a name that is a `str` must be UTF-8 there. Raises OSError."""
    return arrow().OSFile(os.fsencode(path))


@contextmanager
def lean_memory() -> Iterator[None]:
    """Let pyarrow return freed memory to the system soon: its usual allocator, mimalloc, keeps too much of `--memory`.

    The allocator that `ARROW_DEFAULT_MEMORY_POOL` names stays. Only some builds of pyarrow have jemalloc.
    """
    pyarrow = arrow()
    before = pyarrow.default_memory_pool()
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        try:
            pyarrow.set_memory_pool(pyarrow.jemalloc_memory_pool())
        except NotImplementedError:
            pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    try:
        yield
    finally:
        pyarrow.set_memory_pool(before)


@contextmanager
def arrow_errors(what: str) -> Iterator[None]:
    """Turn pyarrow's errors, some of which have no class of their own, into BadInputError that names `what`.

    An OSError with a number is the system's, and is left as it is.
    """
    try:
        yield
    except arrow().ArrowException as error:
        raise BadInputError(f"{what}: {error}") from error
    except OSError as error:
        if error.errno:
            raise
        raise BadInputError(f"{what}: {error}") from error
