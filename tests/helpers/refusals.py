"""What a test asks of a refusal: its kind, its field and what it names, never its sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from planner.errors import BadInputError, PlannerError


@contextmanager
def refused(
    code: str, *named: str, field: str = "", kind: type[PlannerError] = BadInputError
) -> Iterator[pytest.ExceptionInfo[PlannerError]]:
    """Ask that the body raises an error of this class, code and field, whose text has each of the `named` values."""
    with pytest.raises(kind) as raised:
        yield raised
    require(raised.value, code, *named, field=field)


def require(error: BaseException | None, code: str, *named: str, field: str = "") -> None:
    """Ask that an error has this code and field, and that its text has each of the `named` values."""
    assert isinstance(error, PlannerError), repr(error)
    assert (error.code, error.field) == (code, field), str(error)
    assert [value for value in named if value not in str(error)] == [], str(error)
