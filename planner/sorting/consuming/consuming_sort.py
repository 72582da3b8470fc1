"""Sorting within little more disk than the inputs take, by freeing inputs as they are read and runs as they are merged.

Each stretch of the inputs becomes a sorted run next to the output. The stretch is freed once the run is on the disk and
recorded in the journal. Likewise, rows of runs are freed once the piece of the output that has them is on the disk. So
every row is in the inputs, a run or the output, whenever the process is killed. A thread waits for the disk, writes the
journal and frees space while the next run or piece is made, so at most two of them are stored twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from planner.config.atomic_file import sync_to_disk
from planner.errors import BadInputError, InputChangedError, IoFailureError, PlannerError
from planner.native import Progress, core, core_errors
from planner.sorting.consuming.inputs import ConsumeInput, Part, Range, delete_inputs, free_inputs, free_parts
from planner.sorting.consuming.work_folder import Merge, Run, State, WorkFolder, merged_state
from planner.sorting.records.keyed import TextReport

STRETCHES: Final = 24
"""A stretch is this fraction of the inputs, or less if memory is short; the sort takes twice that as extra disk."""
STEPS: Final = 28
"""A piece of the output is this fraction of the inputs. More pieces take less disk and more time."""
LEAST_STRETCH_BYTES: Final = 1 << 19


class SortedRun(NamedTuple):
    """Position in the inputs after a run, whether they end there, and the rows of the run."""

    place: tuple[int, int]
    is_end: bool
    rows: int


class Step(NamedTuple):
    """A merge after another piece, the `taken` of each of its runs, and whether the merge is complete."""

    merge: Merge
    taken: list[int]
    is_end: bool


class Engine(Protocol):
    """Operations on files of one format."""

    most_merged: int

    def make_run(self, place: tuple[int, int], path: str) -> SortedRun:
        """Sort a stretch of the inputs into a new file, which need not be on the disk on return."""
        ...

    def input_ranges(self, number: int, end: int | None) -> list[Range]:
        """Return the bytes of an input that are no longer needed once it is read up to a place; None: its end."""
        ...

    def run_ranges(self, path: str, end: int) -> list[Range]:
        """Return the bytes of a run before a place."""
        ...

    def merge(self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str, *, is_last: bool) -> Step:
        """Write another piece, which need not be on the disk on return unless it is the last."""
        ...


class ConsumingSort:
    """A new or resumed sort in its folder."""

    def __init__(
        self, folder: WorkFolder, state: State, engine: Engine, progress: Progress, option: ConsumeInput
    ) -> None:
        self._option = option
        self._folder = folder
        self._state = state
        self._engine = engine
        self._progress = progress
        self._runs = self._run_bytes = 0
        self._turn = 0
        """The half of the runs to free next, as a call for each takes long; the other half waits for the next step."""
        self._pool = ThreadPoolExecutor(1)
        self._versions = {path: core.FileVersion(os.fsencode(path)) for path in state.inputs if Path(path).exists()}
        """Versions of the inputs since they were last freed, which moves their times, too."""
        self._securing: Future[None] | None = None

    def run(self, *, replaces: bool) -> TextReport:
        """Run until the output is named and the inputs are gone. Raises PlannerError that explains how to resume."""
        try:
            with core_errors(), self._pool:
                self._read()
                self._merge_all()
                self._require_unchanged(self._versions)
                self._name_output(replaces=replaces)
                self._delete_inputs()
                self._folder.remove_all()
        except (PlannerError, OSError) as error:
            raise self._resumable(error) from error
        return TextReport(self._state.rows, self._runs, self._run_bytes, 0, 0, "--consume-input")

    def _resumable(self, error: PlannerError | OSError) -> PlannerError:
        advice = self._folder.how_to_go_on
        if isinstance(error, PlannerError):
            return error.reworded(error.message, advice)
        where = error.filename or self._folder.path
        return IoFailureError(f"cannot go on with {where}: {error.strerror or error}", [advice], code="io")

    def _save(self, state: State) -> None:
        """Write the journal once the previous step is on the disk."""
        self._wait_until_secured()
        self._folder.save(state)
        self._state = state

    def _secure_meanwhile(self, state: State, made: str, parts: Sequence[Part], *, is_new: bool) -> None:
        """Sync what was made, save the journal and free parts of files while the next step is made.

        The previous step is finished first, so that the journal never goes back.
        """
        self._wait_until_secured()
        self._state = state
        self._securing = self._pool.submit(self._secure, state, made, parts, is_new=is_new)

    def _secure(self, state: State, made: str, parts: Sequence[Part], *, is_new: bool) -> None:
        self._folder.secure(made, is_new=is_new)
        self._folder.save(state)
        self._free(parts)

    def _free(self, parts: Sequence[Part]) -> None:
        """Free parts of inputs or runs. Raises InputChangedError where another program wrote to the input."""
        inputs = [path for path, _ in parts if path in self._versions]
        self._require_unchanged(inputs)
        free_inputs(self._option, parts)
        self._versions |= {path: core.FileVersion(os.fsencode(path)) for path in inputs}

    def _require_unchanged(self, inputs: Iterable[str]) -> None:
        for path in inputs:
            try:
                self._versions[path].require_unchanged()
            except core.InputChangedError as error:
                raise InputChangedError(
                    f"{path} was changed while it was sorted", ["put it back as it was, and resume"]
                ) from error

    def _wait_until_secured(self) -> None:
        if self._securing is not None:
            self._securing.result()
        self._securing = None

    def _read(self) -> None:
        """Make runs of the rest of the inputs."""
        self._progress.begin_phase(0, bytes_total=sum(size for _, _, size in self._state.identities))
        if self._state.merged is None:
            self._free(self._input_parts((0, 0), self._state.place))
        while not self._state.is_read:
            state, path = self._state, self._folder.file(self._state.new_name)
            try:
                made = self._engine.make_run(state.place, path)
            finally:  # a change is why a row is not whole
                self._wait_until_secured()
                self._require_unchanged(self._versions)
            run = Run(name=state.new_name, bytes=Path(path).stat().st_size)
            self._runs += 1
            self._run_bytes += run.bytes
            runs = (*state.runs, run)
            read = replace(state, place=made.place, is_read=made.is_end, runs=runs, made=state.made + 1)
            self._secure_meanwhile(read, path, self._input_parts(state.place, made.place), is_new=True)

    def _input_parts(self, begin: tuple[int, int], end: tuple[int, int]) -> list[Part]:
        """Return the parts of the inputs that are no longer needed after reading from one place to another."""
        numbers = range(begin[0], min(end[0] + 1, len(self._state.inputs)))
        ends = {number: end[1] if number == end[0] else None for number in numbers}
        inputs, ranges = self._state.inputs, self._engine.input_ranges
        return [(inputs[number], ranges(number, last)) for number, last in ends.items()]

    def _merge_all(self) -> None:
        if self._state.merge is not None:
            paths = {self._folder.file(run.name): run.taken for run in self._group()}
            free_parts([(path, self._engine.run_ranges(path, taken)) for path, taken in paths.items()])
        self._wait_until_secured()
        self._progress.begin_phase(1, bytes_total=sum(run.bytes for run in self._state.runs))
        while self._state.merged is None:
            self._merge_some()

    def _group(self) -> tuple[Run, ...]:
        """Return the runs to be merged."""
        merge = self._state.merge
        return () if merge is None else self._state.runs[merge.first : merge.first + merge.runs]

    def _merge_some(self) -> None:
        state, group = self._state, self._group()
        merge = state.merge
        if merge is None:
            merge = next_merge(state, most=self._engine.most_merged)
            self._save(replace(state, merge=merge, made=state.made + 1))
            return
        paths = [self._folder.file(run.name) for run in group]
        is_last = merge.runs == len(state.runs)
        step = self._engine.merge(merge, group, paths, self._folder.file(merge.name), is_last=is_last)
        taken = [replace(run, taken=end) for run, end in zip(group, step.taken, strict=True)]
        runs = (*state.runs[: merge.first], *taken, *state.runs[merge.first + merge.runs :])
        state = replace(state, runs=runs, merge=step.merge)
        if step.is_end:
            self._save(merged_state(state, Run(name=merge.name, bytes=step.merge.end)))
            self._folder.remove([run.name for run in group])
            return
        self._turn = 1 - self._turn
        freed = list(zip(paths, taken, strict=True))[self._turn :: 2]
        parts = [(path, self._engine.run_ranges(path, run.taken)) for path, run in freed]
        self._secure_meanwhile(state, self._folder.file(merge.name), parts, is_new=merge.end == 0)

    def _name_output(self, *, replaces: bool) -> None:
        """Give the result its name, durably; a sort that was killed may have done so."""
        made, output = Path(self._folder.file(self._merged.name)), self._folder.output
        if made.exists() and not (output.exists() and output.samefile(made)):
            if replaces:
                if output.exists():
                    take_after(output, made)
                made.replace(output)
            else:
                try:
                    os.link(made, output)
                except FileExistsError:
                    raise BadInputError(
                        f"{output} appeared while the sort ran: move it away, or resume with --force",
                        code="output-appeared",
                    ) from None
        made.unlink(missing_ok=True)
        sync_to_disk(output.parent)

    @property
    def _merged(self) -> Run:
        assert self._state.merged is not None
        return self._state.merged

    def _delete_inputs(self) -> None:
        inputs = list(zip(self._state.inputs, self._state.identities, strict=True))
        delete_inputs(self._option, inputs, output=self._folder.output, output_bytes=self._merged.bytes)


def next_merge(state: State, *, most: int) -> Merge:
    """Return the last merge, or a merge of neighbours with few bytes that leaves no more runs than can be merged."""
    runs = len(state.runs)
    size = runs if runs <= most else min(most, runs - most + 1)
    sizes = [run.bytes for run in state.runs]
    first = min(range(runs - size + 1), key=lambda begin: sum(sizes[begin : begin + size]))
    return Merge(name=state.new_name, first=first, runs=size)


def take_after(replaced: Path, made: Path) -> None:
    """Give a file the owner, permissions and attributes of the file it replaces, as far as the system allows."""
    about = replaced.stat()
    with suppress(PermissionError):
        os.chown(made, about.st_uid, about.st_gid)
    made.chmod(about.st_mode & 0o777)
    for name in os.listxattr(replaced) if hasattr(os, "listxattr") else ():
        if name.startswith("user.") or name == "system.posix_acl_access":
            os.setxattr(made, name, os.getxattr(replaced, name))
