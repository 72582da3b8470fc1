"""The folder of a sort that consumes its inputs: sorted runs, what they become, and a journal of where each row is."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError

_JOURNAL: Final = "journal.json"
_VERSION: Final = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """A sorted file of the folder, of which the first bytes of text, or rows of tables, are `taken` elsewhere."""

    name: str
    bytes: int
    taken: int = 0


@dataclass(frozen=True, kw_only=True)
class Merge:
    """What the runs from number `first` on are merged into: so far `rows` that end at byte `end`.

    `footer` is what Parquet needs to go on.
    """

    name: str
    first: int
    runs: int
    end: int = 0
    rows: int = 0
    footer: str = ""


@dataclass(frozen=True, kw_only=True)
class State:
    """Where all rows are: in the inputs from `place` on (a file and a place in it), in runs, or merged."""

    asked: dict[str, Any]
    """The options that say what the files hold and how they are sorted."""
    inputs: tuple[str, ...]
    identities: tuple[tuple[int, int, int], ...]
    """Device, number and bytes of each input."""
    form: dict[str, Any]
    """What the format needs to go on."""
    place: tuple[int, int]
    is_read: bool = False
    runs: tuple[Run, ...] = ()
    merge: Merge | None = None
    merged: Run | None = None
    """The whole result, to get its name."""
    rows: int = 0
    made: int = field(default=0)
    """How many files have been made."""

    @property
    def new_name(self) -> str:
        """The name of the next file."""
        return f"part-{self.made}"


class WorkFolder:
    """A hidden folder beside the output, for one process at a time."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = output.with_name(f".{output.name}.sorting")
        self._lock = -1

    def has_journal(self) -> bool:
        """Whether there is a sort to be resumed."""
        return (self.path / _JOURNAL).exists()

    def make(self) -> None:
        """Make the folder, without what a sort left that did not come to its journal."""
        if self.path.exists():
            shutil.rmtree(self.path)
        self.path.mkdir(mode=0o700)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out. Raises BadInputError if another sorts here."""
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise BadInputError(f"{self.output}: another process sorts into it; wait until that ends") from None
        finally:
            os.close(self._lock)

    def save(self, state: State) -> None:
        """Replace the journal, which is on the disk then, as are the files' names."""
        new = self.path / f"{_JOURNAL}.new"
        with new.open("w") as file:
            json.dump({"version": _VERSION, **asdict(state)}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path / _JOURNAL)
        os.fsync(self._lock)

    def load(self) -> State:
        """Return what the journal says. Raises BadInputError for one of another version."""
        values = json.loads((self.path / _JOURNAL).read_text())
        if values.pop("version") != _VERSION:
            raise BadInputError(f"{self.path}: another version of planner began this sort; resume it with that")
        values |= {"inputs": tuple(values["inputs"]), "identities": tuple(map(tuple, values["identities"]))}
        values |= {"place": tuple(values["place"]), "runs": tuple(Run(**run) for run in values["runs"])}
        merge, merged = values["merge"], values["merged"]
        values |= {"merge": merge and Merge(**merge), "merged": merged and Run(**merged)}
        return State(**values)

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files of the folder, if they are there."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove the folder; the journal goes last."""
        self.remove([name for name in os.listdir(self.path) if name != _JOURNAL])  # noqa: PTH208
        self.remove([_JOURNAL])
        self.path.rmdir()


def identity_of(path: str) -> tuple[int, int, int]:
    """Return the device, the number and the bytes of a file."""
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino, status.st_size


def merged_state(state: State, result: Run) -> State:
    """Return the state once a merge is complete: its runs are one, and the only one is the result."""
    merge = state.merge
    assert merge is not None
    runs = (*state.runs[: merge.first], result, *state.runs[merge.first + merge.runs :])
    if len(runs) > 1:
        return replace(state, runs=runs, merge=None)
    return replace(state, runs=(), merge=None, merged=result, rows=merge.rows)
