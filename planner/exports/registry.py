"""Platforms that a plan can be exported to, by name, and the export itself."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from planner.errors import BadInputError, nearest
from planner.exports.from_plan import order_of_application, order_of_plan
from planner.exports.platform import Export, Platform, export, read_platform
from planner.schemas.plan import Plan
from planner.spark.model.choices import SparkPlan

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


def platform_of(name: str) -> Platform:
    """Return a platform. Raises BadInputError, with the nearest name, for an unknown one."""
    if name not in PLATFORMS:
        raise BadInputError(
            f"no platform is called {name!r}: {', '.join(PLATFORMS)}.{nearest(name, PLATFORMS)}",
            code="unknown-platform",
        )
    return read_platform(name)


def export_plan(plan: Plan, to: str) -> Export:
    """Write a plan's cluster as a platform's file.

    Raises BadInputError for a plan without a cluster, for an unknown platform, and for a cloud or a machine type that
    the platform lacks.
    """
    platform = platform_of(to)
    return export(order_of_plan(plan), platform, version=version("sortplanner"))


def export_application(plan: SparkPlan, to: str, *, name: str, region: str, pricing: str) -> Export:
    """Write the cluster for a logged Spark application as a platform's file; errors as of export_plan."""
    platform = platform_of(to)
    order = order_of_application(plan, name=name, region=region, pricing=pricing)
    return export(order, platform, version=version("sortplanner"))
