"""Task times from Ray timelines and Dask performance reports: `planner.spark.task_trace.read(path)`."""

from planner.spark.task_trace.reading import read
from planner.spark.task_trace.trace import TaskTrace

__all__ = ["TaskTrace", "read"]
