"""`planner sort --ray`: the options that only a cluster has, and the sort of a dataset on one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from json import loads
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from typer import Option

from planner.cli.shell.console import show_json, talk
from planner.cli.sort.key_options import KeyOptions
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.distributed_sort.dataset.dataset import Dataset

_URI: Final = re.compile(r"^(s3|gs|az):/+")


@dataclass(frozen=True, kw_only=True)
class RayOptions:
    """Where the cluster is, and what it shall do with the output."""

    ray: Annotated[
        str | None,
        Option(
            help="Sort on the Ray cluster at this address: INPUT and OUTPUT are manifests of partitions. "
            "INPUT may be text, CSV or Parquet: files, directories, or s3://bucket/prefix."
        ),
    ] = None
    copies: Annotated[int, Option(min=1, max=2, help="With --ray: nodes that keep each output partition.")] = 1
    to: Annotated[
        str | None,
        Option(help="With --ray: where partitions go, s3://bucket/prefix; a folder on the nodes' disks otherwise."),
    ] = None
    uniform: Annotated[
        bool, Option("--uniform", help="With --ray: trust keys to be evenly spread, as Indy may; nothing is sampled.")
    ] = False


def sort_on_ray(
    sources: Sequence[Path],
    output: Path,
    options: RayOptions,
    keys: KeyOptions,
    *,
    lines: bool,
    memory_bytes: int | None,
    json: bool,
) -> None:
    """Sort a dataset, write its manifest, and show the report. Raises BadInputError for options that cannot be."""
    from planner.cli.shell.cluster_progress import shown_events
    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset.dataset import dataset_of, write_manifest

    if keys.merge or keys.limit:
        raise BadInputError("--merge and --limit are for one machine: leave them out, or leave out --ray")
    names = [name_of(path) for path in sources]
    source = keys.form.dataset_of(names, say=talk) if lines or keys.are_given else _manifest(sources)
    request = {"copies": options.copies, "uniform": options.uniform, "output": options.to or output.stem}
    order = {
        "do": "sort",
        "journal": str(output.with_name(f".{output.name}.journal").resolve()),
        "request": {"source": loads(source.to_json()), "memory_bytes": memory_bytes} | request,
    }
    driver = ray_session(address=options.ray or "", command=lambda *words: list(words), environment=environ)
    with shown_events() as on_event, driver as session:
        done = session.do(order, on_event)
    write_manifest(dataset_of(done["dataset"]), output)
    report = done["report"]
    if json:
        show_json(report)
    else:
        count = f"{report['records']} {source.layout.counted}"
        talk(f"{count} on {len(report['nodes'])} nodes, checksum {report['checksum']}")


def files_among(sources: Sequence[Path]) -> list[Path]:
    """Return the sources that are neither directories nor prefixes of an object store."""
    return [path for path in sources if not path.is_dir() and "://" not in name_of(path)]


def name_of(source: Path) -> str:
    """Return a path, or the URI that was taken for one and lost a slash."""
    return _URI.sub(r"\1://", str(source))


def _manifest(sources: Sequence[Path]) -> Dataset:
    from planner.distributed_sort.dataset.dataset import read_manifest

    if len(sources) > 1:
        raise BadInputError("with --ray there is one INPUT and one OUTPUT: manifests, which name many partitions")
    try:
        return read_manifest(sources[0])
    except BadInputError as error:
        raise BadInputError(f"{error.message}; to sort text, say --lines, --key or --format csv") from error
