"""An answer for display: its clusters, bill and reasons, in a terminal, a notebook and as frames."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from planner.schemas.door import checked
from planner.schemas.plan import Candidate, FrontierPoint, Plan, Rejection
from planner.schemas.wrong_words import attribute_error

if TYPE_CHECKING:
    import pandas as pd

    from planner.report.clusters import Bill


@dataclass(frozen=True, repr=False)
class Answer:
    """A plan with all that follows from it directly; `planner.Recommendation` adds charts and further planning."""

    plan: Plan

    def __repr__(self) -> str:
        from planner.report.document import card_text

        return card_text(self.plan)

    def _repr_html_(self) -> str:
        from planner.report.document import card_html

        return card_html(self.plan)

    if not TYPE_CHECKING:  # a type checker would take any name

        def __getattr__(self, name: str) -> object:
            raise attribute_error(self, name, fields=[item.name for item in fields(Candidate)], at="best.")

    @property
    def best(self) -> Candidate | None:
        """The cluster to rent; None if nothing is feasible (`rejected` then gives the reasons)."""
        return self.plan.best

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The best size of each type, best first."""
        return self.plan.candidates

    @property
    def rejected(self) -> tuple[Rejection, ...]:
        """Every type left out, with the reason."""
        return self.plan.rejected

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """The clusters that nothing beats in both time and total cost, fastest first."""
        return self.plan.frontier

    @property
    def bill(self) -> Bill | None:
        """The items of the whole bill, in cents that add up to its total; None if nothing is feasible.

        >>> import planner
        >>> bill = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8).bill
        >>> round(sum(item.usd for item in bill), 2) == bill.total_usd
        True
        """
        from planner.report.clusters import bill_of

        return None if self.best is None else bill_of(self.best)

    @property
    def why(self) -> list[str]:
        """Sentences on the bottleneck, the evidence for the rates and what would overturn the choice, or why there is
        none.

        >>> import planner
        >>> [sentence.split(":")[0] for sentence in planner.recommend("1TB", instance="i4i.4xlarge", nodes=8).why][:2]
        ['Bottleneck', 'Confidence']
        """
        from planner.report.document import why

        return why(self.plan)

    @checked
    def compare(self, other: Answer | Plan) -> pd.DataFrame:
        """Return this answer next to another: the cluster, the seconds of the sort and of the whole run, the bill.

        The columns are `this`, `other`, `difference` and `percent`, how much more the other takes; empty if either has
        no cluster.

        >>> import planner
        >>> eight = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
        >>> eight.compare(eight.what_if(nodes=16)).loc["cluster"].tolist()[:2]
        ['8 x i4i.4xlarge', '16 x i4i.4xlarge']
        """
        from planner.report.frames import comparison_frame

        return comparison_frame(self.best, (other if isinstance(other, Plan) else other.plan).best)

    @checked
    def to_frame(self, rows: Literal["candidates", "frontier"] = "candidates", *, wide: bool = False) -> pd.DataFrame:
        """Return the candidates, one row each, best first: main figures, machine and bill, in seconds and US dollars.

        `wide` has every field. The columns are those of `--show csv`, such as `time_s.p95`. If feasible types have no
        row, the index is called `10 of 506`, and `attrs["not_shown"]` is 496; a larger `top` has more. With
        `rows="frontier"`, the rows are the clusters that nothing beats in both time and total cost. Raises
        BadInputError for other words.

        >>> import planner
        >>> planner.recommend("1TB", instance="i4i.4xlarge", nodes=8).to_frame().columns.tolist()[2:6]
        ['region', 'instance_type', 'nodes', 'time_s.expected']
        """
        from planner.report.frames import answer_frame, frontier_frame

        if rows == "frontier":
            return frontier_frame(self.plan)
        return answer_frame(self.plan, wide=wide)
