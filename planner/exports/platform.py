"""Platforms, and plans exported for them: the file's text, its limitations and its placeholders."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from textwrap import fill
from typing import Any, Final

from planner.config.paths import catalogs_directory
from planner.errors import BadInputError
from planner.exports.block_yaml import block_yaml
from planner.exports.order import Order
from planner.spark.model.platform_fees import shipped_fees
from planner.units import format_duration, format_usd

PLACEHOLDER: Final = re.compile(r"REPLACE_[A-Z_]+")
"""Placeholders for values that only the reader knows: accounts, subnets, buckets, images. The planner's files never
contain such a secret.
"""
_PLACEHOLDER_TEXTS: Final = {
    "REPLACE_BUCKET": "a bucket of yours that the platform may write to",
    "REPLACE_CLUSTER_NAME": "the EKS cluster, as the tag karpenter.sh/discovery of its subnets and groups has it",
    "REPLACE_IMAGE": "an image with Spark, or Ray and `sortplanner[ray,objects,arrow]`, of the version below",
    "REPLACE_KEY": "the columns to sort by, such as time:desc",
    "REPLACE_KEY_NAME": "the name of an EC2 key pair",
    "REPLACE_NODE_ROLE": "the IAM role of the nodes, by name",
    "REPLACE_OUTPUT": "an empty place in an object store, such as s3://bucket/sorted",
    "REPLACE_PROJECT_ID": "the Google Cloud project",
    "REPLACE_PYTHON_FILE": "your job's Python file, where the platform can read it",
    "REPLACE_SUBNETWORK": "a subnetwork of the region, with Private Google Access",
    "REPLACE_SUBNET_ID": "a subnet of the region, in one zone",
    "REPLACE_WHEEL_URL": "where nodes fetch this planner's wheel, which `make wheel` builds",
    "REPLACE_ZONE": "a zone of the region that has the machine type",
}
"""Value that replaces each placeholder; that of the input depends on its contents."""
_INPUT: Final = {
    "records": "a manifest of records that says where each part lies, as `planner generate` writes it",
    "others": "a manifest, or a file, directory or s3://bucket/prefix that every node reaches by this name",
}
_LINE: Final = 118

Written = Mapping[str, Any] | list[dict[str, Any]] | str
"""A document, several of them, or a script."""


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
    """A platform that takes a file. `write` returns the file's content. `runs` is the engine that sorts there: `spark`,
    `ray` for this project's own sort, or '' where unspecified. `fee` is the platform's name among the shipped fees.
    `list_types_command` lists the machine types of an account. `extra_machines` names the file's machines in addition
    to the planned ones; `{one_more}` in it is one more of the first type, on demand.
    """

    name: str
    clouds: frozenset[str]
    file_name: str
    apply: str
    runs: str
    features: frozenset[Feature]
    write: Callable[[Order], Written]
    fee: str = ""
    list_types_command: str = ""
    extra_machines: str = ""

    def accepts(self, machine_type: str) -> bool:
        """Return whether the platform documents the type, or documents no list."""
        pattern, _ = _documented_types(self.name)
        return pattern is None or pattern.fullmatch(machine_type) is not None


@cache
def _documented_types(platform: str) -> tuple[re.Pattern[str] | None, str]:
    """Return a platform's documented machine types, with source and date; None where only an account can list them."""
    tables = tomllib.loads((catalogs_directory() / "platform_types.toml").read_text(encoding="utf-8"))
    table = tables.get(platform)
    return (re.compile("|".join(table["types"])), table["source"]) if table else (None, "")


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


def export(order: Order, platform: Platform, *, version: str) -> Export:
    """Write an order for a platform. Raises BadInputError for a cloud or a machine type that the platform lacks."""
    _require_fit(order, platform)
    if Feature.MACHINE_TYPE in platform.features:
        order = replace(order, choices=tuple(each for each in order.choices if platform.accepts(each.machine_type)))
    lost = tuple(_lost(order, platform))
    written = platform.write(order)
    placeholders = tuple(dict.fromkeys(PLACEHOLDER.findall(_text(written, (), platform))))
    heading = (
        *_heading(order, platform, lost, version=version),
        *(_placeholder_text(each, order) for each in placeholders),
    )
    text = _text(written, heading, platform)
    apply = platform.apply.format(file=platform.file_name, name=order.name, region=order.region)
    return Export(
        platform=platform.name,
        file_name=platform.file_name,
        text=text,
        lost=lost,
        placeholders=placeholders,
        apply=apply,
    )


def _text(written: Written, heading: tuple[str, ...], platform: Platform) -> str:
    """Return the file with the heading as a comment at the top, in a script below the first line."""
    if platform.file_name.endswith(".json"):
        return json.dumps({"//": " ".join(heading), **written}, indent=2) + "\n"  # type: ignore[dict-item]
    head = "".join(fill(line, _LINE, initial_indent="# ", subsequent_indent="#   ") + "\n" for line in heading)
    if isinstance(written, str):
        first, rest = written.split("\n", 1)
        return f"{first}\n{head}{rest}"
    documents = [written] if isinstance(written, Mapping) else written
    return head + "---\n".join(block_yaml(document) for document in documents)


def _require_fit(order: Order, platform: Platform) -> None:
    if platform.clouds and order.cloud not in platform.clouds:
        clouds = ", ".join(sorted(platform.clouds))
        raise BadInputError(
            f"{platform.name} is on {clouds}; the plan rents on {order.cloud}: plan with --cloud {clouds}"
        )
    if Feature.MACHINE_TYPE in platform.features and not platform.accepts(order.best.machine_type):
        fits = next((choice.machine_type for choice in order.choices if platform.accepts(choice.machine_type)), None)
        lacking = "it has none of the plan's types: plan with --instance, a type that it lists"
        instead = f"the best that it has is {fits}: plan with --instance {fits}" if fits else lacking
        _, source = _documented_types(platform.name)
        raise BadInputError(f"{platform.name} has no {order.best.machine_type}", [instead, f"by {source}"])


def _lost(order: Order, platform: Platform) -> Iterator[Lost]:
    best, features = order.best, platform.features
    needed = {
        Feature.MACHINE_TYPE: (True, "the platform chooses machines; the plan's times are for its own"),
        Feature.COUNT: (True, "it follows what is asked of the platform later"),
        Feature.PLACEMENT_GROUP: (best.placement_group, "links may be slower; nobody measured by how much"),
        Feature.SPARES: (order.spares > 0, _without_spares(order)),
        Feature.SCREENING: (order.screened, _unscreened(order)),
        Feature.BANDWIDTH: (bool(order.bandwidth_weighting), _without_weighting(order)),
        Feature.VOLUMES: (best.volumes is not None, "volumes of the platform's own kind, of which nothing was planned"),
        Feature.LOCAL_DISKS: (
            best.local_disks > 0,
            "intermediate data goes to another disk, whose rate was not planned",
        ),
        Feature.NEXT_CHOICES: (len(order.choices) > 1, "where the type cannot be had, plan again with --exclude"),
        Feature.END: (True, f"it is paid for until somebody ends it: {format_usd(order.usd_per_hour)} an hour"),
    }
    for what, (is_needed, costs) in needed.items():
        if is_needed and what not in features:
            yield Lost(what=str(what), costs=costs)
    if platform.runs and (platform.runs == "spark") != (order.engine == "spark"):
        yield Lost(what=f"the engine {order.engine}", costs=_other_engine(platform))


def _other_engine(platform: Platform) -> str:
    if platform.runs == "spark":
        return "Spark runs here, whose times were not planned; plan with --engine spark"
    return "this project's sort on Ray runs here, whose times were not planned; plan with --engine ray"


def _without_spares(order: Order) -> str:
    nodes = order.best.nodes
    if nodes == 1:
        return "if the machine fails at boot there is none"
    return f"one machine less takes about {format_duration(order.expected_s / (nodes - 1))} longer"


def _unscreened(order: Order) -> str:
    return (
        f"with slow ones it may take {format_duration(order.p95_s)} and more, not {format_duration(order.expected_s)}"
    )


def _without_weighting(order: Order) -> str:
    return f"without {order.bandwidth_weighting} it takes about {format_duration(order.unweighted_s)} longer"


def _heading(order: Order, platform: Platform, lost: tuple[Lost, ...], *, version: str) -> Iterator[str]:
    cluster = f"{order.best.nodes} x {order.best.machine_type} ({order.cloud} {order.region}, {order.pricing})"
    yield f"sortplanner {version} planned {cluster} for {order.job}, engine {order.engine}."
    expected, most = format_duration(order.expected_s), format_duration(order.p95_s)
    yield f"The job takes {expected}, in 95 of 100 runs at most {most}. In all {order.cost}. {_fee(order, platform)}"
    if platform.extra_machines:
        usd = order.on_demand_usd_per_hour
        price = "" if math.isnan(usd) else f" at {format_usd(usd)} an hour"
        one_more = f"one more {order.best.machine_type}{price}"
        yield f"Not in the costs: {platform.extra_machines.format(one_more=one_more)}."
    yield from (f"Not expressed here: {each}." for each in lost)
    if platform.runs == "ray" and order.input is None:
        yield "Times and limits are of data made on the nodes: plan with --input and --output for yours."
    if platform.runs == "ray" and order.output is None and not order.to_store:
        yield "Output and manifest stay on the nodes' disks, and go with them: plan with --output to keep them."
    if platform.list_types_command:
        yield f"Whether the platform has these types: {platform.list_types_command.format(region=order.region)}"


def _placeholder_text(placeholder: str, order: Order) -> str:
    if placeholder == "REPLACE_INPUT":
        return f"{placeholder}: {_INPUT['records' if order.format in (None, 'records') else 'others']}."
    return f"{placeholder}: {_PLACEHOLDER_TEXTS[placeholder]}."


def _fee(order: Order, platform: Platform) -> str:
    """Return a sentence on what the platform charges in addition to the machines, or instead of them."""
    if not platform.fee:
        return "A platform's own fee, if it has one, is not in it."
    fee, best = shipped_fees()[platform.fee], order.best
    usd_per_hour = best.nodes * fee.usd_per_node_hour(
        vcpus=best.vcpus, memory_bytes=best.memory_bytes, on_demand_usd_per_hour=order.on_demand_usd_per_hour
    )
    place = "comes on top" if fee.on_top else "comes in place of the machines' price"
    amount = (
        "is unknown here and" if math.isnan(usd_per_hour) else f"of {format_usd(usd_per_hour)} an hour ({fee.as_of})"
    )
    return f"{platform.fee}'s fee {amount} {place}."
