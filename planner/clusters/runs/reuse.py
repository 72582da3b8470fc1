"""Another job on existing machines: those of `planner cluster up`, or of a run that was kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from planner.catalog import load_catalog
from planner.clouds.order import ClusterOffer, added_disks
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.launch import Cluster, note_place
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud import reopen_run
from planner.clusters.runs.cloud_task import JOB, TASK, CloudRun, save_task
from planner.clusters.runs.preparation import MEASURED, require_time
from planner.clusters.runs.rented_run import LOG, MANIFEST, REPORT, SORTED, Listening, carry_out
from planner.errors import BadInputError
from planner.schemas.run_report import RunReport
from planner.units import count_text

EARLIER: Final = "earlier"
"""Folder of earlier jobs' files in the run's directory, by number."""
_OF_A_JOB: Final = (TASK, JOB, MANIFEST, SORTED, REPORT, LOG, MEASURED)


def catalog_type(cloud: str, choice: ClusterOffer) -> str:
    """Return the catalog's name of a cluster's machine type. Raises BadInputError when it has none."""
    instances = load_catalog(cloud).instances
    for name, cloud_type in zip(instances.instance_type.tolist(), instances.cloud_type.tolist(), strict=True):
        if (cloud_type, added_disks(name)) == (choice.instance_type, choice.local_disks):
            return str(name)
    raise BadInputError(
        f"the catalog {cloud} has no {choice.instance_type} with {count_text(choice.local_disks, 'disk')} added",
        code="unknown-type",
    )


def run_another_job(
    directory: RunDirectory,
    session: ProviderSession,
    *,
    task_for: Callable[[ClusterOffer, str], CloudRun],
    listening: Listening,
    is_detached: bool = False,
) -> RunReport | None:
    """Do another job on a run's machines and return its report, or None when detached; `task_for` receives the
    cluster and the region to plan for. The machines stay unless the job states otherwise.

    Raises BadInputError when they do not run, or not for long enough, and what `run_on_cloud` raises.
    """
    found = reopen_run(directory, session)
    place = _remaining_place(found.cluster, session.say)
    task = task_for(place.choice, place.choice.regions[0])
    require_time(task.task.plan, expires_at=found.order.expires_at, say=session.say, now=datetime.now(UTC))
    _archive_earlier_job(directory)
    note_place(directory, place)
    save_task(task.task, directory)
    cluster = replace(found.cluster, place=place)
    run = replace(found, cluster=cluster, task=task, is_attached=False, follows_another=True)
    return carry_out(run, listening=listening, is_detached=is_detached)


def _remaining_place(cluster: Cluster, say: Callable[[str], None]) -> Place:
    """Return the place of a cluster, reduced to its running nodes: some may have been lost since it came up."""
    place, choice = cluster.place, cluster.place.choice
    nodes = min(choice.nodes, len(cluster.nodes))
    if nodes == choice.nodes:
        return place
    say(f"{nodes} of {choice.nodes} nodes are left: the job is planned for these")
    share = nodes / choice.nodes
    bill = tuple(replace(line, usd=line.usd and line.usd * share) for line in choice.bill)
    fewer = replace(choice, nodes=nodes, spares=0, usd_per_hour=choice.usd_per_hour * share, bill=bill)
    return replace(place, choice=fewer)


def _archive_earlier_job(directory: RunDirectory) -> None:
    """Move an earlier job's files aside, so that none is mistaken for this job's."""
    left = [directory.path / name for name in _OF_A_JOB if (directory.path / name).exists()]
    if not left:
        return
    folder = directory.path / EARLIER
    number = len(list(folder.iterdir())) + 1 if folder.exists() else 1
    (folder / str(number)).mkdir(parents=True)
    for path in left:
        path.rename(folder / str(number) / path.name)
