"""Output of results whose reader may leave early, as with `| head`, or that fill the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def ends_without_reader() -> Iterator[None]:
    """End the command quietly with 0 when nobody reads its results any more."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        if error.filename is not None:
            raise
        forget(sys.stdout)
        raise SystemExit(0) from None


def forget(stream: TextIO) -> None:
    """Discard output that can no longer be written; else Python complains at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
