"""Sorts on a running Ray cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.api.contents.datasets import written
from planner.api.files import require_inputs, require_output_apart
from planner.api.input_dataset import files_dataset
from planner.api.sort_result import SortResult
from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.schemas.door import Seconds, checked
from planner.sorting.sort_job import SortJob
from planner.units import format_exact_size

if TYPE_CHECKING:
    from planner.distributed_sort.abandoning import AbandonedSort
    from planner.distributed_sort.dataset.dataset import Dataset, Partition

_LEAST_FILE_BYTES: Final = 1_000_000
_URI: Final = re.compile(r"^(s3[an]?|gs|az|abfss?|wasbs?):/+")


def sort_on_ray(
    job: SortJob,
    outputs: Sequence[Path],
    *,
    say: Callable[[str], None] | None,
    on_event: Callable[[dict[str, Any]], None] | None,
    rows: Any = None,
    staging: StrPath | None = None,
) -> SortResult:
    """Sort a dataset on a cluster and write its manifest. A Ray Dataset of `rows` is the input instead of the job's
    files, and is first written to the `staging` place.
    """
    from json import loads

    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset import dataset as datasets

    sources, is_text = list(map(Path, job.inputs)), job.is_lines or job.is_text_or_table
    output, place = manifest_and_place(outputs[0], job.to, say=say)
    require_inputs(replace(job, inputs=tuple(map(str, files_among(sources) if is_text else sources))), [output])
    job.require_sortable_on_cluster()
    place = place or output.stem
    if job.file_bytes is not None and job.file_bytes < _LEAST_FILE_BYTES:
        raise BadInputError(
            f"--file-size {format_exact_size(job.file_bytes)}: a file of the output holds 1 MB at least",
            code="out-of-range",
        )
    if output.is_symlink() and not output.exists():
        raise BadInputError(f"{output} is a link that leads nowhere: remove it, or name another", code="dangling-link")
    if "://" not in place and ".." in Path(place).parts:
        raise BadInputError(
            f"--to {place}: .. leads out of the nodes' disks; name a folder on them", code="outside-disks"
        )
    roots = [str(Path(folder).absolute()) for folder in os.fspath(job.directory or "").split(os.pathsep) if folder]
    with _names(sources, rows, staging, output=place) as names:
        if is_text:
            columns = {column for folders in job.folders for column in folders}
            source = files_dataset(job, names, say=say, fills=job.union_by_name, columns=columns)
        else:
            source = _manifest(sources)
        _require_output_apart(source, names, output, place=place, roots=roots)
        if is_text and source.layout.table is None and say and _has_columns_of_folders(source, names):
            say("note: folders name columns, as year=2026 does; text is sorted without them, and Parquet gets them")
        request = {"source": loads(source.to_json()), "memory_bytes": job.memory_bytes, "copies": job.copies}
        request |= {"uniform": job.uniform, "output": place, "sums_input": True, "partition_bytes": job.file_bytes}
        request |= {"directory": os.pathsep.join(roots), "wait_s": job.wait_s}
        journal = str(_journal_of(output))
        driver = ray_session(address=job.ray or "", command=lambda *words: list(words), environment=os.environ)
        with driver as session:
            order: dict[str, Any] = {"do": "sort", "journal": journal, "request": request}
            order |= {"manifest": str(output.absolute()), "replaces": job.force}
            done = session.do(order, on_event or (lambda _: None))
    report, counted = done["report"], source.layout.counted_unit
    parts = datasets.dataset_of(done["dataset"]).partitions if source.layout.table else ()
    tables = tuple(map(_reached_here, parts))
    return SortResult(counted=counted, count=report["records"], seconds=None, report=report, tables=tables)


@contextmanager
def _names(sources: Sequence[Path], rows: Any, staging: StrPath | None, *, output: str) -> Iterator[list[str]]:
    """Yield the names of the input's files and folders. Rows of a Ray Dataset are first written to a folder."""
    if rows is None:
        if staging is not None:
            raise BadInputError(
                f"staging={staging!r} is where a Ray Dataset is written; leave it out", code="not-applicable"
            )
        yield [name_of(path) for path in sources]
        return
    if staging is None:
        raise BadInputError(
            "a Ray Dataset is written to Parquet files before it is sorted: say where all nodes reach them",
            ["staging='s3://bucket/prefix', or a folder that all nodes share"],
            code="missing-argument",
        )
    place = name_of(staging)
    if f"{place}/".startswith(f"{output.rstrip('/')}/"):
        raise BadInputError(
            f"staging {place} is where the output goes, {output}: name another place", code="same-place"
        )
    with written(rows, place if "://" in place else str(Path(place).resolve())) as folder:
        yield [folder]


@checked
def abandon_sort(
    output: StrPath,
    *,
    ray: str,
    wait_s: Seconds = 3600.0,
    force: bool = False,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> AbandonedSort:
    """Free what a killed sort to `output` left on the nodes of the Ray cluster at the address `ray`, and in the store:
    its intermediate files, its partitions, its unfinished uploads, its journal. Nothing else is touched.

    A result that was published stays. Busy CPUs are waited for as in a sort. Raises BadInputError without such a sort,
    or while it runs; UnfinishedError where a node of it is absent, unless `force` forgets that node's files;
    IoFailureError.
    """
    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.abandoning import AbandonedSort, earlier_job

    manifest, _ = manifest_and_place(Path(output), None, say=None)
    journal = _journal_of(manifest)
    order: dict[str, Any] = {"do": "abandon", "journal": str(journal), "manifest": str(manifest.absolute())}
    order |= {"wait_s": wait_s, "forgets_absent": force}
    order |= {"request": {"output": earlier_job(journal).files.output}}  # nodes may lack the store's library
    with ray_session(address=ray, command=lambda *words: list(words), environment=os.environ) as session:
        done = session.do(order, on_event or (lambda _: None))
    lists = {name: tuple(done[name]) for name in ("nodes", "absent_nodes")}
    return AbandonedSort(**done | lists)


def _journal_of(manifest: Path) -> Path:
    return manifest.with_name(f".{manifest.name}.journal").resolve()


def _reached_here(partition: Partition) -> str:
    uris = [copy.uri for copy in partition.copies]
    return next((uri for uri in uris if "://" in uri or Path(uri).exists()), uris[0])


def manifest_and_place(output: Path, to: str | None, *, say: Callable[[str], None] | None) -> tuple[Path, str | None]:
    """Return the file of the manifest, and the place of the partitions. An object store output is that place, and names
    the manifest, which goes to the working directory. Raises BadInputError where `to` conflicts.
    """
    place = name_of(output)
    if "://" not in place:
        return output, to and name_of(to)
    if to is not None and name_of(to).rstrip("/") != place.rstrip("/"):
        raise BadInputError(f"OUTPUT {place} and --to {to}: say once where the output goes", code="contradiction")
    manifest = Path(f"{output.name}.json")
    if say:
        say(f"the manifest of {place} is {manifest}, here")
    return manifest, place


def _require_output_apart(
    source: Dataset, names: Sequence[str], output: Path, *, place: str, roots: Sequence[str]
) -> None:
    """Raise BadInputError if the manifest, or a partition of this or an earlier result, is among the input's files.
    Partitions that an input's manifest names may be, as they are kept.
    """
    from planner.distributed_sort.dataset.dataset import read_manifest
    from planner.distributed_sort.dataset.input_files import is_manifest

    place = place.rstrip("/")
    folders = [place] if "://" in place else [str(Path(root, place).resolve()) for root in roots]
    earlier = set[str]()
    with suppress(BadInputError):  # no manifest, which --force may replace
        earlier.update(_uris_of(read_manifest(output)))
    inputs = [name for name in names if is_manifest(name)]
    below = _prefixes(names)
    inputs += [uri for uri in _uris_of(source) if uri.startswith(below)]
    require_output_apart(inputs, [output], folders=folders, earlier=earlier)


def _uris_of(dataset: Dataset) -> list[str]:
    return [uri for part in dataset.partitions for copy in part.copies for uri in copy.files]


def _prefixes(names: Sequence[str]) -> tuple[str, ...]:
    """Return the beginnings of the addresses of files in the named folders and prefixes, and of named files."""
    return tuple(name if "://" in name else str(Path(name).resolve()) for name in names)


def _has_columns_of_folders(source: Dataset, names: Sequence[str]) -> bool:
    """Return whether folders of the input, below the named ones, have Hive's names for folders of a column."""
    from planner.sorting.tables.folder_columns import folder_values

    below = _prefixes(names)
    return any(
        folder_values(uri.removeprefix(prefix).split("/")[:-1])
        for uri in _uris_of(source)
        for prefix in below
        if uri.startswith(prefix)
    )


def _manifest(sources: Sequence[Path]) -> Dataset:
    from planner.distributed_sort.dataset.dataset import read_manifest

    if len(sources) > 1:
        raise BadInputError(
            "with --ray there is one INPUT and one OUTPUT: manifests, which name many partitions",
            code="needs-manifests",
        )
    try:
        return read_manifest(sources[0])
    except BadInputError as error:
        raise error.reworded(f"{error.message}; to sort text, say --lines, --key or --format csv") from error


def files_among(sources: Sequence[Path]) -> list[Path]:
    """Return the sources that are neither directories nor prefixes of an object store."""
    return [path for path in sources if not path.is_dir() and "://" not in name_of(path)]


def name_of(source: StrPath) -> str:
    """Return a path as this program writes it, or an object store address if the path is one that has lost a slash.
    Raises BadInputError as `planner_uri` and `require_plain_name` do.
    """
    address = _URI.sub(r"\1://", str(source))
    if "://" not in address:
        return address
    from planner.distributed_sort.dataset.object_store import planner_uri, require_plain_name

    require_plain_name(address)
    return planner_uri(address)
