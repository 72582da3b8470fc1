"""`planner cluster smoke`: test of every kind of request to a cloud, for less than a dollar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Option

from planner.api import clusters
from planner.api.rental_options import RentalOptions, check_site
from planner.api.run import effort_of, run_rented
from planner.api.run_job import Work
from planner.cli.rent import renting
from planner.cli.shell.completion import rented_clouds
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.interrupts import orderly_end
from planner.config.cloud_defaults import default_region
from planner.errors import ProviderRefusedError, ValidationFailedError
from planner.schemas.run_report import RunReport
from planner.units import format_usd

_SORTED: Final = "1GB"


def cluster_smoke(
    *,
    cloud: Annotated[str, Option(help="Where: aws, gcp, azure.", autocompletion=rented_clouds)] = "aws",
    region: Annotated[str | None, Option(help="In which region.", show_default="the catalog's first")] = None,
    instance: Annotated[str | None, Option(help="Machine type.", show_default="the cheapest with local disks")] = None,
    site: renting.Site,
    sort: Annotated[
        bool, Option("--sort", help="Then rent two again, log in, install, and sort a gigabyte on them, as `run` does.")
    ] = False,
    wheelhouse: renting.Wheelhouse = None,
    record: Annotated[Path, Option(file_okay=False, help="Folder for the transcripts.")] = Path("smoke"),
    yes: renting.Yes = False,
    json: Annotated[bool, Option("--json", help="Print as one JSON object.")] = False,
) -> None:
    """Rent two small machines for 15 minutes at most and make every kind of request that renting makes.

    A transcript, RUN.jsonl in the folder of --record, has all requests and answers, without accounts, people, keys and
    addresses, for a bug report or a test; that of --sort is RUN-sort.jsonl. Ends with exit code 4 when the cloud
    refuses something, 7 when something could not be taken down again.

    Example: planner cluster smoke --cloud aws
    """
    from planner.clusters.provisioning.order_from_plan import Limits, order_of, own_network, user_name
    from planner.clusters.provisioning.run_directory import new_run_id
    from planner.clusters.provisioning.smoke import MINUTES, MOST_USD, Smoke, small_choice
    from planner.clusters.provisioning.spending import within_month
    from planner.clusters.runs.reuse import catalog_type

    ssh_from, subnet, image = (site.get(name) for name in ("ssh_from", "subnet", "image"))
    check_site(subnet, ssh_from=ssh_from, no_public_address=site["no_public_address"])
    if region is None and (default := default_region(cloud)):
        region = default.value
        renting.print_region(region, default.source)
    now = datetime.now(UTC)
    limits = within_month(Limits(cost_usd=MOST_USD, hours=MINUTES / 60), None, now=now)
    choice = small_choice(cloud, region=region, instance=instance)
    order = order_of(
        [choice],
        run=new_run_id(now),
        cloud=cloud,
        ssh_from=ssh_from or own_network(),
        limits=limits,
        now=now,
        image=image,
        staging=True,
        subnet=subnet or "",
        is_private=site["no_public_address"],
    )
    smoke, confirm = Smoke(session=renting.session_on(cloud), steps=[]), renting.asking(yes=yes)
    named = catalog_type(cloud, choice)
    about = {"cloud": cloud, "region": choice.regions[0], "instance": named, "run": order.run}
    private = {user_name(): "person", order.owner: "person"} | ({subnet: "subnet"} if subnet else {})
    transcript = record / f"{order.run}.jsonl"
    with _recorded(transcript, about, private):
        order, places = clusters.confirm_order(order, smoke.session.provider, limits, confirm=confirm, say=talk)
        with orderly_end():
            smoke.run(order, places, month_usd=limits.month_usd)
    if sort:
        rental = RentalOptions(
            cloud=cloud,  # type: ignore[arg-type]  # checked there
            region=choice.regions,
            max_cost=MOST_USD,
            **site,
        )
        work = Work(data=_SORTED, model="indy", instance=(named,), nodes=choice.nodes, wheelhouse=wheelhouse)
        with _recorded(record / f"{order.run}-sort.jsonl", about, private):
            smoke.try_step(f"sort {_SORTED}", lambda: _sorted(work, rental, yes=yes), _sorted_text)
    if json:
        steps = [asdict(step) for step in smoke.steps]
        show_json({"steps": steps, "transcript": str(transcript), "cost_usd": smoke.usd})
    else:
        well = sum(step.ok for step in smoke.steps)
        show_text(f"{well} of {len(smoke.steps)} steps went well on {cloud}; its machines cost {format_usd(smoke.usd)}")
    if failed := [f"{step.name}: {step.text}" for step in smoke.steps if not step.ok]:
        raise ProviderRefusedError("the cloud does not answer as expected", failed, code="smoke-failed")


@contextmanager
def _recorded(path: Path, about: dict[str, Any], private: dict[str, str]) -> Iterator[None]:
    """Record all requests to the cloud while the body runs, and print where they are; none, as without credentials,
    make no file.
    """
    from planner.clouds.calls.transcript import Transcript, recorded

    transcript = Transcript(path, about=about, private=private)
    try:
        with recorded(transcript):
            yield
    finally:
        if transcript.failure:
            talk(f"warning: the transcript ends early: {transcript.failure}")
        if transcript.requests:
            talk(f"transcript: {path}, {transcript.requests} requests; look it through before you send it")


def _sorted(work: Work, rental: RentalOptions, *, yes: bool) -> RunReport:
    """Return the report of a whole run. Raises ValidationFailedError when its output is not the input, sorted."""
    confirm, effort = renting.asking(yes=yes), effort_of("2s", "256MB")
    report = run_rented(work, rental, effort=effort, confirm=confirm, listeners=renting.listeners())
    if report is None or not report.passed:
        raise ValidationFailedError("the output is not the sorted input", code="wrong-output")
    return report


def _sorted_text(report: RunReport) -> str:
    cost = "an unknown amount" if report.cost is None else format_usd(report.cost.usd)
    return f"in {sum(phase.measured_s for phase in report.phases):.0f} s, for {cost} in all"
