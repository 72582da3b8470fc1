"""Spark event logs, from Spark 2.4 to 4: `planner.spark.log.read(path)` is all that is needed, and usable alone."""

from planner.spark.application.application import Application, Cluster, Loss
from planner.spark.application.executors import CoresStep, Executor, SparkJob
from planner.spark.application.stage import QUANTILES, Stage, TaskSums
from planner.spark.log.parts import PassedOver
from planner.spark.log.reading import EventLogs, read

__all__ = [
    "QUANTILES",
    "Application",
    "Cluster",
    "CoresStep",
    "EventLogs",
    "Executor",
    "Loss",
    "PassedOver",
    "SparkJob",
    "Stage",
    "TaskSums",
    "read",
]
