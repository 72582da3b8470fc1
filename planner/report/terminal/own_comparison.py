"""The user's own cluster compared with the best one, in minutes and dollars, with the fee of its platform."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from planner.planning.what_if.own_cluster import OwnCluster
from planner.report.cluster_names import cluster_name
from planner.report.terminal.own_answer import own_text
from planner.schemas.machine_lists import MachineList
from planner.schemas.plan import Candidate, Plan
from planner.spark.model.platform_fees import PlatformFee, shipped_fees
from planner.units import format_duration, format_usd

_PLATFORMS: Final = {"aws emr": "EMR", "gcloud dataproc": "Dataproc", "databricks": "Databricks"}
"""Platform whose fee counts, by the start of the command that printed the machines."""


@dataclass(frozen=True, kw_only=True)
class ComparedCluster:
    """The whole run on a cluster. `fee_usd` is the platform's, None if it charges one at an unknown rate; `total_usd`
    then excludes it and is `at_least` what is paid.
    """

    cluster: str
    nodes: int
    instance_type: str
    whole_run_s: float
    machines_usd: float
    fee_usd: float | None
    total_usd: float
    at_least: bool


def platform_of(listed: MachineList | None) -> str:
    """Return the platform of a list of machines; '' for one without a fee."""
    source = listed.source if listed else ""
    return next((name for start, name in _PLATFORMS.items() if source.startswith(start)), "")


def both(answer: OwnCluster) -> tuple[ComparedCluster | None, ComparedCluster | None]:
    """Return the user's own cluster and the best one, both with the platform's fee, as the best would run on it too."""
    fee = shipped_fees().get(platform_of(answer.listed))
    mine, best = answer.cluster, answer.recommended
    return (None if mine is None else _compared(mine, fee)), (None if best is None else _compared(best, fee))


def _compared(cluster: Candidate, fee: PlatformFee | None) -> ComparedCluster:
    machines_usd = cluster.cost_usd.total
    fee_usd = 0.0 if fee is None else _fee_usd(cluster, fee)
    known = not math.isnan(fee_usd)
    return ComparedCluster(
        cluster=cluster_name(cluster),
        nodes=cluster.nodes,
        instance_type=cluster.instance_type,
        whole_run_s=cluster.whole_run_s,
        machines_usd=machines_usd,
        fee_usd=fee_usd if known else None,
        total_usd=machines_usd + (fee_usd if known else 0.0),
        at_least=bool(cluster.cost_usd.at_least) or not known,
    )


def _fee_usd(cluster: Candidate, fee: PlatformFee) -> float:
    """Return a platform's fee for the whole run, NaN if a rate or a fact of the machine is unknown."""
    machine = cluster.machine
    if machine.vcpus is None or machine.memory_bytes is None:
        return math.nan
    per_node_hour = fee.usd_per_node_hour(
        vcpus=int(machine.vcpus),
        memory_bytes=machine.memory_bytes,
        on_demand_usd_per_hour=cluster.price_usd_per_hour if cluster.pricing == "on-demand" else math.nan,
    )
    return cluster.nodes * per_node_hour * max(cluster.whole_run_s, fee.minimum_s) / 3600


def comparison_json(answer: OwnCluster) -> dict[str, Any]:
    """Return both clusters, the platform whose fee counts, and the other contents of the list of machines."""
    mine, best = both(answer)
    fee = shipped_fees().get(platform_of(answer.listed))
    return {
        "mine": mine and asdict(mine),
        "best": best and asdict(best),
        "reason": answer.reason,
        "platform": fee and {"name": fee.platform, "as_of": fee.as_of, "source": fee.source, "evidence": fee.evidence},
        "read_as": answer.listed.source if answer.listed else None,
        "not_counted": list(answer.listed.unused) if answer.listed else [],
    }


def comparison_text(answer: OwnCluster, plan: Plan, *, width: int) -> str:
    """Return the answer of `planner own`, and below it the bill of both with the platform's fee."""
    mine, best = both(answer)
    lines = [own_text(answer, plan, width=width)]
    if mine is not None and best is not None and (platform := platform_of(answer.listed)):
        lines += ["", f"With {platform}'s fee:", *_bill(mine, best, platform)]
    return "\n".join(lines)


def _bill(mine: ComparedCluster, best: ComparedCluster, platform: str) -> Iterator[str]:
    yield f"  {'':<5} {'whole run':>14} {'machines':>12} {'fee':>10} {'in all':>12}"
    for name, each in (("mine", mine), ("best", best)):
        fee = "unknown" if each.fee_usd is None else format_usd(each.fee_usd)
        total = f"{'>= ' if each.at_least else ''}{format_usd(each.total_usd)}"
        time = format_duration(each.whole_run_s)
        yield f"  {name:<5} {time:>14} {format_usd(each.machines_usd):>12} {fee:>10} {total:>12}"
    fee_of = shipped_fees()[platform]
    yield f"The fee's rate is {fee_of.evidence} ({fee_of.as_of}); machines that do not work on data pay it as well."
