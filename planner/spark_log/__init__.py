"""Spark event logs, from Spark 2.4 to 4: `planner.spark_log.read(path)` is all that is needed, and usable alone."""

from planner.spark_application.application import Application
from planner.spark_application.cluster import Cluster
from planner.spark_application.executors import CoresStep, Executor, Job
from planner.spark_application.loss import Loss
from planner.spark_application.stage import QUANTILES, Stage
from planner.spark_application.task_sums import TaskSums
from planner.spark_log.parts import PassedOver
from planner.spark_log.reading import EventLogs, read

__all__ = [
    "QUANTILES",
    "Application",
    "Cluster",
    "CoresStep",
    "EventLogs",
    "Executor",
    "Job",
    "Loss",
    "PassedOver",
    "Stage",
    "TaskSums",
    "read",
]
