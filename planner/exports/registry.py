"""Platforms that a plan can be exported to, by name, and the export itself."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Final

from planner.errors import BadInputError, nearest
from planner.exports.from_plan import order_of_application, order_of_plan
from planner.exports.platform import Export, Platform, export
from planner.schemas.plan import Plan
from planner.spark.model.choices import SparkPlan

PLATFORMS: Final[Mapping[str, str]] = {
    "emr": "Amazon EMR on EC2: an instance fleet",
    "emr-serverless": "EMR Serverless: an application",
    "dataproc": "Dataproc on Compute Engine: a cluster",
    "dataproc-serverless": "Serverless for Apache Spark on Google Cloud: a batch",
    "databricks": "Databricks: a job and its cluster, as an asset bundle",
    "spark-operator": "the Spark operator on Kubernetes: a SparkApplication",
    "karpenter": "Karpenter on EKS: a NodePool and an EC2NodeClass",
    "kuberay": "KubeRay on Kubernetes: a RayJob that sorts",
    "skypilot": "SkyPilot: a task that sorts",
    "parallelcluster": "AWS ParallelCluster: Slurm queues",
    "slurm": "Slurm: a batch script that sorts",
    "cluster-toolkit": "Google's Cluster Toolkit: a blueprint with Slurm",
    "terraform": "Terraform or OpenTofu: machines and network",
}
"""Each platform's name and a description of its file; its module in `planner.exports.platforms` has underscores."""


def platform_of(name: str) -> Platform:
    """Return a platform. Raises BadInputError, with the nearest name, for an unknown one."""
    if name not in PLATFORMS:
        raise BadInputError(f"no platform is called {name!r}: {', '.join(PLATFORMS)}.{nearest(name, tuple(PLATFORMS))}")
    platform: Platform = import_module(f"planner.exports.platforms.{name.replace('-', '_')}").PLATFORM
    return platform


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
