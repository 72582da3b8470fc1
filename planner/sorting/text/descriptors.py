"""Room for many open files at once."""

from __future__ import annotations

import resource
from typing import Final

from planner.errors import BadInputError

_OTHERS: Final = 64
_OF_A_PIPE: Final = 4
"""Both ends, the file that fills it, and the end that the core opens."""


def allow_pipes(pipes: int) -> None:
    """Raise this process's limit of descriptors if so many pipes need more. Raises BadInputError where it cannot."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = pipes * _OF_A_PIPE + _OTHERS
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInputError(
            f"to merge {pipes} compressed inputs takes {needed} open files, and {hard} are allowed: "
            "raise `ulimit -n`, merge some of them first, or leave out --merge"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
