"""Work folder of a sort that consumes its inputs: sorted runs, the merged result, and a journal of each row's place."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.sorting.consuming.inputs import Identity

_SUFFIX: Final = ".sorting"
_JOURNAL: Final = "journal.json"
_SLOTS: Final = ("state-0", "state-1")
"""Files that both hold the state: a kill while one is written, or damage to it, leaves the other."""
_SLOT_HEAD: Final = struct.Struct("<QIQ")
"""Number of saves, checksum of that number and the text, and size of the text in bytes."""
_SLOT_BYTES: Final = 1 << 14
"""A slot's size is a multiple of this, so that saving a state rarely changes the file size."""
_CONSTANT: Final = ("asked", "inputs", "identities", "form")
"""Fields of the state stored in the journal itself, which is written once."""
_VERSION: Final = 4


@dataclass(frozen=True, kw_only=True)
class Run:
    """A sorted file of the folder; the first `taken` bytes of text, or rows of tables, are already stored elsewhere."""

    name: str
    bytes: int
    taken: int = 0


@dataclass(frozen=True, kw_only=True)
class Merge:
    """A merge of the runs from number `first` on: so far `rows` rows, ending at byte `end`.

    `footer` holds what Parquet needs to resume.
    """

    name: str
    first: int
    runs: int
    end: int = 0
    rows: int = 0
    footer: str = ""


@dataclass(frozen=True, kw_only=True)
class State:
    """Location of all rows: in the inputs from `place` on (a file and a position in it), in runs, or merged."""

    asked: dict[str, Any]
    """The options that set the format of the files and the sort order."""
    inputs: tuple[str, ...]
    identities: tuple[Identity, ...]
    form: dict[str, Any]
    """The format's own data for resuming."""
    place: tuple[int, int]
    is_read: bool = False
    runs: tuple[Run, ...] = ()
    merge: Merge | None = None
    merged: Run | None = None
    """The complete result, still to be given its name."""
    rows: int = 0
    made: int = field(default=0)
    """Number of files made so far."""

    @property
    def new_name(self) -> str:
        """Return the name of the next file."""
        return f"part-{self.made}"


def require_whole(sources: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Raise BadInputError for a file that an unfinished sort consumes, whose output lies beside it or beside one of
    `outputs`: some of its rows are elsewhere.
    """
    files = {source.resolve(): source for source in sources}
    for folder in {path.parent for path in files} | {output.absolute().parent for output in outputs}:
        for journal in folder.glob(f".*{_SUFFIX}/{_JOURNAL}"):
            with suppress(OSError, ValueError, KeyError):  # damaged, or another program's
                consumed = map(Path, json.loads(journal.read_text())["inputs"])
                if here := next((files[path] for path in consumed if path in files), None):
                    sort = WorkFolder(folder / journal.parent.name[1:].removesuffix(_SUFFIX))
                    text = f"{here} is consumed by a sort into {sort.output}; finish that with --resume"
                    raise BadInputError(text, [sort.how_to_go_on], code="unfinished-sort")


class WorkFolder:
    """A hidden folder next to the output, for one process at a time."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = output.with_name(f".{output.name}{_SUFFIX}")
        self._lock = -1
        self._saved = 0
        self._slots: list[int] = []

    def has_journal(self) -> bool:
        """True if there is a sort to resume."""
        return (self.path / _JOURNAL).exists()

    @property
    def how_to_go_on(self) -> str:
        """Where the rows of an unfinished sort are, and how it goes on."""
        resume = f"`planner sort --resume {self.output}` goes on"
        return f"no row is lost: {resume}, with the rows that are in the inputs and in {self.path}"

    def make(self) -> None:
        """Make the folder, removing the files of a sort that stopped before it wrote its journal. Raises BadInputError
        where it holds rows.
        """
        if self.path.exists():
            if set(os.listdir(self.path)) - {f"{_JOURNAL}.new", *_SLOTS}:  # noqa: PTH208
                raise self._damaged(f"it may hold rows, and {_JOURNAL} is missing")
            shutil.rmtree(self.path)
        self.path.mkdir(mode=0o700)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out. Raises BadInputError if another process sorts here."""
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise BadInputError(
                f"{self.output}: another process sorts into it; wait until that ends", code="locked"
            ) from None
        finally:
            for slot in self._slots:
                os.close(slot)
            os.close(self._lock)

    def begin(self, state: State) -> None:
        """Write the journal and the first state."""
        self.save(state)
        new = self.path / f"{_JOURNAL}.new"
        values = {"version": _VERSION} | {name: getattr(state, name) for name in _CONSTANT}
        with new.open("w") as file:
            json.dump(values | {"checksum": _checksum(values)}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path / _JOURNAL)
        os.fsync(self._lock)

    def secure(self, path: str, *, is_new: bool) -> None:
        """Wait until a file of the folder, and its name if new, are on the disk.

        The name comes last: it blocks all name lookups until it is written, which is quick once the data is there.
        """
        sync_file(path)
        if is_new:
            os.fsync(self._lock)

    def save(self, state: State) -> None:
        """Write both slots, and wait until each is on the disk: what the state before needs is freed after that."""
        if not self._slots:
            self._slots = [os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in _SLOTS]
        self._saved += 1
        text = json.dumps({name: value for name, value in asdict(state).items() if name not in _CONSTANT}).encode()
        content = _SLOT_HEAD.pack(self._saved, zlib.crc32(text, self._saved), len(text)) + text
        for slot in self._slots:
            _write_at_start(slot, content + bytes(-len(content) % _SLOT_BYTES))
            sync_data(slot)

    def load(self) -> State:
        """Return the state in the journal. Raises BadInputError if its version differs, or anything in the folder is
        damaged or missing.
        """
        try:
            values = json.loads((self.path / _JOURNAL).read_text())
            version, checksum = values.get("version"), values.pop("checksum", None)
        except (ValueError, AttributeError) as error:
            raise self._damaged(f"{_JOURNAL} cannot be read") from error
        if version != _VERSION:
            raise BadInputError(
                f"{self.path}: another version of planner began this sort; resume it with that", code="other-version"
            )
        if checksum != _checksum(values):
            raise self._damaged(f"{_JOURNAL} is not as it was written")
        del values["version"]
        self._saved, text = max(_saved_state(self.path / name) for name in _SLOTS)
        if not text:
            raise self._damaged(f"neither {' nor '.join(_SLOTS)} holds a whole state of the sort")
        values |= json.loads(text)
        values |= {"inputs": tuple(values["inputs"]), "identities": tuple(map(tuple, values["identities"]))}
        values |= {"place": tuple(values["place"]), "runs": tuple(Run(**run) for run in values["runs"])}
        merge, merged = values["merge"], values["merged"]
        values |= {"merge": merge and Merge(**merge), "merged": merged and Run(**merged)}
        state = State(**values)
        self._require_files(state)
        return state

    def _require_files(self, state: State) -> None:
        """Raise BadInputError unless all runs are there, and the merge or the result, which may have its name."""
        merge, merged = state.merge, state.merged
        for run in state.runs:
            if _size_of(self.path / run.name) != run.bytes:
                raise self._damaged(f"{run.name} has not the {run.bytes} bytes that were written")
        if merge and merge.end and _size_of(self.path / merge.name) < merge.end:
            raise self._damaged(f"{merge.name} has not the {merge.end} bytes that were written")
        if merged and merged.bytes not in (_size_of(self.path / merged.name), _size_of(self.output)):
            raise self._damaged(f"neither {merged.name} nor {self.output} is the result of {merged.bytes} bytes")

    def _damaged(self, how: str) -> BadInputError:
        advice = "nothing was changed, and no input deleted: put back what is missing, from a copy of the folder"
        return BadInputError(f"{self.path} is damaged: {how}", [advice], code="damaged-state")

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files of the folder, if they are there."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove the folder; the journal and the state, which a retry needs, go last."""
        self.remove([name for name in os.listdir(self.path) if name not in (_JOURNAL, *_SLOTS)])  # noqa: PTH208
        self.remove([_JOURNAL, *_SLOTS])
        self.path.rmdir()


def _write_at_start(descriptor: int, content: bytes) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(descriptor, content[done:], done)


def _saved_state(path: Path) -> tuple[int, bytes]:
    """Return the number and the text of the state in a slot; 0 and nothing if it was not completely written."""
    content = path.read_bytes() if path.exists() else b""
    if len(content) < _SLOT_HEAD.size:
        return 0, b""
    number, checksum, size = _SLOT_HEAD.unpack_from(content)
    text = content[_SLOT_HEAD.size : _SLOT_HEAD.size + size]
    return (number, text) if len(text) == size and zlib.crc32(text, number & 0xFFFFFFFF) == checksum else (0, b"")


def _checksum(values: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(values).encode())


def _size_of(path: Path) -> int:
    """Return the size of a file, -1 if there is none."""
    return path.stat().st_size if path.is_file() else -1


def sync_file(path: str) -> None:
    """Wait until a file's contents are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Wait until a file's data and its location are on the disk, but not its timestamps."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def merged_state(state: State, result: Run) -> State:
    """Return the state after a complete merge: one run replaces its runs; if no others are left, it is the result."""
    merge = state.merge
    assert merge is not None
    runs = (*state.runs[: merge.first], result, *state.runs[merge.first + merge.runs :])
    if len(runs) > 1:
        return replace(state, runs=runs, merge=None)
    return replace(state, runs=(), merge=None, merged=result, rows=merge.rows)
