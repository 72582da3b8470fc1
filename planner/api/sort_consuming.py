"""Sorts that free the space of their inputs while reading them, new or resumed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.api.files import mode_of, require_inputs, require_readable
from planner.api.progress import OnProgress, reported
from planner.api.sort_result import SortResult
from planner.errors import BadInputError, InterruptedRunError
from planner.sorting.sort_job import Comparison, SortJob

if TYPE_CHECKING:
    from planner.native import Progress
    from planner.sorting.consuming.work_folder import State, WorkFolder

_OF_THE_DATA: Final = (*(field.name for field in fields(Comparison) if field.name != "lines"), "union_by_name")


def sort_consuming(job: SortJob, *, on_progress: OnProgress | None) -> SortResult:
    """Sort and delete the inputs at the end. Raises BadInputError also for an unfinished sort into the output."""
    from planner.sorting.consuming.inputs import require_consumable
    from planner.sorting.consuming.work_folder import WorkFolder

    sources, output = list(map(Path, job.inputs)), Path(job.output)
    _require_possible(job, sources, output)
    require_inputs(job, [output], is_text=True)
    folder = WorkFolder(output.absolute())
    if folder.has_journal():
        raise BadInputError(
            f"{output}: a sort into it is not finished; finish it with --resume",
            [str(folder.path)],
            code="unfinished-sort",
        )
    for path in sources:
        require_consumable(str(path.resolve()))
    _require_space(sources, output)
    folder.make()
    with reported(["read", "write"], on_progress) as progress, folder.locked(), _resumable(folder):
        try:
            state = _first_state(job, progress)
            folder.begin(state)
        except BaseException:
            folder.remove_all()
            raise
        return _run(folder, state, job, progress, replaces=job.force)


def require_begun(output: Path) -> None:
    """Raise BadInputError unless a sort into an output is there to be resumed."""
    from planner.sorting.consuming.work_folder import WorkFolder, require_whole

    if not WorkFolder(output.absolute()).has_journal():
        require_whole([output], [])
        raise BadInputError(
            f"{output}: no sort into it is unfinished; there is nothing to resume",
            ["leave out --resume to sort; only a sort with --consume-input, which deletes its inputs, is resumed"],
            code="nothing-to-resume",
        )


def resume_sort(job: SortJob, *, on_progress: OnProgress | None) -> SortResult:
    """Finish a begun sort with consumed inputs. Raises BadInputError if inputs and options are not those of it."""
    from planner.sorting.consuming.work_folder import WorkFolder

    folder = WorkFolder(Path(job.output).absolute())
    with reported(["read", "write"], on_progress) as progress, folder.locked(), _resumable(folder):
        state = folder.load()
        _require_same(state, job)
        return _run(folder, state, job, progress, replaces=job.force or state.asked["force"])


@contextmanager
def _resumable(folder: WorkFolder) -> Iterator[None]:
    """Say at Ctrl-C how a sort goes on that has begun to consume its inputs."""
    try:
        yield
    except (InterruptedRunError, KeyboardInterrupt):
        if not folder.has_journal():
            raise
        raise InterruptedRunError("interrupted", [folder.how_to_go_on]) from None


def _run(folder: WorkFolder, state: State, job: SortJob, progress: Progress, *, replaces: bool) -> SortResult:
    from planner.native import run_interruptible
    from planner.sorting.consuming.consuming_sort import ConsumingSort
    from planner.sorting.consuming.inputs import ConsumeInput

    option = ConsumeInput(state.asked["consume_input"])
    began = time.monotonic()

    def work(shown: Progress) -> Any:
        return ConsumingSort(folder, state, _engine(state, folder, job, shown), shown, option).run(replaces=replaces)

    report = run_interruptible(work, progress)
    seconds = time.monotonic() - began
    return SortResult(counted=state.form["counted"], count=report.lines, seconds=seconds, report=report)


def _engine(state: State, folder: WorkFolder, job: SortJob, progress: Progress) -> Any:
    from planner.sorting.records.memory import sort_memory_bytes

    if state.form["is_table"]:
        from planner.sorting.consuming.tables import TableEngine

        return TableEngine(state, folder.path, progress, memory_bytes=job.memory_bytes or 0, threads=job.threads or 0)
    from planner.sorting.consuming.text import TextEngine

    memory_bytes = sort_memory_bytes(job.memory_bytes) if job.memory_bytes else 0
    return TextEngine(state, folder.path, progress, memory_bytes=memory_bytes, threads=job.threads or 0)


def _first_state(job: SortJob, progress: Progress) -> State:
    from planner.sorting.consuming.inputs import identity_of
    from planner.sorting.consuming.work_folder import State

    inputs = tuple(str(Path(name).resolve()) for name in job.inputs)
    return State(
        asked=_stated_options(job) | {"consume_input": job.consume_input},
        inputs=inputs,
        identities=tuple(map(identity_of, inputs)),
        form=_form(replace(job, inputs=inputs), progress),
        place=(0, 0),
    )


def _stated_options(job: SortJob) -> dict[str, Any]:
    from json import dumps, loads

    asked = {name: getattr(job, name) for name in _OF_THE_DATA} | {"key": job.keys, "force": job.force}
    return dict(loads(dumps(asked)))


def _form(job: SortJob, progress: Progress) -> dict[str, Any]:
    if job.format == "parquet":
        from planner.sorting.consuming import tables

        return tables.form_of(job) | {"is_table": True, "counted": "rows"}
    from planner.sorting.consuming import text
    from planner.sorting.text.text_job import text_job

    made = text_job(job)
    return text.form_of(made, progress) | {"is_table": False, "counted": made.counted}


def _require_possible(job: SortJob, sources: Sequence[Path], output: Path) -> None:
    """Raise BadInputError for paths that are not files."""
    from planner.compression.looks import SUFFIXES

    if output.suffix in SUFFIXES:
        raise BadInputError(
            f"{output}: --consume-input writes no compressed text; leave out {output.suffix}",
            code="consuming-compressed",
        )
    if str(output) == "-" or (mode_of(output) and not stat.S_ISREG(mode_of(output))):
        raise BadInputError(
            f"{output}: --consume-input writes a file, which a sort can be resumed into; name one",
            code="consuming-no-file",
        )
    require_readable([path for path in sources if str(path) != "-"])
    for look in job.looks:
        if not look.is_plain:
            raise BadInputError(
                f"{look.name}: --consume-input takes files, whose space can be freed; this is none",
                code="consuming-no-file",
            )
    if len({path.resolve() for path in sources}) < len(sources):
        raise BadInputError(
            "--consume-input: an input is given twice, and would be gone the second time", code="repeated"
        )


def _require_space(sources: Sequence[Path], output: Path) -> None:
    """Raise BadInputError if not even two stretches fit."""
    from planner.sorting.consuming.consuming_sort import LEAST_STRETCH_BYTES, STRETCHES

    needed_bytes = 2 * max(sum(path.stat().st_size for path in sources) // STRETCHES, LEAST_STRETCH_BYTES)
    disk = os.statvfs(output.parent)
    if (free_bytes := disk.f_bavail * disk.f_frsize) < needed_bytes:
        raise BadInputError(
            f"{output.parent} has {free_bytes} bytes free, and --consume-input needs {needed_bytes} to begin with",
            code="no-space",
        )


def _require_same(state: State, job: SortJob) -> None:
    from planner.sorting.consuming.inputs import identity_of

    if job.inputs and [str(Path(name).resolve()) for name in job.inputs] != list(state.inputs):
        raise BadInputError(
            f"{job.output} is being made of other inputs: {', '.join(state.inputs)}", [], code="other-inputs"
        )
    given, usual = _stated_options(job), _stated_options(SortJob())
    if any(given[name] not in (usual[name], state.asked[name]) for name in _OF_THE_DATA):
        raise BadInputError(
            f"{job.output}: its sort was begun with other options; leave them out, or give the same",
            code="other-options",
        )
    for path, identity in zip(state.inputs, state.identities, strict=True):
        if state.merged is None and (not mode_of(Path(path)) or identity_of(path) != identity):
            raise BadInputError(
                f"{path} is not as it was when its sort was begun; put it back to resume", code="input-changed"
            )
