"""One run on rented machines: what every step from their preparation to the proof of their end is about."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.clouds.order import Order
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.ssh import Ssh
from planner.clusters.runs.cloud_task import CloudRun, SortJob
from planner.clusters.runs.head_job import HeadJob
from planner.distributed_sort.job.stopwatch import Stopwatch


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run on its cluster, from its machines' preparation for the `task` to the proof of their end, or from a `job`
    that is ready. `is_attached` means that another process began it: an interrupt then only leaves it.
    `follows_another` means that the machines have done another job before.
    """

    order: Order
    cluster: Cluster
    directory: RunDirectory
    session: ProviderSession
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    task: CloudRun | None = None
    job: SortJob | None = None
    is_attached: bool = False
    follows_another: bool = False

    @property
    def wanted(self) -> CloudRun:
        """The task for which the machines are prepared."""
        assert self.task is not None, "a run is prepared for a task alone"
        return self.task

    @property
    def keeps(self) -> bool:
        """Return whether the machines stay after the job."""
        return self.job.keep if self.job else self.task is not None and self.task.task.keep

    @property
    def restart_s(self) -> float:
        """Time that a machine took until it worked."""
        return sum(self.stopwatch.seconds.get(name, 0.0) for name in ("launch", "equip", "start Ray"))

    def account(self) -> Reconciliation:
        """Return the known state of the run's resources."""
        return Reconciliation.of(self.directory, provider=self.session.provider, policy=self.session.policy)

    def ssh(self) -> Ssh:
        """Return the SSH access to the machines."""
        return Ssh(self.cluster.nodes, directory=self.directory.path, key=self.directory.key, jump=self.order.jump)

    def head_job(self, ssh: Ssh) -> HeadJob:
        """Return the job on the head, begun or not."""
        return HeadJob(ssh=ssh, policy=self.session.policy, say=self.session.say)
