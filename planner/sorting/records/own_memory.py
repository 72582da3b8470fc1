"""What a process holds already, and what that leaves of the memory it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LATER_BYTES: Final = 12 << 20
"""What Python takes later: modules, threads and their stacks."""
_STATUS: Final = Path("/proc/self/status")


def left_for_sorting(given_bytes: int) -> int:
    """Return what Python leaves of the memory that the whole process is given; half of it at least.

    Mapped files do not count, as the system can take their memory back. Where it does not tell, all is left.
    """
    held = _anonymous_bytes()
    return given_bytes if held is None else max(given_bytes - held - _LATER_BYTES, given_bytes // 2)


def _anonymous_bytes() -> int | None:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), None)
