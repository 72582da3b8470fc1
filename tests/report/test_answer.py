"""An answer in Python: display, text, comparison and changes; an infeasible one gives the reason without raising."""

from __future__ import annotations

import doctest
import re
from functools import reduce
from importlib.metadata import version
from types import ModuleType

import pytest
import vl_convert
from approvals import Approve
from refusals import refused

import planner
import planner.api.recommend
import planner.report.answer
from planner.api.recommend import Recommendation
from planner.report.frames import answer_frame
from planner.schemas.request import Request, options

CHARTS = [name for name in dir(Recommendation) if name.startswith("plot_")]


@pytest.fixture(scope="module")
def infeasible() -> Recommendation:
    return planner.recommend("1TB", instance="i4i.4xlarge", nodes=8, deadline="1s")


@pytest.mark.parametrize(
    "module", [planner, planner.api.recommend, planner.report.answer], ids=lambda module: module.__name__
)
def test_every_example_in_a_docstring_is_true(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted >= 2 and not outcome.failed


def test_completion_shows_the_interface_and_nothing_else() -> None:
    assert dir(planner) == sorted(planner.__all__)
    assert {"plan", "recommend", "generate", "validate", "up", "down"} < set(planner.__all__)
    assert all(callable(getattr(planner, name)) for name in set(planner.__all__) - {"errors", "Confirm"})
    assert planner.__version__ == version("sortplanner")


def test_the_short_frame_has_main_figures_and_bill_and_the_wide_one_every_field(answer: Recommendation) -> None:
    short, wide = answer.to_frame(), answer.to_frame(wide=True)
    bill = [name for name in short.columns if name.startswith("bill_usd.")]
    assert short[bill].sum(axis=1).tolist() == pytest.approx(short["cost_usd.total"].tolist())
    assert not short.drop(columns=[*bill, "machine.network_bytes_per_s"]).isna().any(axis=None)
    assert short.attrs["not_shown"] == answer.plan.not_shown == wide.attrs["not_shown"]
    assert set(short.columns) < set(wide.columns)


def test_a_frame_of_some_candidates_says_of_how_many() -> None:
    answer = planner.recommend("1TB", instance="i4i.*", top=2)
    every = answer.plan.feasible
    frame, whole = answer.to_frame(), planner.recommend("1TB", instance="i4i.*", top=every).to_frame()
    assert (len(frame), frame.index.name) == (2, f"2 of {every}") and f"2 of {every}" in repr(frame)
    assert (len(whole), whole.index.name) == (every, None)


def test_a_comparison_subtracts_and_divides(answer: Recommendation) -> None:
    assert answer.best is not None
    dearer = answer.what_if(price=2, nodes=answer.best.nodes, instance=answer.best.instance_type, deadline=None)
    frame = answer.compare(dearer)
    this, other = frame.loc["total_usd", "this"], frame.loc["total_usd", "other"]
    assert this == answer.best.cost_usd.total and other == pytest.approx(2 * this)
    assert frame.loc["total_usd", "difference"] == other - this
    assert frame.loc["total_usd", "percent"] == pytest.approx(100)
    assert frame.loc["sort_s", "percent"] == pytest.approx(0)


def test_a_what_if_replaces_arguments_and_multiplies_resources(answer: Recommendation) -> None:
    request = answer.what_if(data="50TB", network=2, discount="10%", engine="ideal").plan.request
    assert (request.data_bytes, request.scale) == (50 * 10**12, {"network": 2})
    assert (request.deadline_s, request.catalogs) == (3600.0, ("aws-2014",))
    assert [price.discount for price in request.own_prices] == [0.1]
    assert answer.what_if(network="ideal").plan.request.network == "ideal"


@pytest.mark.parametrize("wrong", ["prise", "profile"])
def test_a_what_if_refuses_what_it_does_not_know(answer: Recommendation, wrong: str) -> None:
    with refused("unknown-argument", wrong):
        answer.what_if(**{wrong: 1})


def test_every_argument_is_in_the_signature() -> None:
    import inspect

    parameters = inspect.signature(planner.recommend).parameters
    fields = Request.__dataclass_fields__.keys() - {"data_bytes"}
    assert parameters.keys() == {"profile", "option", "today", *options(), *fields}
    assert parameters["deadline"].annotation == "str | float | None"


def test_what_is_not_feasible_says_why(infeasible: Recommendation, approve: Approve) -> None:
    assert infeasible.best is None and infeasible.bill is None
    approve(repr(infeasible))
    approve(infeasible._repr_html_())
    assert infeasible.why[0].startswith("nothing feasible")
    assert answer_frame(infeasible.plan, wide=False).empty
    assert infeasible.compare(infeasible).loc["total_usd"].isna().all()


def test_page_and_sensitivities_of_nothing_say_why(infeasible: Recommendation) -> None:
    page = infeasible.to_html()
    assert "Nothing does what is asked" in page and "misses the deadline of 1 s" in page
    assert infeasible.sensitivities().empty and infeasible.sensitivities().attrs["why"] == infeasible.why


def test_reasons_in_python_name_its_arguments(infeasible: Recommendation) -> None:
    assert "No cluster meets `deadline='1s'`" in infeasible.why[1] and "--deadline" not in repr(infeasible)
    assert "--deadline 1s" in infeasible.to_html()  # which is sent to others


@pytest.mark.parametrize(
    ("name", "of_answer", "of_cluster"),
    [
        ("total_cost", "Did you mean best.cost_usd.total", "Did you mean cost_usd.total"),
        ("hours", "Did you mean best.whole_run_s", "Did you mean whole_run_s"),
        ("warning", "no attribute 'warning'", "Did you mean warnings"),
        ("_ipython_display_", "no attribute '_ipython_display_'.$", "no attribute '_ipython_display_'.$"),
    ],
)
def test_a_guessed_attribute_is_answered_with_the_one_meant(
    answer: Recommendation, name: str, of_answer: str, of_cluster: str
) -> None:
    with pytest.raises(AttributeError, match=of_answer):
        getattr(answer, name)
    with pytest.raises(AttributeError, match=of_cluster):
        getattr(answer.best, name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sweep", "planner.recommend_each"),
        ("explain", "answer.why"),
        ("plot", "answer.chart"),
        ("save", "answer.plan.to_json"),
        ("to_dict", "answer.plan.to_json"),
        ("to_csv", "answer.to_frame"),
        ("alternatives", "answer.candidates"),
        ("html", "answer.to_html"),
    ],
)
def test_what_an_answer_or_the_package_is_thought_to_have_is_named(
    answer: Recommendation, name: str, meant: str
) -> None:
    with pytest.raises(AttributeError, match=meant.replace(".", r"\.")):
        getattr(answer, name)
    with pytest.raises(AttributeError, match=meant.replace(".", r"\.")):
        getattr(planner, name)
    where, *path = meant.split(".")
    assert reduce(getattr, path, planner if where == "planner" else answer)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("why_not", "planner.recommend('3TB').why_not("),
        ("export", ".export('terraform')"),
        ("explain_log", "planner explain-log --help"),
        ("read_plan", "planner.Plan.from_json"),
        ("regions", "planner catalog show"),
    ],
)
def test_what_only_the_package_is_thought_to_have_is_named(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(meant)):
        getattr(planner, name)


def test_a_misspelt_name_of_the_package_is_answered_with_those_near() -> None:
    with pytest.raises(AttributeError, match="Did you mean recommend"):
        planner.recomend  # noqa: B018


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_of_nothing_says_why(infeasible: Recommendation, name: str) -> None:
    picture = vl_convert.vegalite_to_svg(getattr(infeasible, name)().to_json())
    assert "nothing feasible" in picture
