"""Charts over Altair: pandas frames in, charts out, the same look everywhere. Needs the extra `plots`."""

from planner.report.plots.measured_charts import (
    across_nodes,
    agreement,
    clusters,
    core_hours,
    distributions,
    over_time,
    predicted_and_measured,
    scaling,
    stage_timeline,
    task_time,
    timeline,
)
from planner.report.plots.plan_charts import by_nodes, frontier, networks, phases, ranges, sensitivities, volumes
from planner.report.plots.slide import over_data, over_nodes, picture, slide
from planner.report.plots.theme import reason_chart

__all__ = [
    "across_nodes",
    "agreement",
    "by_nodes",
    "clusters",
    "core_hours",
    "distributions",
    "frontier",
    "networks",
    "over_data",
    "over_nodes",
    "over_time",
    "phases",
    "picture",
    "predicted_and_measured",
    "ranges",
    "reason_chart",
    "scaling",
    "sensitivities",
    "slide",
    "stage_timeline",
    "task_time",
    "timeline",
    "volumes",
]
