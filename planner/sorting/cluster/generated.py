"""A cluster's run on generated data: made on every node, sorted, and read back copy by copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.errors import IoFailureError
from planner.native import core
from planner.sorting.cluster import tasks
from planner.sorting.cluster.crew import LOST, TASK_SHARE, Crew
from planner.sorting.cluster.dataset import Dataset, Recipe
from planner.sorting.cluster.job import Emit, SortRequest
from planner.sorting.cluster.node import JobFiles
from planner.sorting.cluster.sort import ClusterSortReport, joined, sort_dataset

INPUT: Final = "input"
OUTPUT: Final = "output"


@dataclass(frozen=True, kw_only=True)
class Found:
    """What validation found in one copy of the output. `lost` partitions have no such copy any more."""

    records: int
    checksum: str
    sorted: bool
    duplicates: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class GeneratedRun:
    """Seconds of each step, the input's checksum, what is in each copy of the output, and the sort's report."""

    steps_s: dict[str, float]
    checksum: str
    found: tuple[Found, ...]
    sort: ClusterSortReport


def run_generated(
    *,
    ray: Any,
    records: int,
    copies: int,
    journal: Path,
    emit: Emit,
    memory_bytes: int | None = None,
    skew: bool = False,
    rates: Mapping[str, float] | None = None,
    on_volume: bool = False,
    in_memory: bool = False,
) -> GeneratedRun:
    """Generate `records` records, sort them with `copies` copies, and validate every copy.

    Raises what `sort_dataset` raises, and IoFailureError when a node is lost before or after the sort.
    """
    steps_s: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        emit({"event": "step", "name": name})
        began = time.monotonic()
        outcome = step()
        steps_s[name] = time.monotonic() - began
        return outcome

    crew = timed("connect", lambda: Crew(ray))
    source = timed("generate", lambda: generate(crew, records=records, skew=skew, on_volume=on_volume))
    before = timed("checksum of the input", lambda: _validated(crew, source, copy=0))
    request = SortRequest(
        source=source,
        output=OUTPUT,
        copies=copies,
        memory_bytes=memory_bytes,
        rates=dict(rates or {}),
        on_volume=on_volume,
        in_memory=in_memory,
    )
    dataset, report = timed("sort", lambda: sort_dataset(request, ray=ray, journal=journal, emit=emit))
    crew.newly_lost(at_once=True)
    found = timed("validate", lambda: tuple(_validated(crew, dataset, copy=copy) for copy in range(copies)))
    return GeneratedRun(steps_s=steps_s, checksum=before.checksum, found=found, sort=report)


def generated(crew: Crew, *, records: int) -> tuple[Dataset, str]:
    """Have all nodes write test records; return the dataset and its checksum. Raises IoFailureError."""
    dataset = generate(crew, records=records)
    return dataset, _validated(crew, dataset, copy=0).checksum


def generate(crew: Crew, *, records: int, skew: bool = False, on_volume: bool = False) -> Dataset:
    """Have every node write an equal share of test records, in one partition. Raises IoFailureError."""
    names = crew.names
    starts = [records * turn // len(names) for turn in range(len(names) + 1)]
    files = JobFiles(job=INPUT, output=INPUT, on_volume=on_volume)
    began = [
        crew.run(
            name, tasks.generate, Recipe(start=starts[turn], skew=skew), starts[turn + 1] - starts[turn], files, turn,
            share=TASK_SHARE,
        )
        for turn, name in enumerate(names)
    ]  # fmt: skip
    return Dataset(partitions=tuple(_outcomes(crew, began, doing="data was generated")))


def _validated(crew: Crew, dataset: Dataset, *, copy: int) -> Found:
    """Read one copy of every partition where it lies; partitions without it are counted."""
    at = [(each, each.copies[copy]) for each in dataset.partitions if copy < len(each.copies)]
    names = crew.names
    began = [
        crew.run(
            where.node or names[turn % len(names)], tasks.validate, replace(each, copies=(where,)), dataset.layout,
            share=TASK_SHARE,
        )
        for turn, (each, where) in enumerate(at)
    ]  # fmt: skip
    summaries = _outcomes(crew, began, doing="output was validated")
    whole = joined(iter(summaries)) if summaries else core.validate_records(b"", **dataset.layout.core())
    return Found(
        records=whole.records,
        checksum=f"{whole.checksum:x}",
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        lost=len(dataset.partitions) - len(at),
    )


def _outcomes(crew: Crew, began: list[Any], *, doing: str) -> list[Any]:
    outcomes = [crew.outcome(reference) for reference in began]
    if any(outcome is LOST for outcome in outcomes):
        crew.newly_lost(at_once=True)
        raise IoFailureError(f"a node was lost while {doing}", [", ".join(sorted(crew.lost)) or "its name is unknown"])
    return outcomes
