"""The page's JavaScript gives what Python gives: in a real browser, for settings drawn at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.model import JobVolumes
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.candidates.candidates import candidate
from planner.planning.request.region import Region
from planner.report.page.plan_page import SCRIPTS
from planner.report.page.rendering import inline
from tests.marks import QUICK_SOAK

TOLERANCE: Final = 1e-3
QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "ray": {"data": "100TB", "instance": "i4i.*,i7i*,i8g*,i3en.*"},
    "two clouds": {"data": "10TB", "cloud": "aws,gcp", "model": "indy", "instance": "i4i.*,z3-*,n2-*"},
    "curves": {"data": "100TB", "model": "indy", "catalog": "aws-2014", "engine": "ideal"},
    "paper": {"data": "10TB", "catalog": "aws-2014", "engine": "ideal", "paper": True},
    "staged": {"data": "10TB", "instance": "i4i.*,i8g.*", "input": "s3://a/b", "output": "s3://a/c", "zones": 2},
    "copies": {"data": "1TB", "instance": "i8g.8xlarge", "model": "daytona", "zones": 2},
    "drawn": {"data": "10TB", "instance": "i3.*,r6gd.*", "model": "minutesort", "network_distribution": "A"},
    "buckets": {"data": "1TB", "model": "indy", "catalog": "aws", "instance": "c5*,m5*,i3*"},
    "ratios": {
        "data": "10TB",
        "instance": "i4i.*",
        "model": "indy",
        "map_ratio": 0.5,
        "reduce_ratio": 0.1,
        "head_room": 0.2,
    },
}
EXACT: Final = """([given, settings]) => settings.map(([grid, row, nodes, asked]) => {
  const formulas = prepared(given), of = formulas.grids[grid], made = cluster(formulas, of, of.rows[row], nodes, asked);
  return [made.expected, made.p95, made.total, made.totalP95, made.spares, fewestNodes(of, of.rows[row], asked.data)];
})"""
CHOOSE: Final = """([formulas, asked]) => choose(prepared(formulas), asked).slice(0, 1).map(
  (made) => ({ type: made.row.type, nodes: made.nodes, time_s: made.expected, usd: made.total }))"""


@pytest.fixture(scope="module")
def scripts(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    for name in SCRIPTS[:-1]:
        page.add_script_tag(content=inline(name))
    yield page
    page.close()


@pytest.fixture(scope="module")
def formulas() -> dict[str, Any]:
    return planner.recommend(**QUESTIONS["ray"]).formulas()


class Drawn:
    """Settings drawn at random, and what Python gives for each."""

    def __init__(self, question: str, count: int) -> None:
        self.answer = planner.recommend(**QUESTIONS[question])
        self.formulas = self.answer.formulas()
        self.grids = self._grids()
        draw = random.Random(f"{question} {count}")
        self.settings = [self._setting(draw) for _ in range(count)]
        self.wanted = [self._wanted(*setting) for setting in self.settings]

    def _grids(self) -> list[CandidateGrid]:
        request, given = inputs_of(self.answer.plan.request)
        free = replace(request, nodes=None, deadline_s=None, sort_deadline_s=None, budget_usd=None)
        grids = {}
        for model in given.models:
            for catalog in given.catalogs:
                region = Region.of(free, catalog, catalog.default_region)
                grid = build_grid(free, model=model, region=region, overheads=given.overheads)[0]
                grids[model.name, catalog.cloud] = grid
        return [grids[of["model"], of["cloud"]] for of in self.formulas["grids"]]

    def _setting(self, draw: random.Random) -> tuple[int, int, int, dict[str, float]]:
        grid = draw.randrange(len(self.grids))
        row = draw.randrange(len(self.formulas["grids"][grid]["rows"]))
        asked = {
            "data": 10 ** draw.uniform(10, 15.5),
            "network": 2 ** draw.uniform(-2, 2),
            "discount": draw.uniform(0, 0.9),
            "mapRatio": self.formulas["request"]["map_ratio"],
        }
        return grid, row, round(2 ** draw.uniform(0, 9.96)), asked

    def _wanted(self, number: int, row: int, nodes: int, asked: dict[str, float]) -> list[float]:
        grid, request = self.grids[number], self.answer.plan.request
        rows = self.formulas["grids"][number]["rows"]
        name = rows[row]["type"]
        place = [at for at, of in enumerate(rows) if of["type"] == name].index(row)
        layout = [at for at in range(len(grid.context.layouts.type_row)) if grid.type_name(at) == name][place]
        job = JobVolumes.of(asked["data"], map_ratio=request.map_ratio, reduce_ratio=request.reduce_ratio)
        context = replace(grid.context, job=job, rates=grid.context.rates.times({"network": asked["network"]}))
        made = candidate(context, row=layout, nodes=nodes, offer=grid.offer.times(1 - asked["discount"]))
        cost = made.cost_usd
        return [made.time_s.expected, made.time_s.p95, cost.total, cost.total_p95, made.spares, made.nodes_min]


def differ(scripts: Any, drawn: Drawn) -> None:
    """Fail where the page is off by more than 0.1% anywhere, or by a single node."""
    seen = np.array(scripts.evaluate(EXACT, [drawn.formulas, drawn.settings]), float)
    wanted = np.array(drawn.wanted)
    assert seen[:, 4:].tolist() == wanted[:, 4:].tolist()
    off = np.abs(seen[:, :4] / np.where(wanted[:, :4] == 0, 1.0, wanted[:, :4]) - 1)
    worst = int(off.max(axis=1).argmax())
    assert off.max() < TOLERANCE, (drawn.settings[worst], seen[worst], wanted[worst])


@pytest.mark.needs_browser(why="runs the page's script")
@pytest.mark.parametrize("question", ["ray", "curves", "staged", "buckets"])
def test_a_cluster_has_the_time_and_bill_that_python_gives_it(scripts: Any, question: str) -> None:
    differ(scripts, Drawn(question, 12))


@pytest.mark.soak
@pytest.mark.needs_browser(why="runs the page's script")
@pytest.mark.parametrize("question", QUESTIONS)
def test_so_it_is_for_ten_thousand_settings(scripts: Any, question: str) -> None:
    differ(scripts, Drawn(question, 10_000 // len(QUESTIONS)))


@pytest.mark.needs_browser(why="runs the page's script")
@pytest.mark.parametrize(
    "changed",
    [
        {"nodes": 90},
        {"deadline": 1.0},
        {"data": 3e14, "network": 0.5, "deadline": 2e4},
        pytest.param({}, marks=QUICK_SOAK),
        pytest.param({"data": 2.5e13}, marks=QUICK_SOAK),
        pytest.param({"deadline": 3000.0}, marks=QUICK_SOAK),
        pytest.param({"network": 2.0, "discount": 0.3}, marks=QUICK_SOAK),
    ],
    ids=str,
)
def test_the_page_chooses_as_python_does(scripts: Any, formulas: dict[str, Any], changed: dict[str, float]) -> None:
    asked = {"data": 1e14, "deadline": None, "discount": 0, "network": 1, "nodes": None, "mapRatio": 1} | changed
    types = sorted({row["type"] for grid in formulas["grids"] for row in grid["rows"]})
    again = planner.recommend(
        asked["data"],
        instance=types,
        deadline=asked["deadline"],
        nodes=asked["nodes"],
        what_if={"network": asked["network"] or 1, "price": 1 - (asked["discount"] or 0)},
    ).best
    chosen = scripts.evaluate(CHOOSE, [formulas, asked])
    if again is None:
        assert chosen == []
        return
    assert (chosen[0]["type"], chosen[0]["nodes"]) == (again.instance_type, again.nodes)
    assert chosen[0]["time_s"] == pytest.approx(again.time_s.expected, rel=TOLERANCE)
    assert chosen[0]["usd"] == pytest.approx(again.cost_usd.total, rel=TOLERANCE)


@pytest.mark.needs_browser(why="runs the page's script")
@pytest.mark.parametrize(
    "limits",
    [
        {"sort_deadline": 2700.0, "confidence": "90%"},
        pytest.param({"budget": 200, "objective": "time"}, marks=QUICK_SOAK),
        pytest.param({"max_vcpus": 3000, "objective": "cost", "deadline": "1h 30m"}, marks=QUICK_SOAK),
    ],
    ids=str,
)
def test_the_page_keeps_to_what_else_is_asked(scripts: Any, limits: dict[str, Any]) -> None:
    asked = {**QUESTIONS["ray"], "instance": "i4i.*,i8g.*", **limits}
    answer = planner.recommend(**asked)
    best, request = answer.best, answer.plan.request
    assert best is not None
    settings = {"data": 1e14, "deadline": request.deadline_s, "discount": 0, "network": 1, "nodes": None, "mapRatio": 1}
    chosen = scripts.evaluate(CHOOSE, [answer.formulas(), settings])
    assert (chosen[0]["type"], chosen[0]["nodes"]) == (best.instance_type, best.nodes)
    assert chosen[0]["usd"] == pytest.approx(best.cost_usd.total, rel=TOLERANCE)


@pytest.mark.needs_browser(why="runs the page's script")
def test_the_page_counts_the_slack_from_the_cheapest_of_all(scripts: Any) -> None:
    """3 x i8g.24xlarge are faster than 8 x i8g.8xlarge, and 7% dearer than seven, which no candidate is."""
    answer = planner.recommend("10TB", instance="i8g.8xlarge,i8g.24xlarge", engine="ideal")
    assert answer.best is not None
    settings = {"data": 1e13, "deadline": None, "discount": 0, "network": 1, "nodes": None, "mapRatio": 1}
    (chosen,) = scripts.evaluate(CHOOSE, [answer.formulas(), settings])
    assert (chosen["type"], chosen["nodes"]) == (answer.best.instance_type, answer.best.nodes) == ("i8g.8xlarge", 8)
