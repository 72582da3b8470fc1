"""pyarrow, loaded on first use."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.extras import optional

LIBRARY_BYTES: Final = 224 << 20
"""Memory that Python, pyarrow and the threads of both take, however few rows there are."""
LEAST_BYTES: Final = 320 << 20
"""Least memory in which Parquet is sorted."""
_LEAST_ADDRESS_BYTES: Final = 512 << 20
"""Address space that loading pyarrow takes, and that its threads take for a small file."""
_ADDRESS_OF_THREAD_BYTES: Final = 256 << 20
"""Left address space for each of pyarrow's threads: their stacks, and the pages that they hold."""
_M_ARENA_MAX: Final = -8
"""Option of glibc's `mallopt`: each further arena reserves 64 MiB."""


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or a module of it. Raises PlannerError that explains how to install it, BadInputError where the
    address space is too small for it.
    """
    if "pyarrow" not in sys.modules and (left_bytes := address_space_left_bytes()) is not None:
        _load_in_limits(left_bytes)
    return optional(module, extra="arrow", purpose="sorting Arrow tables and Parquet")


def _load_in_limits(left_bytes: int) -> None:
    """Load pyarrow so that it reserves little address space, as it ends the process where it gets none."""
    if left_bytes < _LEAST_ADDRESS_BYTES:
        raise _too_small(_LEAST_ADDRESS_BYTES - left_bytes)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    library = optional("pyarrow", extra="arrow", purpose="sorting Arrow tables and Parquet")
    library.set_cpu_count(max(min(library.cpu_count(), left_bytes // _ADDRESS_OF_THREAD_BYTES), 1))
    library.set_io_thread_count(1)


def within_address_space(memory_bytes: int) -> int:
    """Return the memory that a sort may take of what is given, where the address space is limited, as by `ulimit -v`.

    Raises BadInputError where that is less than it always takes.
    """
    arrow()  # takes its own part
    if (left_bytes := address_space_left_bytes()) is None:
        return memory_bytes
    room_bytes = LIBRARY_BYTES + left_bytes // 2
    if room_bytes < LEAST_BYTES <= memory_bytes:
        raise _too_small(2 * (LEAST_BYTES - room_bytes))
    return min(memory_bytes, room_bytes)


def address_space_left_bytes() -> int | None:
    """Return the address space that this process may still take; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return max(limit - pages * resource.getpagesize(), 0)


def _too_small(missing_bytes: int) -> BadInputError:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return BadInputError(
        f"Parquet does not fit into the address space of {limit >> 10} KiB (`ulimit -v`)",
        [f"raise it to at least {(limit + missing_bytes >> 10) + 1}, or to unlimited"],
        code="address-space",
    )


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
            is_limited = address_space_left_bytes() is not None  # of which jemalloc reserves much
            pyarrow.set_memory_pool(pyarrow.system_memory_pool() if is_limited else pyarrow.jemalloc_memory_pool())
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
    except (arrow().ArrowException, UnicodeDecodeError) as error:  # a name that is no text
        raise BadInputError(f"{what}: {error}", code="not-a-table") from error
    except OSError as error:
        if error.errno:
            raise
        raise BadInputError(f"{what}: {error}", code="not-a-table") from error
