"""Size of data that can be looked at before anything is planned: a file, a folder, or below an address of a store."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from planner.errors import IoFailureError, PlannerError

PATIENCE_S: Final = 15.0
"""A store that answers nothing for so long is not asked further: without an account its library goes on trying."""


@dataclass(frozen=True, kw_only=True)
class PlaceSize:
    """What lies at a place: how many files that are not empty, and their bytes."""

    files: int
    bytes: int


def size_of_place(place: str, *, patience_s: float = PATIENCE_S) -> PlaceSize:
    """Return what lies in a file or folder, or below the address of an object store.

    Raises BadInputError where there is nothing, IoFailureError for what cannot be reached in time.
    """
    answers: list[PlaceSize | PlannerError] = []

    def ask() -> None:
        from planner.distributed_sort.dataset.input_files import files_of

        try:
            sizes = files_of(place)
        except PlannerError as error:
            answers.append(error)
        else:
            answers.append(PlaceSize(files=len(sizes), bytes=sum(sizes.values())))

    asking = threading.Thread(target=ask, daemon=True)  # a library that waits for a network does not keep the command
    asking.start()
    asking.join(patience_s)
    if not answers:
        raise IoFailureError(f"{place}: no answer within {patience_s:.0f} s; is this machine allowed to list it?")
    (answer,) = answers
    if isinstance(answer, PlannerError):
        raise answer
    return answer
