"""Platforms, and plans exported for them: the file's text, its limitations and its placeholders."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import version
from shlex import quote
from typing import Any, Final

from planner.errors import BadInputError, nearest
from planner.exports.filling import TEMPLATES, fill
from planner.exports.order import Choice, Order, order_of_application, order_of_plan
from planner.schemas.plan import Plan
from planner.spark.model.choices import SparkPlan
from planner.spark.model.platforms import SparkPlatform, platform_called
from planner.units import format_bytes, format_duration, format_usd

PLATFORMS: Final = (
    "emr",
    "emr-serverless",
    "dataproc",
    "dataproc-serverless",
    "databricks",
    "spark-operator",
    "karpenter",
    "kuberay",
    "skypilot",
    "parallelcluster",
    "slurm",
    "cluster-toolkit",
    "terraform",
)
"""The platforms by name; each has a template of that name."""

PLACEHOLDER: Final = re.compile(r"REPLACE_[A-Z_]+")
"""Placeholders for values that only the reader knows: accounts, subnets, buckets, images. The planner's files never
contain such a secret. `templates/heading.txt` explains each.
"""


_OF_EXECUTOR: Final = ("cores", "memory", "memoryOverhead")


class Feature(StrEnum):
    """A feature that a plan may rely on and a platform may lack."""

    PLACEMENT_GROUP = "one placement group"
    SPARES = "spare machines"
    SCREENING = "slow machines dropped after a measurement"
    BANDWIDTH = "EC2's bandwidth weighting"
    VOLUMES = "volumes as planned"
    LOCAL_DISKS = "local disks, mounted"
    NEXT_CHOICES = "other types where the first cannot be had"
    MACHINE_TYPE = "a machine type"
    COUNT = "the number of machines"
    END = "an end by itself"


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform that takes a file, as the comment on top of its `template` describes it. `expresses` are features.
    `runs` is the engine that sorts there: `spark`, `ray` for this project's own sort, or '' where unspecified. `record`
    is its name among the shipped platforms, and `release` the version of its software. `list_types_command` lists the
    machine types of an account. `extra_machines` names the file's machines in addition to the planned ones; with
    `one_more` they are one more of the first type, on demand. In commands, `{file}`, `{name}`, `{region}` and
    `{release}` are values to fill in.
    """

    name: str
    template: str
    file_name: str
    apply: str
    expresses: frozenset[Feature]
    clouds: frozenset[str]
    runs: str = ""
    record: str = ""
    release: str = ""
    list_types_command: str = ""
    extra_machines: str = ""
    one_more: bool = False

    @property
    def spark(self) -> SparkPlatform:
        """Its charge, and the memory that it leaves executors."""
        return platform_called(self.record)


_OTHER_NAMES: Final = {
    **dict.fromkeys(("k8s", "kubernetes", "eks", "gke", "aks"), "spark-operator"),
    **dict.fromkeys(("aws", "ec2", "cloudformation", "hcl", "tf"), "terraform"),
    "spark": "spark-operator",
    "ray": "kuberay",
    "hpc": "slurm",
}
"""Words that users try, and the platform that is meant."""


def platform_of(name: str) -> Platform:
    """Return the platform that a template describes in the TOML of the comment on its top. Raises BadInputError, with
    the nearest name, for an unknown one.
    """
    if name not in PLATFORMS:
        meant = nearest(_OTHER_NAMES.get(name, name), PLATFORMS)
        raise BadInputError(f"no platform is called {name!r}: {', '.join(PLATFORMS)}.{meant}", code="unknown-platform")
    path = next(TEMPLATES.glob(f"{name}.*"))
    facts = tomllib.loads(path.read_text(encoding="utf-8").removeprefix("{#").partition("#}")[0])
    sets = {"clouds": frozenset(facts.get("clouds", ())), "expresses": frozenset(map(Feature, facts["expresses"]))}
    return Platform(name=name, template=path.name, **{**facts, **sets})


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A feature that the plan relies on and the platform cannot express, and its cost in time."""

    what: str
    costs: str

    def __str__(self) -> str:
        return f"{self.what}: {self.costs}"


@dataclass(frozen=True, kw_only=True)
class Export:
    """A plan as a platform's file. `apply` is the command that submits it."""

    platform: str
    file_name: str
    text: str
    lost: tuple[Lost, ...]
    placeholders: tuple[str, ...]
    apply: str


def export_plan(plan: Plan, to: str) -> Export:
    """Write a plan's cluster as a platform's file.

    Raises BadInputError for a plan without a cluster, for an unknown platform, and for a cloud or a machine type that
    the platform lacks.
    """
    platform = platform_of(to)
    if supposed := plan.request.supposed:
        text = f"the plan supposes machines that no platform has: --what-if {supposed}"
        raise BadInputError(text, ["plan again without it"], code="what-if")
    return export(platform, order_of_plan(plan, platform.spark))


def export_application(plan: SparkPlan, to: str, *, name: str, region: str, pricing: str) -> Export:
    """Write the cluster for a logged Spark application as a platform's file; errors as of export_plan."""
    platform = platform_of(to)
    if plan.work.platform == f"{platform.record} with Photon":
        platform = replace(platform, record=plan.work.platform)
    return export(platform, order_of_application(plan, platform.spark, name=name, region=region, pricing=pricing))


def export(platform: Platform, order: Order) -> Export:
    """Write an order for a platform. Raises BadInputError for a cloud or a machine type that the platform lacks."""
    _require_fit(order, platform)
    if Feature.MACHINE_TYPE in platform.expresses:
        kept = (each for each in order.choices if _accepts(platform, order, each) and _holds(platform, order, each))
        order = replace(order, choices=tuple(kept))
    words = {"name": order.name, "region": quote(order.region), "release": platform.release}
    lost = tuple(_lost(order, platform))
    without_heading = fill(platform.template, order=order, platform=platform, heading="")
    placeholders = tuple(dict.fromkeys(PLACEHOLDER.findall(without_heading)))
    heading = fill(
        "heading.txt",
        order=order,
        platform=platform,
        version=version("sortplanner"),
        lost=lost,
        placeholders=placeholders,
        list_types_command=platform.list_types_command.format(**words),
        **_fee(order, platform),
    )
    return Export(
        platform=platform.name,
        file_name=platform.file_name,
        text=fill(platform.template, order=order, platform=platform, heading=heading),
        lost=lost,
        placeholders=placeholders,
        apply=platform.apply.format(file=platform.file_name, **words),
    )


def _fee(order: Order, platform: Platform) -> dict[str, Any]:
    """Return the platform's fee, if it has one, and how much the cluster pays of it."""
    fee, best = platform.spark, order.best
    if not fee.charges:
        return {}
    usd_per_node_hour = fee.usd_per_node_hour(
        vcpus=best.vcpus, memory_bytes=best.memory_bytes, on_demand_usd_per_hour=order.on_demand_usd_per_hour
    )
    return {"fee": fee, "fee_usd_per_hour": best.nodes * usd_per_node_hour}


def _require_fit(order: Order, platform: Platform) -> None:
    if platform.clouds and order.cloud not in platform.clouds:
        clouds = ", ".join(sorted(platform.clouds))
        raise BadInputError(
            f"{platform.name} is on {clouds}; the plan rents on {order.cloud}: plan with --cloud {clouds}",
            code="other-cloud",
        )
    if Feature.MACHINE_TYPE in platform.expresses and not platform.spark.accepts(
        order.best.machine_type, cloud=order.cloud
    ):
        fits = next((choice.machine_type for choice in order.choices if _accepts(platform, order, choice)), None)
        lacking = "it has none of the plan's types: plan with --instance, a type that it lists"
        instead = f"the best that it has is {fits}: plan with --instance {fits}" if fits else lacking
        raise BadInputError(
            f"{platform.name} has no {order.best.machine_type}",
            [instead, f"by {platform.spark.types_source}"],
            code="unknown-type",
        )
    if order.best.nodes < (least := platform.spark.nodes_min):
        raise BadInputError(
            f"{platform.name} takes {least} workers at least: plan with --nodes {least}",
            [f"the plan has {order.best.nodes}; by {platform.spark.nodes_source}"],
            code="too-few-nodes",
        )
    memory_bytes, least_bytes = order.best.memory_bytes, 1 << 30
    if platform.record and Feature.MACHINE_TYPE in platform.expresses and memory_bytes:
        left_bytes = platform.spark.free_mib(memory_bytes) * (1 << 20)
        if left_bytes < least_bytes:
            raise BadInputError(
                f"{order.best.machine_type} is too small for {platform.name}: plan with another --instance",
                [f"an executor or pod takes 1 GiB; {format_bytes(max(0, left_bytes))} of its memory are left"],
                code="too-small",
            )


def _accepts(platform: Platform, order: Order, choice: Choice) -> bool:
    return platform.spark.accepts(choice.machine_type, cloud=order.cloud)


def _holds(platform: Platform, order: Order, choice: Choice) -> bool:
    """Return whether machines of a choice have room for the executors that the chosen ones they replace would have."""
    if platform.runs != "spark":
        return True
    cores, *mib = (int(order.spark.get(f"spark.executor.{name}", "0m").rstrip("m")) for name in _OF_EXECUTOR)
    room = choice.vcpus // cores
    if sum(mib):
        room = min(room, int(platform.spark.free_mib(choice.memory_bytes) // sum(mib)))
    needed = int(order.spark["spark.executor.instances"]) / order.best.nodes
    return choice is order.best or room >= needed * max(1.0, round(choice.throughput, 1))


def _lost(order: Order, platform: Platform) -> Iterator[Lost]:
    best, expected, p95 = order.best, format_duration(order.expected_s), format_duration(order.p95_s)
    one_less = "if the machine fails at boot there is none"
    if best.nodes > 1:
        one_less = f"one machine less takes about {format_duration(order.expected_s / (best.nodes - 1))} longer"
    weighting, longer = order.bandwidth_weighting, format_duration(order.unweighted_s)
    other_disk = "intermediate data goes to another disk, whose rate was not planned"
    needed = {
        Feature.MACHINE_TYPE: (True, "the platform chooses machines; the plan's times are for its own"),
        Feature.COUNT: (True, "it follows what is asked of the platform later"),
        Feature.PLACEMENT_GROUP: (best.placement_group, "links may be slower; nobody measured by how much"),
        Feature.SPARES: (order.spares, one_less),
        Feature.SCREENING: (order.screened, f"with slow ones it may take {p95} and more, not {expected}"),
        Feature.BANDWIDTH: (
            weighting and order.unweighted_s >= 1,
            f"without {weighting} it takes about {longer} longer",
        ),
        Feature.VOLUMES: (best.volumes, "volumes of the platform's own kind, of which nothing was planned"),
        Feature.LOCAL_DISKS: (best.local_disks, other_disk),
        Feature.NEXT_CHOICES: (len(order.choices) > 1, "where the type cannot be had, plan again with --exclude"),
        Feature.END: (True, f"it is paid for until somebody ends it: {format_usd(order.usd_per_hour)} an hour"),
    }
    for what, (is_needed, costs) in needed.items():
        if is_needed and what not in platform.expresses:
            yield Lost(what=str(what), costs=costs)
    if platform.runs and (platform.runs == "spark") != (order.engine == "spark"):
        runs = "Spark" if platform.runs == "spark" else "this project's sort on Ray"
        costs = f"{runs} runs here, whose times were not planned; plan with --engine {platform.runs}"
        yield Lost(what=f"the engine {order.engine}", costs=costs)
