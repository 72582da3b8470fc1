"""Sorts that free the space of their inputs while reading them, new or resumed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api.files import STANDARD_OUTPUT, mode_of, require_readable
from planner.api.input_format import InputFormat
from planner.api.progress import OnProgress, reported
from planner.api.sort_here import text_job_of
from planner.api.sort_job import SortJob, SortResult, require_inputs
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.native import Progress
    from planner.sorting.consuming.work_folder import State, WorkFolder

_OF_THE_DATA = ("form", "lines", "record", "stable", "quote", "union_by_name")


def sort_consuming(
    job: SortJob, sources: Sequence[Path], output: Path, *, force: bool, on_progress: OnProgress | None
) -> SortResult:
    """Sort and delete the inputs at the end. Raises BadInputError also for an unfinished sort into the output."""
    from planner.sorting.consuming.consuming_sort import require_consumable
    from planner.sorting.consuming.work_folder import WorkFolder

    _require_possible(job, sources, output)
    require_inputs(sources, [output], job, force=force, is_text=True)
    folder = WorkFolder(output.absolute())
    if folder.has_journal():
        raise BadInputError(f"{output}: a sort into it is not finished; finish it with --resume", [str(folder.path)])
    for path in sources:
        require_consumable(str(path.resolve()))
    _require_space(sources, output)
    folder.make()
    with reported(["read", "write"], on_progress) as progress, folder.locked():
        try:
            state = _first_state(job, sources, progress)
            folder.begin(state)
        except BaseException:
            folder.remove_all()
            raise
        return _run(folder, state, job, progress, replaces=force)


def require_begun(output: Path) -> None:
    """Raise BadInputError unless a sort into an output is there to be resumed."""
    from planner.sorting.consuming.work_folder import WorkFolder

    if not WorkFolder(output.absolute()).has_journal():
        raise BadInputError(
            f"{output}: no sort into it is unfinished; there is nothing to resume",
            ["leave out --resume to sort; only a sort with --consume-input, which deletes its inputs, is resumed"],
        )


def resume_sort(
    job: SortJob, sources: Sequence[Path], output: Path, *, force: bool, on_progress: OnProgress | None
) -> SortResult:
    """Finish a begun sort with consumed inputs. Raises BadInputError if inputs and options are not those of it."""
    from planner.sorting.consuming.work_folder import WorkFolder

    folder = WorkFolder(output.absolute())
    with reported(["read", "write"], on_progress) as progress, folder.locked():
        state = folder.load()
        _require_same(state, job, sources, output)
        return _run(folder, state, job, progress, replaces=force or state.asked["replaces"])


def _run(folder: WorkFolder, state: State, job: SortJob, progress: Progress, *, replaces: bool) -> SortResult:
    from planner.native import run_interruptible
    from planner.sorting.consuming.consuming_sort import ConsumingSort
    from planner.sorting.records.keyed import TextReport

    began = time.monotonic()

    def work(shown: Progress) -> Any:
        return ConsumingSort(folder, state, _engine(state, folder, job, shown), shown).run(replaces=replaces)

    done = run_interruptible(work, progress)
    report = TextReport(done.rows, done.runs, done.run_bytes, 0, 0, "--consume-input")
    seconds = time.monotonic() - began
    return SortResult(counted=state.form["counted"], count=done.rows, seconds=seconds, report=report)


def _engine(state: State, folder: WorkFolder, job: SortJob, progress: Progress) -> Any:
    from planner.sorting.records.memory import sort_memory_bytes

    if state.form["is_table"]:
        from planner.sorting.consuming.tables import TableEngine

        return TableEngine(state, folder.path, progress, memory_bytes=job.memory_bytes or 0, threads=job.threads or 0)
    from planner.sorting.consuming.text import TextEngine

    memory_bytes = sort_memory_bytes(job.memory_bytes) if job.memory_bytes else 0
    return TextEngine(state, folder.path, progress, memory_bytes=memory_bytes, threads=job.threads or 0)


def _first_state(job: SortJob, sources: Sequence[Path], progress: Progress) -> State:
    from planner.sorting.consuming.work_folder import State, identity_of

    inputs = tuple(str(path.resolve()) for path in sources)
    return State(
        asked=_stated_options(job),
        inputs=inputs,
        identities=tuple(map(identity_of, inputs)),
        form=_form(job, inputs, progress),
        place=(0, 0),
    )


def _stated_options(job: SortJob) -> dict[str, Any]:
    from json import dumps, loads

    asked = {name: value for name, value in asdict(job).items() if name in _OF_THE_DATA} | {"replaces": job.replaces}
    return dict(loads(dumps(asked)))


def _form(job: SortJob, inputs: Sequence[str], progress: Progress) -> dict[str, Any]:
    if job.form.format == "parquet":
        from planner.sorting.consuming import tables

        job.form.require_no_text_options()
        form = tables.form_of(
            inputs, tuple(job.form.key or ()), unique=job.form.unique, fills=job.union_by_name, folders=job.folders
        )
        return form | {"is_table": True, "counted": "rows"}
    from planner.sorting.consuming import text

    made = text_job_of(job, [Path(path) for path in inputs])
    counted = "rows" if made.csv else "records" if job.record_bytes else "lines"
    return text.form_of(made, progress) | {"is_table": False, "counted": counted}


def _require_possible(job: SortJob, sources: Sequence[Path], output: Path) -> None:
    """Raise BadInputError for options that lose rows or take space elsewhere, and for paths that are not files."""
    from planner.compression.text_codecs import SUFFIXES, has_its_size

    given = {"limit": job.limit, "merge": job.merge, "compress": job.compress, "temp-dir": job.temp_dirs}
    if name := next((name for name, value in given.items() if value), None):
        raise BadInputError(f"--consume-input does not go with --{name}: leave out one of them")
    if job.spill != "auto":
        raise BadInputError("--consume-input does not go with --spill: leave out one of them")
    if output.suffix in SUFFIXES:
        raise BadInputError(f"{output}: --consume-input writes no compressed text; leave out {output.suffix}")
    if str(output) in STANDARD_OUTPUT or (mode_of(output) and not stat.S_ISREG(mode_of(output))):
        raise BadInputError(f"{output}: --consume-input writes a file, which a sort can be resumed into; name one")
    require_readable([path for path in sources if str(path) != "-"])
    for path in sources:
        if not stat.S_ISREG(mode_of(path)) or not has_its_size(path):
            raise BadInputError(f"{path}: --consume-input takes files, whose space can be freed; this is none")
    if len({path.resolve() for path in sources}) < len(sources):
        raise BadInputError("--consume-input: an input is given twice, and would be gone the second time")


def _require_space(sources: Sequence[Path], output: Path) -> None:
    """Raise BadInputError if not even two stretches fit."""
    from planner.sorting.consuming.consuming_sort import LEAST_STRETCH_BYTES, STRETCHES

    needed_bytes = 2 * max(sum(path.stat().st_size for path in sources) // STRETCHES, LEAST_STRETCH_BYTES)
    disk = os.statvfs(output.parent)
    if (free_bytes := disk.f_bavail * disk.f_frsize) < needed_bytes:
        raise BadInputError(
            f"{output.parent} has {free_bytes} bytes free, and --consume-input needs {needed_bytes} to begin with"
        )


def _require_same(state: State, job: SortJob, sources: Sequence[Path], output: Path) -> None:
    from planner.sorting.consuming.work_folder import identity_of

    if sources and [str(path.resolve()) for path in sources] != list(state.inputs):
        raise BadInputError(f"{output} is being made of other inputs: {', '.join(state.inputs)}", [])
    given, usual, asked = _stated_options(job), _stated_options(SortJob(form=InputFormat())), state.asked
    for one, other, begun in ((given, usual, asked), (given["form"], usual["form"], asked["form"])):
        if any(one[name] not in (other[name], begun[name]) for name in one if name not in ("form", "replaces")):
            raise BadInputError(f"{output}: its sort was begun with other options; leave them out, or give the same")
    for path, identity in zip(state.inputs, state.identities, strict=True):
        if state.merged is None and (not mode_of(Path(path)) or identity_of(path) != identity):
            raise BadInputError(f"{path} is not as it was when its sort was begun; put it back to resume")
