"""pyarrow, which is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planner.errors import BadInputError
from planner.extras import optional


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or a module of it. Raises PlannerError that says what installs it."""
    return optional(module, extra="arrow", purpose="sorting Arrow tables and Parquet")


@contextmanager
def arrow_errors(what: str) -> Iterator[None]:
    """Turn what pyarrow raises into BadInputError that names what was worked on; some of it has no class of ours.

    An OSError that has a number is the system's, and is left as it is.
    """
    try:
        yield
    except arrow().ArrowException as error:
        raise BadInputError(f"{what}: {error}") from error
    except OSError as error:
        if error.errno:
            raise
        raise BadInputError(f"{what}: {error}") from error
