"""A cluster's whole run: the input brought or made, sorted, read back copy by copy, and taken where it shall lie."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from planner.distributed_sort import object_store, staging
from planner.distributed_sort.dataset import Dataset, Partition
from planner.distributed_sort.generate import generate
from planner.distributed_sort.job import Emit, SortRequest
from planner.distributed_sort.nodes import Crew
from planner.distributed_sort.sort import ClusterSortReport, sort_dataset
from planner.distributed_sort.validate import Found, validated

OUTPUT: Final = "output"
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What staging moved: bytes, and the requests to the object store that it took."""

    bytes: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class WholeRun:
    """Seconds of each step, the input's checksum, what is in each copy of the output, and the sort's report.

    `staged` has what `stage in` and `stage out` moved. `dataset` is the output's manifest, and `manifest` where it lies
    in the object store: '' when the output stayed on the nodes.
    """

    steps_s: dict[str, float]
    checksum: str
    found: tuple[Found, ...]
    sort: ClusterSortReport
    staged: dict[str, Moved]
    dataset: dict[str, Any]
    manifest: str


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to run. The input is `source`, in an object store, or `records` test records where there is none. `output`
    is a prefix in an object store: '' leaves the output on the nodes. `in_place` sorts straight from the store and to
    it; otherwise data is staged in before the sort and out after it.

    `rates`, `on_volume`, `in_memory` and `memory_bytes` are those of a SortRequest.
    """

    records: int
    copies: int
    source: Dataset | None = None
    output: str = ""
    in_place: bool = False
    memory_bytes: int | None = None
    skew: bool = False
    rates: Mapping[str, float] = field(default_factory=dict)
    on_volume: bool = False
    in_memory: bool = False


@dataclass(kw_only=True)
class _Steps:
    emit: Emit
    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, name: str, step: Callable[[], Outcome]) -> Outcome:
        self.emit({"event": "step", "name": name})
        began = time.monotonic()
        outcome = step()
        self.seconds[name] = time.monotonic() - began
        return outcome


def run_whole(wanted: Wanted, *, ray: Any, journal: Path, emit: Emit) -> WholeRun:
    """Do the run. Output that fails validation is not taken to the store.

    Raises what `sort_dataset` raises, and IoFailureError when a node is lost before or after the sort.
    """
    steps = _Steps(emit=emit)
    crew = steps.timed("connect", lambda: Crew(ray))
    if wanted.output:
        crew.outcomes(
            [crew.run(crew.names[0], object_store.require_writable, wanted.output)], doing="the store was tried"
        )
    source, checksum, staged = _input(wanted, crew, steps)
    request = SortRequest(
        source=source,
        output=wanted.output if wanted.in_place and wanted.output else OUTPUT,
        copies=wanted.copies,
        memory_bytes=wanted.memory_bytes,
        rates=dict(wanted.rates),
        on_volume=wanted.on_volume,
        in_memory=wanted.in_memory,
        sums_input=not checksum,
    )
    dataset, report = steps.timed("sort", lambda: sort_dataset(request, ray=ray, journal=journal, emit=emit))
    crew.newly_lost(at_once=True)
    copies = range(wanted.copies)
    found = steps.timed("validate", lambda: tuple(validated(crew, dataset, copy=copy) for copy in copies))
    checksum = checksum or report.input_checksum
    whole = source.records, checksum, True
    manifest = ""
    if wanted.output and all((each.records, each.checksum, each.sorted) == whole for each in found):
        if not wanted.in_place:
            before = dataset
            dataset, requests = steps.timed("stage out", lambda: staging.stage_out(crew, before, wanted.output))
            staged["stage out"] = Moved(bytes=dataset.bytes, requests=requests)
        manifest = staging.publish(crew, dataset, wanted.output)
    return WholeRun(
        steps_s=steps.seconds,
        checksum=checksum,
        found=found,
        sort=report,
        staged=staged,
        dataset=json.loads(dataset.to_json()),
        manifest=manifest,
    )


def _input(wanted: Wanted, crew: Crew, steps: _Steps) -> tuple[Dataset, str, dict[str, Moved]]:
    """Return the dataset to sort, its checksum, '' where the sort is to find it out, and what staging moved."""
    source = wanted.source
    if source is not None and wanted.in_place:
        return source, "", {}
    if source is not None:
        there, requests = steps.timed("stage in", lambda: staging.stage_in(crew, source))
        return there, _total(there.partitions), {"stage in": Moved(bytes=there.bytes, requests=requests)}
    made = steps.timed(
        "generate", lambda: generate(crew, records=wanted.records, skew=wanted.skew, on_volume=wanted.on_volume)
    )
    return made, steps.timed("checksum of the input", lambda: validated(crew, made)).checksum, {}


def _total(partitions: tuple[Partition, ...]) -> str:
    return f"{sum(int(each.checksum, 16) for each in partitions):x}"
