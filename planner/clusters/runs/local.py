"""A whole run on this machine: measure, plan, generate, sort, validate, and compare the result with the plan."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.catalog import load_catalog
from planner.clusters.runs.report import record_count
from planner.cost_model import run_overheads
from planner.cost_model.model import CostModel, kept_in_memory, on_one_machine
from planner.cost_model.model_reader import load_model
from planner.distributed_sort.job.stopwatch import Stopwatch
from planner.errors import IoFailureError
from planner.measurement.instruments.local_catalog import write_catalog
from planner.measurement.instruments.machine import (
    LocalMachine,
    free_bytes,
    measure_machine,
    phase_seconds,
    sample_size,
)
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Candidate, Plan, Request
from planner.schemas.run_report import Check, PhaseComparison, RunReport
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.sorting.records.validate import ValidationReport

_HEADROOM_BYTES: Final = 10**9
"""Free space that a run leaves on the disk for others."""
BLOCKS_BYTES: Final = 64_000_000
"""Memory of the sort core's transfers in addition to keys and order, with a margin."""
_MEMORY_SHARE: Final = 0.8
"""Share of free memory that the sort core takes by default."""
_MEMORY_PER_DATA: Final = 1.5
"""Memory of a sort without temporary files, as a multiple of its data."""
MOST_WARMED_BYTES: Final = 10**9
"""A sort of more memory takes long enough for the first touch not to matter."""


@dataclass(frozen=True, kw_only=True)
class LocalRun:
    """The run to do: `directory` must exist; `memory_bytes` and `threads` default to the sort core's own choice."""

    data_bytes: int
    model: str
    directory: Path
    memory_bytes: int | None = None
    threads: int | None = None


Say = Callable[[str], None]
Watch = Callable[[str], Any]
"""Returns a context manager that yields a Progress, shown under the given name."""


def run_local(run: LocalRun, *, say: Say, watch: Watch) -> RunReport:
    """Do the run in its own folder below `run.directory`, which is removed at the end whatever happens.

    Raises BadInputError for half a record, InfeasibleError when the disk cannot hold the data, IoFailureError and
    InterruptedRunError from the sort core. Failed validation is reported, not raised.
    """
    record_count(run.data_bytes)
    model = load_model(run.model)
    check_space(run.directory, run.data_bytes, model, input_bytes=run.data_bytes)
    with _workspace(run.directory) as folder:
        return _run(run, model, folder, say=say, watch=watch)


def _run(run: LocalRun, model: CostModel, folder: Path, *, say: Say, watch: Watch) -> RunReport:
    stopwatch = Stopwatch()
    say(f"measuring this machine's disk in {run.directory}")
    machine = stopwatch.measure("measure", lambda: _measure(run, model, folder))
    plan = plan_for(machine, run, model, folder)
    best = require_best(plan)
    say(f"planned for the sort of {format_bytes(run.data_bytes)}: {best.time_s.both_times}")
    files = _Files.of(folder, replicated=model.output_copies > 1)
    before = stopwatch.measure("generate", lambda: _generate(run, files.source, watch))
    stopwatch.measure("warm memory", lambda: _warm_memory(run))
    sort = stopwatch.measure("sort", lambda: _sort(run, files, watch))
    checks = stopwatch.measure(
        "validate", lambda: tuple(_check_output(path, before, run, watch) for path in files.outputs)
    )
    return RunReport(
        plan=plan,
        machine=machine.to_dict(),
        steps_s=stopwatch.seconds,
        phases=_compare_phases(best, sort),
        checks=checks,
        sort=sort.to_dict(),
    )


def _measure(run: LocalRun, model: CostModel, folder: Path) -> LocalMachine:
    return measure_machine(
        folder, sample_bytes=sample_size(run.data_bytes), copies=model.output_copies, threads=run.threads
    )


def plan_for(machine: LocalMachine, run: LocalRun, model: CostModel, folder: Path) -> Plan:
    """Plan the run for this machine like any other: a catalog of one type, one node, no network, no rent.

    The rates come from the sort's own path, so they include its CPU work, which is not counted again.
    """
    catalog = write_catalog(machine, folder / "catalog", today=date.today())
    request = Request(data_bytes=run.data_bytes, model=run.model, catalogs=(str(catalog),), nodes=1, engine="local")
    overheads = replace(run_overheads.existing_machines(), memory_share=0.0)
    fitting = kept_in_memory(model) if fits_in_memory(run, machine) else model
    return recommend(request, model=on_one_machine(fitting), catalogs=[load_catalog(catalog)], overheads=overheads)


def fits_in_memory(run: LocalRun, machine: LocalMachine) -> bool:
    """Return whether the sort core needs no temporary files: data, keys and buffers fit in its allowed memory."""
    allowed_bytes = run.memory_bytes or round(machine.memory_bytes * _MEMORY_SHARE)
    return run.data_bytes * _MEMORY_PER_DATA <= allowed_bytes


@dataclass(frozen=True, kw_only=True)
class _Files:
    source: Path
    output: Path
    replica: Path | None

    @classmethod
    def of(cls, folder: Path, *, replicated: bool) -> _Files:
        return cls(
            source=folder / "input", output=folder / "output", replica=folder / "replica" if replicated else None
        )

    @property
    def outputs(self) -> list[Path]:
        return [self.output] + ([self.replica] if self.replica else [])


@contextmanager
def _workspace(directory: Path) -> Iterator[Path]:
    folder = directory / f".planner-run-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise IoFailureError(
            f"{directory}: {error.strerror}; name a directory that can be written (--dir)", code="io"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_space(directory: Path, data_bytes: int, model: CostModel, *, input_bytes: int) -> None:
    """Raise IoFailureError when the disk of `directory` cannot hold a run's scratch files, output and `input_bytes`:
    the part of its input that is not sorted in place.
    """
    needed = input_bytes + data_bytes * (1 + model.output_copies) + _HEADROOM_BYTES
    free = free_bytes(directory)
    if free < needed:
        raise IoFailureError(
            f"{directory}: {format_bytes(free)} free, {format_bytes(needed)} needed",
            ["input, output and scratch take this: name another disk with --dir, or less --data"],
            code="no-space",
        )


def _generate(run: LocalRun, source: Path, watch: Watch) -> ValidationReport:
    """Write the input and return valsort's summary of it: the output must have the same checksum."""
    from planner.sorting.records.generate import generate_file
    from planner.sorting.records.validate import validate_files

    with watch("generate") as progress:
        generate_file(source, records=record_count(run.data_bytes), threads=run.threads, progress=progress)
    with watch("checksum of the input") as progress:
        return validate_files([source], threads=run.threads, progress=progress)


def _warm_memory(run: LocalRun) -> None:
    """Touch the memory that the sort will take, as the trials did before they were counted.

    The first touch of memory costs several times as much as the work then done in it, and unpredictably more where a
    hypervisor has to find it first; memory just given back is given out next.
    """
    from planner.native import core, core_errors

    with core_errors():
        needed = core.scratch_bytes(record_count(run.data_bytes), threads=run.threads or 0) + BLOCKS_BYTES
        core.warm_memory(min(needed, run.memory_bytes or needed, MOST_WARMED_BYTES), threads=run.threads or 0)


def _sort(run: LocalRun, files: _Files, watch: Watch) -> Any:
    from planner.sorting.records.local import sort_file
    from planner.sorting.sort_job import SortJob

    with watch("sort") as progress:
        job = SortJob(memory_bytes=run.memory_bytes, threads=run.threads, force=True)
        return sort_file(files.source, files.output, job, replica=files.replica, progress=progress)


def _check_output(path: Path, before: ValidationReport, run: LocalRun, watch: Watch) -> Check:
    from planner.sorting.records.validate import validate_files

    with watch(f"validate {path.name}") as progress:
        after = validate_files([path], threads=run.threads, progress=progress)
    same = (after.records, after.checksum) == (before.records, before.checksum)
    return Check(
        path=path.name,
        records=after.records,
        checksum=after.checksum,
        sorted=after.is_sorted,
        duplicates=after.duplicates,
        passed=after.is_sorted and same,
    )


def _compare_phases(best: Candidate, sort: Any) -> tuple[PhaseComparison, ...]:
    return tuple(
        PhaseComparison(name=phase.name, predicted_s=phase.time_s, measured_s=measured_s, bottleneck=phase.bottleneck)
        for phase, measured_s in zip(best.phases, phase_seconds(sort), strict=True)
    )
