"""The output of a run on its machines' disks: fetching it, or having it sent to a store."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from planner.catalog import load_catalog
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.ssh import Ssh
from planner.clusters.runs.cloud import reopen_run
from planner.clusters.runs.cloud_task import load_job
from planner.clusters.runs.rented_run import MANIFEST, SORTED, Listening, output_on_machines, run_another_order
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, write_manifest
from planner.distributed_sort.node_files.node_environment import part_name
from planner.errors import BadInputError, IoFailureError

_AT_ONCE: Final = 4
"""Files copied at the same time, all through the head."""


def fetch_output(directory: RunDirectory, session: ProviderSession, *, folder: Path) -> Path:
    """Copy the sorted output of a run from its machines into a folder and return its manifest there. A second call
    resumes an interrupted first one.

    Raises BadInputError where no output lies on machines, IoFailureError for a partition without a readable copy.
    """
    dataset, run = _output(directory), reopen_run(directory, session)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"{folder}: {error.strerror}; name a folder that can be written", code="io") from error
    suffix = content_of(dataset.layout).suffix
    paths = [folder / f"{part_name(n, dataset.job)}{suffix}" for n in range(len(dataset.partitions))]
    missing = [path for path in paths if not path.exists()]
    try:
        with run.ssh() as ssh, ThreadPoolExecutor(_AT_ONCE) as pool:
            ssh.keep_connection()
            list(pool.map(lambda partition, path: _fetch(ssh, partition, path), dataset.partitions, paths))
    finally:
        _note_egress(directory, run.order.cloud, sum(path.stat().st_size for path in missing if path.exists()))
    here = [
        replace(partition, copies=(Copy(uri=str(path.resolve())),))
        for partition, path in zip(dataset.partitions, paths, strict=True)
    ]
    write_manifest(replace(dataset, partitions=tuple(here)), folder / MANIFEST)
    directory.note("saved", to=str(folder.resolve()))
    return folder / MANIFEST


def _note_egress(directory: RunDirectory, cloud: str, moved_bytes: int) -> None:
    """Record what the cloud charges for data that left it, at its list price; None where that is unknown."""
    if moved_bytes:
        usd = float(load_catalog(cloud).transfer_price("internet").usd(np.array(moved_bytes / 2**30)))
        directory.note("egress", bytes=moved_bytes, usd=None if np.isnan(usd) else usd)


def _fetch(ssh: Ssh, partition: Partition, path: Path) -> None:
    """Copy one partition from its first readable copy."""
    failures: list[str] = []
    for copy in partition.copies:
        if path.exists():
            return
        try:
            ssh.get(copy.node, copy.uri, to=path)
        except (IoFailureError, OSError) as error:
            failures.append(str(error))
    if not path.exists():
        raise IoFailureError(f"{path.name}: no copy of this partition can be read", failures, code="no-copy")


def send_output(directory: RunDirectory, session: ProviderSession, *, to: str, listening: Listening) -> str:
    """Have a run's machines send its sorted output to an object store and return the manifest's URI there.

    Raises BadInputError where no output lies on machines or they reach no store, and the errors that the driver
    reports.
    """
    _output(directory)
    run, job = reopen_run(directory, session), load_job(directory)
    if job is None or not run.order.staging:
        raise BadInputError(
            f"run {directory.path.name}: its machines were rented without a way to an object store",
            ["name a folder here instead; --staging, or --output, gives the next run's machines a way"],
            code="no-store-access",
        )
    sorted_event = json.loads((directory.path / SORTED).read_text("utf-8"))
    request = {"do": "finish", "request": {**job.order["request"], "output": to}, "sorted": sorted_event}
    with run.ssh() as ssh:
        manifest = run_another_order(run, job, request, ssh, listening)["manifest"]
    if not manifest.startswith(f"{to.rstrip('/')}/"):
        raise BadInputError(
            f"run {directory.path.name}: its job goes on; `planner cluster attach` follows it to its end",
            code="still-running",
        )
    directory.note("saved", to=to)
    return str(manifest)


def _output(directory: RunDirectory) -> Dataset:
    output = output_on_machines(directory)
    if output is None:
        raise BadInputError(f"run {directory.path.name}: no sorted output lies on its machines", code="no-output")
    return output
