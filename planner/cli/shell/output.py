"""Results whose reader may leave before the end, as after `| head`, or that no disk has room for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End the command with 0, and quietly, when nobody reads its results any more."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        if error.filename is not None:
            raise
        forget(sys.stdout)
        raise SystemExit(0) from None


def forget(stream: TextIO) -> None:
    """Let what nobody can take any more go nowhere; else Python complains when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
