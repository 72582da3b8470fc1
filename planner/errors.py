"""Every error the planner raises on purpose, each with the exit code the command line gives it.

A message states what is wrong, where, why, and what to do next; `details` holds one line per further finding (all bad
rows of a file are reported together).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

_OPTION: Final = re.compile(r"--[a-z][a-z0-9-]*")


class PlannerError(Exception):
    """Base of all deliberate errors; `exit_code` is the process's exit code.

    `code` is the kind of fault, in words like `no-such-file`, for callers that tell faults apart: sentences may change.
    A class that means one fault has it for all. `field` is the argument that is wrong, as Python spells it, or the
    option with which the message begins, or the first wrong field of a file; it is empty where there is none.
    """

    exit_code: ClassVar[int] = 1
    code: str = ""

    def __init__(self, message: str, details: Sequence[str] = (), *, field: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.field = field or _option_first_in(message)
        self.code = code or self.code

    def reworded(self, message: str, *further: str) -> Self:
        """Return this error with another message and `further` details: it stays the same fault."""
        other = copy(self)
        other.args, other.message, other.details = (message,), message, (*self.details, *further)
        other.field = self.field or _option_first_in(message)
        return other

    def as_values(self) -> dict[str, Any]:
        """Return the error as values of JSON, for another process."""
        return {"message": self.message, "details": list(self.details), "field": self.field, "code": self.code}

    @property
    def sentence(self) -> str:
        """The message, which names the field."""
        is_said = self.field.startswith("-")  # an option, which the command line's text names
        is_said |= f"`{self.field}" in self.message or any(line.startswith(self.field) for line in self.details)
        return self.message if is_said or not self.field else f"{self.field}: {self.message}"

    def __str__(self) -> str:
        return "\n".join((self.sentence, *(f"  {line}" for line in self.details)))


class BadInputError(PlannerError):
    """An argument, a file or a record is invalid."""

    exit_code = 2


class InfeasibleError(PlannerError):
    """No cluster meets the request; `details` names the nearest rejections."""

    exit_code = 3


class ProviderRefusedError(PlannerError):
    """The cloud refused: capacity, quota or permission."""

    exit_code = 4


class ValidationFailedError(PlannerError):
    """The data is not sorted, or not the data that went in."""

    exit_code = 5


class IoFailureError(PlannerError):
    """A disk, a file or a node failed."""

    exit_code = 6


class InputChangedError(IoFailureError):
    """A file of the input was written or replaced while it was sorted, so that what was made of it does not count."""

    code = "input-changed"

    @classmethod
    def of(cls, where: str, how: str) -> Self:
        """Return the error of a file, and what changed."""
        return cls(
            f"{where} was changed while it was sorted, so rows could be lost or doubled",
            [how, "sort again when nobody writes to it"],
        )


class UnfinishedError(IoFailureError):
    """The cause that stopped a job can be fixed; finished work stays, and the same call resumes."""

    code = "unfinished"


class LeftBehindError(PlannerError):
    """Resources remain after clean-up; `details` names each."""

    code = "left-behind"
    exit_code = 7


class InterruptedRunError(PlannerError):
    """The user interrupted, and unfinished work was cleaned up."""

    code = "interrupted"
    exit_code = 130


def _option_first_in(message: str) -> str:
    option = _OPTION.match(message)
    return option[0] if option else ""


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Add the file's name to an OSError without one, as from reading a descriptor."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno:
            error.filename = str(path)
        raise


@contextmanager
def about(field: str) -> Iterator[None]:
    """Let errors without a field be about this argument."""
    try:
        yield
    except PlannerError as error:
        error.field = error.field or field
        raise


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An error in a file: the field's path, the kind of error (see `planner.schemas.door`), and what was expected."""

    field: str
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}{' ' if self.code == 'missing-argument' else ': '}{self.text}"


def bad_input(
    where: object, problems: Sequence[str | Finding], hint: str = "", *, code: str = "malformed"
) -> BadInputError:
    """Return the error that lists all `problems` of a file, or of several; a first Finding has its `field` and code."""
    text, first = f"{where}: {len(problems)} problem{'s' * (len(problems) > 1)}{hint}", problems[0]
    field, code = (first.field, first.code) if isinstance(first, Finding) else ("", code)
    return BadInputError(text, list(map(str, problems)), field=field, code=code)


def some_of(names: Sequence[str], *, most: int = 6) -> str:
    """Return the first of some names and how many more there are: `a, b and 41 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def nearest(word: str, names: Sequence[str], *, most: int = 3) -> str:
    """Return ' Did you mean a, b?' with the `names` nearest to `word`, or '' when none is near."""
    from difflib import get_close_matches  # slow to load

    folded = {name.casefold(): name for name in names}
    close = get_close_matches(word.casefold(), folded, n=most, cutoff=0.5)
    return f" Did you mean {' or '.join(folded[name] for name in close)}?" if close else ""
