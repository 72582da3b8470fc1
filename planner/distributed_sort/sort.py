"""Sorting a dataset on a Ray cluster: sample, shuffle, reduce; work lost meanwhile is done again.

A call resumes an earlier job, or starts a new one and deletes the other's files.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort.content.content import merge_summaries
from planner.distributed_sort.dataset.copies import run_on_any, unchanged_copies
from planner.distributed_sort.dataset.dataset import Dataset, FileVersion, Layout, Partition
from planner.distributed_sort.dataset.input_versions import files_of, require_unchanged, with_versions
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.job.job import Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Progress
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import Emit
from planner.distributed_sort.node_files.node_environment import JobFiles, versions
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import Inventory
from planner.distributed_sort.phases.coordination import run_coordinators
from planner.distributed_sort.phases.preparation import prepare
from planner.distributed_sort.phases.reduce import Reduce, unfinished_partitions
from planner.distributed_sort.phases.shuffle import Shuffle
from planner.distributed_sort.publishing import (
    ManifestPlace,
    manifest_places,
    may_be_published,
    publish,
    require_unoccupied,
    without_empty_files,
)
from planner.errors import (
    BadInputError,
    InputChangedError,
    IoFailureError,
    PlannerError,
    ProviderRefusedError,
    UnfinishedError,
)
from planner.units import count_of

_MOST_DAMAGES: Final = 3
"""Most times that the intermediate files of one node are made again."""


@dataclass(frozen=True, kw_only=True)
class ClusterSortReport:
    """Report of a cluster sort: seconds of each phase, bytes moved, work lost and done again, and the output.

    `checksum` is the sum of the CRC-32 of all output records, as valsort prints it. `input_checksum` is that of the
    input; it is '' when it was not requested, or when an earlier call read a part of the input.
    """

    records: int
    data_bytes: int
    nodes: tuple[str, ...]
    lost_nodes: tuple[str, ...]
    slow_nodes: dict[str, str]
    """Nodes that were much slower than the others, and whether they were left out."""
    slices: int
    """Number of slices that the input was cut into, each for one task."""
    partitions: int
    largest_partition_bytes: int
    phases_s: dict[str, float]
    timeline: tuple[dict[str, Any], ...]
    moved_bytes: dict[str, int]
    tasks: int
    """Number of tasks that the driver ordered."""
    driver: dict[str, float]
    """Effort of the driver, by `Job.driver_effort`, followed by the same per GB of data and per node."""
    retries: int
    resumed: bool
    checksum: str
    input_checksum: str
    sorted: bool
    duplicates: int
    cpus: dict[str, float]
    """By node: the number of CPUs that it offered to tasks."""
    usage: dict[str, list[dict[str, float]]]
    """By node: its samples of `resource_sampler`; times are in seconds from the job's beginning."""


def sort_dataset(
    request: SortRequest,
    *,
    ray: Any,
    journal: Path,
    emit: Emit = lambda _: None,
    manifest: str = "",
    replaces: bool = False,
) -> tuple[Dataset, ClusterSortReport]:
    """Sort on the cluster that `ray` is connected to; return the output and a report.

    With a `manifest`, a path, the output is published there, and before that below its prefix; an earlier result is
    replaced where `replaces`. Without one, the caller has to publish it.

    `journal` is a file that lets a second call continue where an earlier one stopped. It is deleted after success, and
    after a data error, which also frees all of the job's space on the nodes. Raises BadInputError for an impossible
    dataset or sizes, or an output that exists or is being made, and UnfinishedError naming node and file when something
    is lost, full or unreadable for good.
    """
    held = Journal(journal)
    with held.hold():
        nodes = Nodes(ray, directory=request.directory, emit=emit, wait_s=request.wait_s)
        places = manifest_places(request.output, manifest, nodes)
        job, resumed = _prepare_job(request, nodes, held, emit, places=places, replaces=replaces)
        try:
            run_rounds(job)
            dataset, report = _result(job, resumed=resumed)
            if held.replaced() is None:  # else the result may be published
                require_unchanged(job.request.source, nodes)
            publish(places, dataset, journal=held, nodes=nodes, replaces=replaces, source=request.source)
        except PlannerError as error:
            if _can_continue(error):
                raise _unfinished(error) from error
            _end(job, node_tasks.clean if may_be_published(held, job.files.job, places) else node_tasks.undo)
            raise
        _end(job, node_tasks.clean)
    return dataset, report


class _WrongOutputError(IoFailureError):
    """The output does not match the input, so that none of it counts."""


def _can_continue(error: PlannerError) -> bool:
    """Return whether the same call may continue a job after an error: what is wrong with its data does not go away."""
    is_passing = isinstance(error, (IoFailureError, ProviderRefusedError))
    return is_passing and not isinstance(error, (_WrongOutputError, InputChangedError))


def _unfinished(error: PlannerError) -> PlannerError:
    """Return an error that leaves everything in place, because the same call may continue when its cause is removed."""
    kind = ProviderRefusedError if isinstance(error, ProviderRefusedError) else UnfinishedError
    stays = "what is done stays: put this right and run the same command again"
    return kind(error.message, [*error.details, stays], field=error.field, code=error.code)


def _end(job: Job, task: Callable[[JobFiles], None]) -> None:
    """Free the nodes with a task, delete all node-local files on excluded nodes, and delete the journal."""
    is_own = not (job.files.in_store or job.files.on_volume)
    job.nodes.run_on_all(task, job.files)
    job.nodes.run_on_excluded(node_tasks.undo if is_own else node_tasks.clean, job.files)
    job.journal.end()


def _prepare_job(
    request: SortRequest, nodes: Nodes, journal: Journal, emit: Emit, *, places: Sequence[ManifestPlace], replaces: bool
) -> tuple[Job, bool]:
    """Return the job, with the work of an earlier call already noted, and whether there was such a call."""
    if is_object(request.output) and request.copies > 1:
        raise BadInputError(
            f"{request.output} keeps copies of its own: ask for one, not {request.copies}", code="store-keeps-copies"
        )
    nodes.begin_services()
    free_bytes = sum(facts.free_bytes for facts in nodes.facts.values())
    emit({"event": "probed", "nodes": len(nodes.names), "cpus": sum(nodes.cpus.values()), "free_bytes": free_bytes})
    began = {"began_s": time.monotonic(), "began_at_s": time.time(), "began_cpu_s": time.process_time()}
    request = replace(request, source=with_versions(request.source, nodes))
    files, earlier = open_job(request, nodes, journal, emit, places=places)
    try:
        _require_other_name(places, files, nodes)
        if len(places) > 1 and not replaces:
            run_on_any(nodes, require_unoccupied, request.output, files.job, doing="the output's place was looked at")
        job = prepare(request, files, nodes, emit, journal=journal, earlier=earlier, began=began)
    except PlannerError:
        if earlier is None:
            nodes.run_on_all(node_tasks.clean, files)
            journal.end()
        raise
    if earlier is not None:
        _reload_inventory(job)
    job.after_losses(job.require_inputs())
    return job, earlier is not None


def _require_other_name(places: Sequence[ManifestPlace], files: JobFiles, nodes: Nodes) -> None:
    """Raise BadInputError where the manifest would have the name of the output folder on a node's disk."""
    if not places or files.in_store:
        return
    for node, folders in nodes.run_on_all(JobFiles.output_folders, files).items():
        if Path(places[-1].uri) in folders:
            raise BadInputError(
                f"OUTPUT would have the name of the partitions' folder on {node}'s disk",
                [f"name the manifest otherwise: {places[-1].uri}.json"],
                code="name-taken",
            )


def _reload_inventory(job: Job) -> None:
    """Note the files that nodes still have from an earlier call, and remove owners and copies on nodes that are
    gone.
    """
    absent = {copy.node for partition, _ in job.ledger.done.values() for copy in partition.copies}
    gone = frozenset((set(job.ledger.owner) | absent) - set(job.nodes.names) - {""})
    job.ledger.forget_nodes(gone, job.nodes.names)
    for node, inventory in job.nodes.run_on_all(node_tasks.inventory, job.files).items():
        _note_stored(job, node, inventory)


def _note_stored(job: Job, node: str, inventory: Inventory) -> None:
    layout = job.source.layout
    for number, first, end, stored in inventory.runs:
        if all(owner == node for owner in job.ledger.owner[first:end]):
            records = stored * layout.stored_size // layout.record_size
            job.ledger.record({number: records}, first=first, end=end)


_MAX_IDLE_ROUNDS: Final = 20
_LONGEST_PAUSE_S: Final = 5.0
"""Longest pause between rounds without progress, each a second longer: a process of a node may be restarting."""


def run_rounds(job: Job, *, pause: Callable[[float], None] = time.sleep) -> None:
    """Run rounds until all partitions are finished; between them, damaged intermediate files are repaired.

    Raises IoFailureError after several rounds without progress or a lost node, and the errors of a round.
    """
    idle_rounds, before = 0, _progress_marker(job)
    while not run_round(job):
        _repair_damaged_files(job)
        marker = _progress_marker(job)
        idle_rounds, before = idle_rounds + 1 if marker == before else 0, marker
        if idle_rounds == _MAX_IDLE_ROUNDS:
            numbers = ", ".join(map(str, unfinished_partitions(job)[:10]))
            raise IoFailureError(
                f"the sort got no further in {idle_rounds} tries although no node was lost",
                [f"partitions that are not finished: {numbers}", "see Ray's logs of the nodes; then run it again"],
                code="no-progress",
            )
        if idle_rounds:
            pause(min(float(idle_rounds), _LONGEST_PAUSE_S))


def _progress_marker(job: Job) -> tuple[int, int, frozenset[str]]:
    """Return a marker that changes with progress: stored data, copies of finished partitions, lost nodes."""
    copies = sum(len(partition.copies) for partition, _ in job.ledger.done.values())
    return job.ledger.stored_records, copies, job.nodes.lost


def run_round(job: Job) -> bool:
    """Do the missing work, and return whether all partitions are finished. Without coordinators, partitions that lost
    nothing are sorted and copied meanwhile, so links have copies to carry while processors group slices again.

    Raises IoFailureError when data is unavailable, or cannot be read or written.
    """
    if is_coordinated(job):
        with job.time_phase(Shuffle.name):
            while job.ledger.missing_slices():
                run_coordinators(job, Shuffle)
        with job.time_phase(Reduce.name):
            run_coordinators(job, Reduce)
            return not unfinished_partitions(job)
    tasks = job.pending_tasks()
    rest = Reduce(job, tasks)
    with job.time_phase(Shuffle.name):
        Shuffle(job, tasks).run(meanwhile=rest.begin_unaffected)
    with job.time_phase(Reduce.name):
        return rest.run()


def is_coordinated(job: Job) -> bool:
    """Return whether a job has enough nodes that its driver owns no tasks."""
    return len(job.nodes.names) > job.request.nodes_per_coordinator


def _repair_damaged_files(job: Job) -> None:
    """Note the intact intermediate files of nodes with damaged ones, so that the rest is made again. Raises
    IoFailureError where that does not help.
    """
    for node in sorted(job.damaged.keys() & set(job.nodes.names)):
        if job.damages[node] == _MOST_DAMAGES:
            raise IoFailureError(
                f"{job.damaged[node]}; made again {_MOST_DAMAGES} times",
                ["is its disk broken?"],
                code="damaged-repeatedly",
            )
        job.emit({"event": "damaged", "node": node, "reason": job.damaged[node]})
        inventory = job.nodes.wait_for(job.nodes.run(node, node_tasks.inventory, job.files), nodes=(node,))
        if inventory is not LOST:
            job.ledger.forget_records(node)
            _note_stored(job, node, inventory)
            job.damages[node] += 1
    job.damaged.clear()


def _result(job: Job, *, resumed: bool) -> tuple[Dataset, ClusterSortReport]:
    """Return the output, without empty files, and the report. Raises IoFailureError when the numbers of records in
    output and input differ.
    """
    ordered = [job.ledger.done[number] for number in range(len(job.ledger.owner))]
    partitions = tuple(partition for partition, _ in ordered)
    dataset = Dataset(partitions=partitions, layout=job.source.layout, job=job.files.job)
    _require_all(dataset, job)
    whole = merge_summaries((summary for _, summary in ordered), job.source.layout)
    _require_same_content(job, checksum=f"{whole.checksum:x}")
    dataset = without_empty_files(job.nodes, dataset)
    return dataset, ClusterSortReport(
        records=whole.records,
        data_bytes=dataset.bytes,
        nodes=tuple(sorted({*job.nodes.names, *job.nodes.lost})),
        lost_nodes=tuple(sorted(job.nodes.lost - job.nodes.excluded)),
        slow_nodes=dict(job.slow_nodes),
        slices=len(job.slices),
        partitions=len(dataset.partitions),
        largest_partition_bytes=max(partition.records for partition in dataset.partitions) * job.record_size,
        phases_s=job.phases_s(),
        timeline=tuple(job.timeline),
        moved_bytes=asdict(job.moved),
        tasks=job.nodes.tasks,
        driver=_shares(job.driver_effort(), gigabytes=dataset.bytes / 1e9, nodes=len(job.nodes.names)),
        retries=job.retries,
        resumed=resumed,
        checksum=f"{whole.checksum:x}",
        input_checksum=_input_checksum(job),
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        cpus=dict(job.nodes.cpus),
        usage=job.usage(),
    )


def _shares(effort: dict[str, float], *, gigabytes: float, nodes: int) -> dict[str, float]:
    """Return an effort, and the same per GB and per node."""
    per_gb = {f"{name}_per_gb": value / gigabytes for name, value in effort.items() if gigabytes}
    return effort | per_gb | {f"{name}_per_node": value / nodes for name, value in effort.items()}


def _require_all(dataset: Dataset, job: Job) -> None:
    """Raise IoFailureError when the number of output records does not match the input. A file's last line may have got
    an end, and one of equal lines may be kept.
    """
    source, layout = job.source, job.source.layout
    most = source.records + len(source.partitions) * layout.longest_end_records
    least = 0 if layout.is_unique else source.records
    if not least <= dataset.records <= most:
        came = count_of(dataset.records, source.layout.unit)
        raise _WrongOutputError(
            f"{came} came out of {source.records}: the input was changed meanwhile", code="wrong-count"
        )


def _require_same_content(job: Job, *, checksum: str) -> None:
    """Raise IoFailureError when the sum of the records' checksums differs from that of the input, if it is known."""
    before = _input_checksum(job)
    if before not in ("", checksum) and not job.source.layout.is_unique:
        raise _WrongOutputError(
            f"the output's checksum is {checksum}, the input's {before}: records were changed",
            ["is the memory of a node broken? sort again, without the node"],
            code="wrong-content",
        )


def _input_checksum(job: Job) -> str:
    is_known = job.request.sums_input and len(job.input_checksums) == len(job.slices)
    return f"{sum(job.input_checksums.values()):x}" if is_known else ""


_OPTIONS: Final = ("output", "copies", "uniform", "on_volume", "in_memory", "directory", "partition_bytes")
Done = dict[int, tuple[Partition, bytes]]


def open_job(
    request: SortRequest, nodes: Nodes, journal: Journal, emit: Emit, *, places: Sequence[ManifestPlace]
) -> tuple[JobFiles, Progress | None]:
    """Return the files and progress of the journal's job, if it is the same as now; else the files of a new one. All
    files of another job are deleted, unless its result was published at one of the `places`. Raises IoFailureError.
    """
    identity, earlier = _identity(request), journal.read()
    if earlier is not None:
        reason = _difference(earlier.identity, identity)
        if not reason and earlier.progress is not None:
            return earlier.files, _with_intact_output(earlier.progress, nodes, request.source.layout)
        if reason:
            emit({"event": "anew", "reason": reason})
        is_result = may_be_published(journal, earlier.files.job, places)
        nodes.run_on_all(node_tasks.clean if is_result else node_tasks.undo, earlier.files)
    files = JobFiles(
        job=request.job or secrets.token_hex(6),
        output=request.output,
        directory=request.directory,
        on_volume=request.on_volume,
        in_memory=request.in_memory,
    )
    journal.open_job(files, identity)
    return files, None


def _identity(request: SortRequest) -> dict[str, Any]:
    """Return the facts that must be the same for earlier work to count, as JSON-able values."""
    options = {name: getattr(request, name) for name in _OPTIONS}
    files = {f"{node}:{uri}": version for (node, uri), version in files_of(request.source).items() if version}
    return {
        "options": options | {"source": request.source.digest(), "versions": versions()},
        "files": {name: asdict(version) for name, version in files.items()},
    }


def _difference(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the reason why earlier work does not count, '' if it does: a file that is no longer readable has not
    changed.
    """
    if earlier["options"] != now["options"]:
        return "the request is another one"
    before, present = earlier["files"], now["files"]
    for name in before.keys() & present.keys():
        if FileVersion(**before[name]).difference(FileVersion(**present[name])):
            return f"{name.removeprefix(':')} was changed"
    return ""


def _with_intact_output(progress: Progress, nodes: Nodes, layout: Layout) -> Progress:
    """Return a job's progress, with those of its finished partitions that are there and as they were written."""
    slice_records, splitting, owner, done = progress
    numbers = sorted(done)
    there = unchanged_copies(nodes, Dataset(partitions=tuple(done[number][0] for number in numbers), layout=layout))
    intact: Done = {
        number: (replace(done[number][0], copies=partition.copies), done[number][1])
        for number, partition in zip(numbers, there.partitions, strict=True)
        if partition.copies
    }
    return slice_records, splitting, owner, intact
