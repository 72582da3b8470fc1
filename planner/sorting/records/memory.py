"""The memory of a sort: what Python leaves of the limit for the whole process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from planner.errors import BadInputError
from planner.units import count_text, format_exact_size

_LATER_BYTES: Final = 12 << 20
"""Memory that Python takes later: modules, threads and their stacks."""
_STATUS: Final = Path("/proc/self/status")


def sort_memory_bytes(given_bytes: int) -> int:
    """Return the memory that Python leaves of the limit for the whole process; at least half of it.

    Mapped files do not count, as the system can take their memory back. If the system does not report usage, all is
    left.
    """
    held = _anonymous_bytes()
    return given_bytes if held is None else max(given_bytes - held - _LATER_BYTES, (given_bytes + 1) // 2)


@contextmanager
def memory_for_sorting(given_bytes: int | None) -> Iterator[int | None]:
    """Yield the memory that Python leaves of the given limit. Errors name the option and the whole limit, so their
    advice suffices.
    """
    left_bytes = given_bytes and sort_memory_bytes(given_bytes)
    try:
        yield left_bytes
    except BadInputError as error:
        more_bytes = (_anonymous_bytes() or 0) + _LATER_BYTES
        message = re.sub(
            r"(?<=give at least )\d+", lambda least: f"--memory {_in_mb(int(least[0]) + more_bytes)}", error.message
        )
        if message == error.message:
            raise
        if left_bytes and given_bytes:
            given = f"--memory {format_exact_size(given_bytes)}"
            message = message.replace(f"{count_text(left_bytes, 'byte')} of memory", given)
        raise BadInputError(message, error.details, code="memory") from error


def _in_mb(size: int) -> str:
    return f"{-(-size // 1_000_000)}MB"


def _anonymous_bytes() -> int | None:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), None)
