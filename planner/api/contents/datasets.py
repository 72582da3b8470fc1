"""Conversion between pyarrow or Ray datasets and Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from planner.errors import BadInputError, PlannerError
from planner.extras import optional
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.folder_columns import Folders, folder_scalars, folder_values

_SCHEMES: Final = {"local": "", "s3": "s3://", "gcs": "gs://", "abfs": "az://"}
_FOOTERS_AT_ONCE: Final = 32
_WRITE_IT: Final = "write it to Parquet files, and sort these"


def is_of(value: object, package: str) -> bool:
    """Return whether a value's class, or a base class of it, is from a package, which need not be installed."""
    return any(kind.__module__.startswith(package) for kind in type(value).__mro__)


def files_of_dataset(dataset: Any) -> dict[Path, Folders]:
    """Return the files of a `pyarrow.dataset.Dataset`, each with the columns that its folders add. Raises BadInputError
    if these files differ from the dataset in rows or columns.
    """
    if not hasattr(dataset, "files"):
        raise BadInputError(
            f"a pyarrow {type(dataset).__name__} is not of files: {_WRITE_IT}", code="dataset-not-of-files"
        )
    if (form := dataset.format.default_extname) != "parquet":
        raise BadInputError(
            f"a pyarrow Dataset of {form}: name its files and their format, or {_WRITE_IT}", code="unsupported-format"
        )
    if (scheme := _SCHEMES.get(dataset.filesystem.type_name)) is None:
        raise BadInputError(
            f"a pyarrow Dataset in a file system {dataset.filesystem.type_name}: name its files",
            code="unsupported-file-system",
        )
    try:
        fragments = list(dataset.get_fragments())
    except ValueError as error:
        raise BadInputError(
            f"a pyarrow Dataset with a filter or a projection: {_WRITE_IT}, or leave it out", code="dataset-filtered"
        ) from error
    if not fragments:
        raise BadInputError("a pyarrow Dataset without files: name another", code="no-files")
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        for fragment in pool.map(_with_metadata, fragments):
            if fragment.num_row_groups != fragment.metadata.num_row_groups:
                raise BadInputError(
                    f"{fragment.path}: the pyarrow Dataset has not all of its row groups: {_WRITE_IT}",
                    code="dataset-partial",
                )
    keys = [arrow("pyarrow.dataset").get_partition_keys(fragment.partition_expression) for fragment in fragments]
    places = [scheme + fragment.path if scheme else str(Path(fragment.path).resolve()) for fragment in fragments]
    named = [folder_values(place.split("/")[:-1]) for place in places]
    folders = [{name: values[name] for name in values if name in own} for values, own in zip(named, keys, strict=True)]
    for fragment, own, text, found in zip(fragments, keys, folders, folder_scalars(folders), strict=True):
        said = {name: text[name] if _is_inferred_text(value) else value.as_py() for name, value in found.items()}
        if own != said or own.keys() != keys[0].keys():
            raise BadInputError(
                f"{fragment.path}: its folders do not say {fragment.partition_expression}, as the pyarrow Dataset does",
                ["a sort takes folders called NAME=VALUE, with integers or text; name the files or their folder"],
                code="partition-mismatch",
            )
    columns = {(field.name, field.type) for fragment in fragments for field in fragment.physical_schema}
    if {(field.name, field.type) for field in dataset.schema if field.name not in keys[0]} != columns:
        raise BadInputError(
            f"a pyarrow Dataset with another schema than its files: {_WRITE_IT}, or name the files",
            code="schema-mismatch",
        )
    return dict(zip(map(Path, places), folders, strict=True))


def _is_inferred_text(value: Any) -> bool:
    """Return whether pyarrow takes for text what a sort takes for a real number or a date."""
    types = arrow("pyarrow.types")
    return bool(types.is_floating(value.type) or types.is_date(value.type))


def _with_metadata(fragment: Any) -> Any:
    fragment.ensure_complete_metadata()
    return fragment


def arrow_dataset(files: Sequence[str]) -> Any:
    """Return Parquet files of a result, in order, as a `pyarrow.dataset.Dataset`. Raises BadInputError."""
    system, paths = _reached(files)
    return arrow("pyarrow.dataset").dataset(paths, format="parquet", filesystem=system)


def ray_dataset(files: Sequence[str]) -> Any:
    """Return Parquet files of a result as a `ray.data.Dataset` that keeps their order. Raises BadInputError."""
    system, paths = _reached(files)
    data = optional("ray.data", extra="ray", purpose="a Ray Dataset").read_parquet(
        paths, filesystem=system, partitioning=None
    )
    data.context.execution_options.preserve_order = True
    return data


def _reached(files: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a pyarrow file system and the paths in it."""
    if not files:
        raise BadInputError("the result is not of Parquet: sort with format='parquet'", code="not-parquet")
    if absent := next((file for file in files if "://" not in file and not Path(file).exists()), None):
        raise BadInputError(
            f"{absent} lies on the disk of another node",
            ["sort with to='s3://bucket/prefix', or with directory= a folder that all nodes and this machine share"],
            code="on-another-node",
        )
    return _in_file_system(files[0])[0], [file.rpartition("://")[2] for file in files]


def _in_file_system(place: str) -> tuple[Any, str]:
    from planner.distributed_sort.dataset.object_store import ACCOUNT

    scheme, _, path = place.rpartition("://")
    bucket = path.partition("/")[0]
    roots = {"": "/", "az": f"abfss://{bucket}@{os.environ.get(ACCOUNT)}.dfs.core.windows.net"}
    return arrow("pyarrow.fs").FileSystem.from_uri(roots.get(scheme, f"{scheme}://{bucket}"))[0], path


@contextmanager
def written(rows: Any, place: str) -> Iterator[str]:
    """Write a Ray Dataset to a new folder in a place that all nodes reach, and yield the folder. It is kept where the
    sort may be resumed from it, and deleted otherwise. Raises BadInputError for a place that the nodes do not share.
    """
    folder = f"{place.rstrip('/')}/planner-input-{token_hex(6)}"
    system, path = _in_file_system(folder)
    try:
        if "://" not in folder:
            _require_shared(Path(folder))
        rows.write_parquet(path, filesystem=system)
        yield folder
    except PlannerError as error:
        if isinstance(error, BadInputError):
            system.delete_dir(path)
            raise
        stays = f"the rows stay in {folder}: sort this folder in place of the Ray Dataset to go on, or delete it"
        raise error.reworded(error.message, stays) from error
    except BaseException:
        system.delete_dir(path)
        raise
    system.delete_dir(path)


def _require_shared(folder: Path) -> None:
    """Make a folder. Raises BadInputError unless all Ray nodes see it as this machine does: rows that a node wrote to
    its own disk would be missing.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    mark = folder / ".planner-mark"
    folder.mkdir(parents=True)
    mark.touch()
    look = ray.remote(num_cpus=0)(lambda: mark.exists())  # noqa: PLW0108  # Ray takes functions
    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    looks = [look.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)) for node in nodes]
    seen = ray.get([remote.remote() for remote in looks])
    if absent := [address for address, is_there in zip(nodes.values(), seen, strict=True) if not is_there]:
        raise BadInputError(
            f"staging {folder.parent}: {', '.join(absent)} has no such folder as this machine",
            ["name a folder that all nodes share, or s3://bucket/prefix"],
            code="no-such-folder",
        )
