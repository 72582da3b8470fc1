"""A whole run on rented machines, as in SoCC 2015, section 5: launch, measure, drop the slow, plan again, sort,
validate, account, and take everything down. Also finds a run again that its caller has lost.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from planner.catalog import load_catalog
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.protocol import Node, Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, up
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.order_from_plan import own_network, parse_network
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud_task import CloudRun, load_job, save_task
from planner.clusters.runs.head_job import HeadJob
from planner.clusters.runs.preparation import MEASURED
from planner.clusters.runs.rented_run import REPORT, Listening, carry_out
from planner.clusters.runs.report import record_count
from planner.clusters.runs.run import Run
from planner.cost_model.model_reader import load_model
from planner.distributed_sort.job.stopwatch import Stopwatch
from planner.errors import BadInputError, PlannerError, nearest
from planner.planning.recommendation import require_best
from planner.schemas.run_report import RunReport

_SSH_PORT: Final = 22
_QUICK_S: Final = 5.0
"""A reachable running head accepts a connection within this time."""
LEAST_VCPUS: Final = 2
LEAST_MEMORY_BYTES: Final = 4 * 2**30
"""Memory of a machine that Ray's own processes, its object store and the sort share; assumed."""


def check_runnable(model: str, *, data_bytes: int | None, input: str | None, output: str | None) -> None:
    """Raise BadInputError for a job not supported on rented machines."""
    if data_bytes is not None:
        record_count(data_bytes)
    storage = load_model(model).storage
    if storage["data"] == "object-store" and not (input and output):
        raise BadInputError(
            f"--model {model} sorts from an object store to one: give --input and --output", code="missing-companion"
        )
    if storage["data"] not in ("local", "object-store") or storage["intermediate"] != "local":
        raise BadInputError(
            f"--model {model} keeps data on {', '.join(sorted(set(storage.values())))}, not on local disks",
            [
                "rented machines sort on local disks: choose indy or daytona",
                "or choose object-store, with --input and --output in an object store",
            ],
            code="no-local-disks",
        )


def types_with_disks(cloud: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return a cloud's types that fit a pattern and have local disks, for the sort's files, and memory and processors
    enough for Ray.

    Raises BadInputError when there is none, and for a pattern that no type of the cloud fits.
    """
    instances = load_catalog(cloud).instances
    names = instances.instance_type.tolist()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInputError(
                f"--instance: unknown instance type {pattern!r} in {cloud}.{nearest(pattern, names)}",
                code="unknown-type",
            )
    with_disks = [str(name) for name in instances.instance_type[instances.local_disks >= 1]]
    fitting = [name for name in with_disks if any(fnmatchcase(name, pattern) for pattern in patterns or ("*",))]
    is_small = (instances.vcpu < LEAST_VCPUS) | (instances.memory_bytes < LEAST_MEMORY_BYTES)
    chosen = tuple(name for name in fitting if not is_small[instances.rows[name]])
    if fitting and not chosen:
        raise BadInputError(
            f"--instance {' '.join(patterns)}: {', '.join(fitting[:5])} is too small",
            [f"Ray and the sort need {LEAST_VCPUS} vCPUs and {LEAST_MEMORY_BYTES / 2**30:g} GiB of memory"],
            code="too-small",
        )
    if not chosen:
        raise BadInputError(
            f"--instance {' '.join(patterns)}: no such type of {cloud} has local disks",
            [f"the cluster sort works on local disks.{nearest(patterns[0], with_disks)}"],
            code="no-local-disks",
        )
    return chosen


def run_on_cloud(
    task: CloudRun,
    order: Order,
    places: Sequence[Place],
    directory: RunDirectory,
    session: ProviderSession,
    *,
    listening: Listening,
    is_detached: bool = False,
) -> RunReport | None:
    """Do the run and return its report, which is also written into the run's directory. `listening` is entered for the
    sort and receives its events. With `is_detached`, returns None when the sort has begun.

    Everything in the cloud is removed afterwards, whatever happens, with three exceptions: the task sets `keep`; a step
    after the sort failed, so that the machines keep the result until they expire; or the head no longer answers, so
    that the run goes on. Raises what `up` raises, IoFailureError when an indispensable machine fails, LeftBehindError.
    Failed validation is reported, not raised.
    """
    save_task(task.task, directory)
    stopwatch = Stopwatch()
    cluster = stopwatch.measure("launch", lambda: up(order, places, directory, session))
    run = Run(order=order, cluster=cluster, directory=directory, session=session, stopwatch=stopwatch, task=task)
    return carry_out(run, listening=listening, is_detached=is_detached)


def attach(
    directory: RunDirectory, session: ProviderSession, *, task: Callable[[], CloudRun], listening: Listening
) -> RunReport:
    """Follow another process's run to its end, and end it as that process would have. A run whose sort has not begun is
    prepared again, with the task that `task` returns. If the head cannot be reached, it is opened to this machine's
    current address.

    Raises BadInputError for a run without machines, and what `run_on_cloud` raises; an interrupt only leaves the run.
    """
    job = load_job(directory)
    run = reopen_run(directory, session)
    if not _answers(run.cluster.head, jump=run.order.jump):
        _open_after_move(run)
    if job is not None:
        run = replace(run, job=job, stopwatch=Stopwatch(dict(job.steps_s)))
    else:
        run = replace(run, task=task())
    report = carry_out(run, listening=listening)
    assert report is not None
    return report


def open_access(run: Run, *, ssh_from: str | None = None) -> None:
    """Restrict SSH to the head of a run to one network; by default, this machine's address.

    Raises BadInputError where this machine's address cannot be determined.
    """
    order, session, place, head = run.order, run.session, run.cluster.place, run.cluster.head
    if order.jump and ssh_from is None:
        session.say(f"nothing to open: {order.jump} reaches the head from {order.ssh_from}, wherever this machine is")
        return
    moved = replace(order, ssh_from=parse_network(ssh_from or _network_here(order, head)))
    session.provider.restrict_ssh(moved, place, run.directory)
    run.directory.note("order", **moved.to_dict())
    session.say(f"the head takes SSH from {moved.ssh_from} alone; before from {order.ssh_from}")


def _open_after_move(run: Run) -> None:
    """Open a head that does not answer, if this machine's address has changed; report a failure."""
    try:
        here = ip_network(_network_here(run.order, run.cluster.head))
        if here.overlaps(ip_network(run.order.ssh_from)):
            return
        open_access(run, ssh_from=str(here))
    except PlannerError as error:
        open_it = f"`planner cluster open {run.order.run} --ssh-from NETWORK`"
        run.session.say(
            f"the head does not answer, and is not opened to this machine: {error.message}; {open_it} does it"
        )


def _network_here(order: Order, head: Node) -> str:
    """Return this machine's address, as seen by the head of a run, as a network."""
    return f"{_address_towards(head.private_address)}/32" if order.is_private else own_network()


def _answers(head: Node, *, jump: str) -> bool:
    """Return whether the head accepts connections from here; True behind a jump machine, where only that one could test
    it.
    """
    if jump:
        return True
    try:
        with socket.create_connection((head.public_address or head.private_address, _SSH_PORT), _QUICK_S):
            return True
    except OSError:
        return False


def _address_towards(address: str) -> str:
    """Return the address from which this machine would send to another, for example its own in a VPN."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect((address, _SSH_PORT))  # sends nothing
        except OSError as error:
            raise BadInputError(
                f"no network here leads to {address} ({error.strerror}); give --ssh-from", code="no-route"
            ) from error
        return str(way.getsockname()[0])


@contextmanager
def job_of(directory: RunDirectory, session: ProviderSession) -> Iterator[HeadJob]:
    """Yield the job on the head of a run, for inspection. Raises BadInputError when it has none."""
    if load_job(directory) is None:
        name = directory.path.name
        raise BadInputError(
            f"run {name}: its sort has not begun; `planner cluster attach {name}` goes on", code="not-begun"
        )
    run = reopen_run(directory, session)
    with run.ssh() as ssh:
        yield run.head_job(ssh)


def reopen_run(directory: RunDirectory, session: ProviderSession) -> Run:
    """Return a run that another process began, with its running machines. Raises BadInputError when there is no head
    among them.
    """
    order, events = directory.order(), directory.events()
    places = [event.details for event in events if event.what == "place" and "choice" in event.details]
    is_up = places and any(event.what == "up" for event in events) and not any(event.what == "down" for event in events)
    account = Reconciliation.of(directory, provider=session.provider, policy=session.policy)
    nodes = account.settled_nodes(region=places[-1]["region"]) if is_up else ()
    running = sorted((node for node in nodes if node.state == "running"), key=lambda node: (not node.head, node.id))
    if not running or not running[0].head:
        raise BadInputError(
            f"run {order.run} has no running head, so there is nothing to attach to",
            [f"`planner cluster down {order.run}` removes what may be left", *_after_the_end(order, directory)],
            code="no-running-head",
        )
    place, choice = places[-1], ClusterOffer.from_dict(places[-1]["choice"])
    where = Place(choice=choice, region=place["region"], zone=place["zone"])
    cluster = Cluster(place=where, nodes=tuple(running))
    return Run(order=order, cluster=cluster, directory=directory, session=session, is_attached=True)


def _after_the_end(order: Order, directory: RunDirectory) -> list[str]:
    """Return lines on the fate of a run whose machines have expired; none before that."""
    if datetime.now(UTC) < order.expires_at:
        return []
    job = load_job(directory)
    output = "" if job is None else job.order["request"].get("output", "")
    stays = f"; what was written below {output} stays there, and is whole if it has a manifest" if output else ""
    return [
        f"its machines' time, by --max-hours and --max-cost, was over at {order.expires_at:%Y-%m-%d %H:%M} UTC",
        f"what lay on their disks alone is gone{stays}",
    ]


def rented_choice(directory: RunDirectory) -> ClusterOffer:
    """Return the choice that a run got, or would try first."""
    places = [event.details for event in directory.events() if event.what == "place" and "choice" in event.details]
    return ClusterOffer.from_dict(places[-1]["choice"]) if places else directory.order().choices[0]


def remember(directory: RunDirectory) -> Path:
    """Add a run's measurements to the user's own, which the next plan uses; return the file.

    Raises BadInputError or IoFailureError when they cannot be stored; then nothing is changed.
    """
    from planner.measurement.ingest.ingest import read_measurements
    from planner.stores.measurements import store

    place = [event for event in directory.events() if event.what == "place"][-1].details
    zone = {"zone": place["zone"] or place["region"]}
    near = {"placement_group": "yes" if place["placement_group"] else "no"}
    files = sorted((directory.path / MEASURED).glob("disk-*.json"))
    measurements = read_measurements(files, user_values=zone, mapping={}, files_are="instances")
    network = directory.path / MEASURED / "network.json"
    if network.exists():
        measurements += read_measurements([network], user_values=zone | near, mapping={})
    report = RunReport.from_json((directory.path / REPORT).read_text(encoding="utf-8"))
    planned = require_best(report.plan).instance_type  # the catalog's name, which may include added disks
    named = [replace(measurement, instance_type=planned) for measurement in measurements]
    return store(named, catalog=directory.order().cloud).path
