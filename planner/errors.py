"""Every error the planner raises on purpose, each with the exit code the command line gives it.

A message states what is wrong, where, why, and what to do next; `details` holds one line per further finding (all bad
rows of a file are reported together).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self


class PlannerError(Exception):
    """Base of all deliberate errors; `exit_code` is the process's exit code.

    `field` is the argument that is wrong, as Python spells it, or the first wrong field of a file, and `code` says how;
    both are empty where there is none.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, details: Sequence[str] = (), *, field: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.field = field
        self.code = code

    def __str__(self) -> str:
        is_said = self.field.startswith("-")  # an option, which the command line's text names
        is_said |= f"`{self.field}" in self.message or any(line.startswith(self.field) for line in self.details)
        first = self.message if is_said or not self.field else f"{self.field}: {self.message}"
        return "\n".join((first, *(f"  {line}" for line in self.details)))


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

    @classmethod
    def of(cls, where: str, how: str) -> Self:
        """Return the error of a file, and what changed."""
        return cls(
            f"{where} was changed while it was sorted, so rows could be lost or doubled",
            [how, "sort again when nobody writes to it"],
        )


class UnfinishedError(IoFailureError):
    """The cause that stopped a job can be fixed; finished work stays, and the same call resumes."""


class LeftBehindError(PlannerError):
    """Resources remain after clean-up; `details` names each."""

    exit_code = 7


class InterruptedRunError(PlannerError):
    """The user interrupted, and unfinished work was cleaned up."""

    exit_code = 130


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Add the file's name to an OSError without one, as from reading a descriptor."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno:
            error.filename = str(path)
        raise


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An error in a file: the field's path, the kind of error (see `planner.schemas.door`), and what was expected."""

    field: str
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}{' ' if self.code == 'missing-argument' else ': '}{self.text}"


def bad_input(where: object, problems: Sequence[str | Finding], hint: str = "") -> BadInputError:
    """Return the error that lists all `problems` of a file, or of several; its `field` is that of the first."""
    text, first = f"{where}: {len(problems)} problem{'s' * (len(problems) > 1)}{hint}", problems[0]
    field, code = (first.field, first.code) if isinstance(first, Finding) else ("", "")
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
