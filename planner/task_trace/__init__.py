"""When tasks ran, as Ray timelines and Dask performance reports tell it: `planner.task_trace.read(path)`."""

from planner.task_trace.reading import read
from planner.task_trace.trace import TaskTrace

__all__ = ["TaskTrace", "read"]
