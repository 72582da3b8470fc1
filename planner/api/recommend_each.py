"""The same question for several sizes of data or numbers of nodes: `planner.recommend_each(["3TB", "6TB", "12TB"])`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from planner.api.recommend import Recommendation, recommend
from planner.errors import BadInputError
from planner.planning.what_if.data_curve import DataPoint, curve_json, data_points
from planner.schemas.door import checked
from planner.schemas.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

    from planner.schemas.request_arguments import RequestArguments


@dataclass(frozen=True, repr=False)
class DataSizes:
    """The answers to one question for several sizes of data, smallest first, or numbers of nodes.

    >>> import planner
    >>> sizes = planner.recommend_each(["1TB", "2TB"], instance="i4i.4xlarge", nodes=8)
    >>> [point.data_bytes for point in sizes.points]
    [1000000000000, 2000000000000]
    """

    answers: tuple[Recommendation, ...]

    def __repr__(self) -> str:
        from planner.report.terminal.what_if_tables import data_sizes_text

        return data_sizes_text(self.points)

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(index=False)
        return html

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan for each size."""
        return tuple(answer.plan for answer in self.answers)

    @property
    def points(self) -> tuple[DataPoint, ...]:
        """The recommended cluster for each size, in the form that charts and tables take."""
        return data_points(self.plans)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each size: the cluster, its times in seconds, its bill in US dollars and its bottleneck.

        Where nothing is feasible `cluster` is empty and `why_not` has the reason.
        """
        from planner.report.frames import data_sizes_frame

        return data_sizes_frame(self.points)

    def chart(self, *, dark: bool = False) -> Any:
        """Chart time and bill against the data, or of one size against the nodes, as `sizes --chart` writes it.

        The chart shows why if nothing has a cluster.
        """
        from planner.report import plots

        found = [(point, point.cluster) for point in self.points if point.cluster]
        if not found:
            return plots.reason_chart(self.points[0].why_not)
        if len({point.data_bytes for point in self.points}) == 1:
            return plots.over_nodes([(float(best.nodes), best) for _, best in found], dark=dark)
        return plots.over_data([(float(point.data_bytes), best) for point, best in found], dark=dark)

    def to_json(self) -> str:
        """Return one JSON object, whose `plans` has the plan for each size as `Plan.to_json` writes it."""
        return json.dumps(curve_json([json.loads(plan.to_json()) for plan in self.plans]), indent=2)


@checked
def recommend_each(data: Sequence[str | float], **asked: Unpack[RequestArguments]) -> DataSizes:
    """Recommend a cluster for each size of `data`; the other arguments are those of `recommend`.

    Raises BadInputError for no size, a repeated size, and arguments that `recommend` refuses.
    """
    sizes = [data] if isinstance(data, str) else data
    return sizes_of([recommend(size, **asked) for size in sizes])


def sizes_of(answers: Sequence[Recommendation]) -> DataSizes:
    """Return the answers for several sizes, smallest first, and numbers of nodes. Raises BadInputError for none, and
    for the same twice.
    """
    ordered = sorted(answers, key=lambda answer: (answer.plan.request.bytes_to_sort, answer.plan.request.nodes or 0))
    if not ordered:
        raise BadInputError("recommend_each: give at least one size, such as ['3TB', '6TB']", code="missing-argument")
    asked = [(answer.plan.request.data_bytes, answer.plan.request.nodes) for answer in ordered]
    if len(set(asked)) < len(asked):
        text = "--data names one size twice, or --nodes one number: give each once"
        raise BadInputError(text, code="repeated")
    return DataSizes(tuple(ordered))
