"""`plan --why-not TYPE` and `plan --own 'N x TYPE'`: questions about machine types other than the recommended one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.shell import completion
from planner.cli.shell.console import columns, show_text

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation


@dataclass(frozen=True, kw_only=True)
class FurtherQuestions:
    """The types in question."""

    why_not: Annotated[
        list[str] | None,
        Option(
            help="Why this type is not recommended: its best cluster, and what would change that.",
            autocompletion=completion.every_type,
        ),
    ] = None
    own: Annotated[
        str | None,
        Option(
            help="How long your own machines take, and if more help: '20 x m5d.12xlarge', or a FILE from kubectl, aws,"
            " gcloud, databricks, sinfo, ray or terraform.",
            autocompletion=completion.own_machines,
        ),
    ] = None

    @property
    def given(self) -> dict[str, object]:
        """The given options and their values, by name."""
        return {"--why-not": self.why_not, "--own": self.own}

    def __bool__(self) -> bool:
        return bool(self.why_not or self.own)


def answers_json(answered: Recommendation, questions: FurtherQuestions) -> dict[str, Any]:
    """Return the answers as fields of a plan's JSON, next to the plan's own: `why_not`, a list, and `own`."""
    from planner.schemas.json_values import to_jsonable

    document: dict[str, Any] = {}
    if questions.why_not:
        document["why_not"] = [to_jsonable(answered.why_not(name)) for name in questions.why_not]
    if questions.own:
        document["own"] = to_jsonable(answered.own(questions.own))
    return document


def show_answers(answered: Recommendation, questions: FurtherQuestions) -> None:
    """Show the answers, separated by an empty line."""
    from planner.report.terminal.further_answers import own_text, why_not_text

    width = min(columns(), 100)
    texts = [why_not_text(answered.why_not(name), width=width) for name in questions.why_not or []]
    texts += [own_text(answered.own(questions.own), answered.plan, width=width)] if questions.own else []
    show_text("\n\n".join(texts))
