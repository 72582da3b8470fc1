"""The folder of a sort that consumes its inputs: sorted runs, what they become, and a journal of where each row is."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError

_JOURNAL: Final = "journal.json"
_SLOTS: Final = ("state-0", "state-1")
"""Files that hold the state by turns: a kill while one is written leaves the other."""
_SLOT_HEAD: Final = struct.Struct("<QIQ")
"""How many times the state was saved, the checksum of that and of the text, and the bytes of the text."""
_SLOT_BYTES: Final = 1 << 14
"""A slot takes a multiple of this, so that saving a state mostly changes no file's size."""
_CONSTANT: Final = ("asked", "inputs", "identities", "form")
"""What of the state is in the journal itself, which is written once."""
_VERSION: Final = 2


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
        self._saved = 0
        self._slots: list[int] = []

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
            for slot in self._slots:
                os.close(slot)
            os.close(self._lock)

    def begin(self, state: State) -> None:
        """Write the journal and the first state."""
        self.save(state)
        new = self.path / f"{_JOURNAL}.new"
        with new.open("w") as file:
            json.dump({"version": _VERSION} | {name: getattr(state, name) for name in _CONSTANT}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path / _JOURNAL)
        os.fsync(self._lock)

    def secure(self, path: str, *, is_new: bool) -> None:
        """Wait until a file of the folder, and the name of a new one, are on the disk.

        The name's turn is last: nobody can look up names while it is brought there, which is quick behind the data.
        """
        sync_file(path)
        if is_new:
            os.fsync(self._lock)

    def save(self, state: State) -> None:
        """Write the state over the one before the last; it is on the disk then."""
        if not self._slots:
            self._slots = [os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in _SLOTS]
        self._saved += 1
        text = json.dumps({name: value for name, value in asdict(state).items() if name not in _CONSTANT}).encode()
        content = _SLOT_HEAD.pack(self._saved, zlib.crc32(text, self._saved), len(text)) + text
        slot = self._slots[self._saved % len(_SLOTS)]
        _write_at_start(slot, content + bytes(-len(content) % _SLOT_BYTES))
        sync_data(slot)

    def load(self) -> State:
        """Return what the journal says. Raises BadInputError for one of another version, and where none can be read."""
        values = json.loads((self.path / _JOURNAL).read_text())
        if values.pop("version") != _VERSION:
            raise BadInputError(f"{self.path}: another version of planner began this sort; resume it with that")
        self._saved, text = max(_saved_state((self.path / name).read_bytes()) for name in _SLOTS)
        if not text:
            raise BadInputError(f"{self.path}: neither {' nor '.join(_SLOTS)} holds a whole state of the sort")
        values |= json.loads(text)
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
        """Remove the folder; the journal and the state, which it needs, go last."""
        self.remove([name for name in os.listdir(self.path) if name not in (_JOURNAL, *_SLOTS)])  # noqa: PTH208
        self.remove([_JOURNAL, *_SLOTS])
        self.path.rmdir()


def _write_at_start(descriptor: int, content: bytes) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(descriptor, content[done:], done)


def _saved_state(content: bytes) -> tuple[int, bytes]:
    """Return the number and the text of the state in a slot; 0 and nothing if it was not written to its end."""
    if len(content) < _SLOT_HEAD.size:
        return 0, b""
    number, checksum, size = _SLOT_HEAD.unpack_from(content)
    text = content[_SLOT_HEAD.size : _SLOT_HEAD.size + size]
    return (number, text) if len(text) == size and zlib.crc32(text, number & 0xFFFFFFFF) == checksum else (0, b"")


def sync_file(path: str) -> None:
    """Wait until what a file holds is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Wait until what a file holds, and where, is on the disk; not its times."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


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
