"""The HTML reports in a real browser: drawn, quiet, responsive, narrow, accessible, offline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.report.page import plan_page
from planner.report.run import run_page
from planner.report.terminal.decision import durability_text, machine_text
from planner.report.terminal.short_answer import short_answer
from planner.schemas.plan import Plan
from planner.schemas.run_report import Check, RunReport
from tests.marks import QUICK_SOAK

LARGEST_BYTES = 1_500_000
PHONE_HEIGHT = 844
CUT = """[...document.querySelectorAll('.scroll, pre, table')].filter(
  (part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent.slice(0, 40))"""
"""Elements wider than their box."""
STICKS_OUT = """[...document.querySelectorAll('.chart svg, table:not(.folded *)')].filter(
  (part) => part.getBoundingClientRect().right > innerWidth).map((part) => part.outerHTML.slice(0, 60))"""
"""Elements that extend past the right edge."""
NEXT_FRAME = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
BLACK = """[...document.querySelectorAll('.chart svg path, .chart svg text')].filter((mark) => {
  const { fill, fillOpacity, display } = getComputedStyle(mark), { width, height } = mark.getBoundingClientRect();
  return fill === 'rgb(0, 0, 0)' && fillOpacity !== '0' && display !== 'none' && width * height > 0;
}).map((mark) => mark.outerHTML.slice(0, 120))"""
"""Marks drawn in black."""


@pytest.fixture
def run_file(run_report: RunReport, tmp_path: Path) -> Path:
    path = tmp_path / "run.html"
    path.write_text(run_page(run_report), encoding="utf-8")
    return path


@pytest.fixture
def refusal_file(tmp_path: Path) -> Path:
    path = tmp_path / "refusal.html"
    path.write_text(planner.recommend("1TB", catalog="aws-2014", deadline="1s").to_html(), encoding="utf-8")
    return path


def test_page_holds_what_a_reader_needs_to_trust_and_repeat_it(plan_file: Path, plan: Plan) -> None:
    page = plan_file.read_text(encoding="utf-8")
    assert plan.best is not None
    assert len(page.encode()) < LARGEST_BYTES
    words = [
        f"Rent {plan.best.nodes} x {plan.best.instance_type}",
        "plan --data 100TB --model daytona --catalog aws-2014 --deadline 3600s",
        f"Prices are of {plan.catalog.prices_as_of}",
        f"all nodes for {short_answer(plan, width=80)[1].removeprefix('for ').partition(' (deadline')[0]}, and spares",
        "SoCC 2015",
        "Cost under three networks",
        "ends within 1 h",
        machine_text(plan.best),
        durability_text(plan.best),
        "Assumed: the nodes generate the data",
        f"Left out: {plan.unmeasured[0].types} types of unknown disk rate; planner bench disk measures it.",
        *{rejection.reason for rejection in plan.rejected},
        *(rejection.instance_type for rejection in plan.rejected),
    ]
    for word in words:
        assert word in page
    assert "Note: driver" not in page and "Note: cloud truth" not in page
    assert "http-equiv" not in page and "<link" not in page and "src=" not in page.partition("<footer")[0]


def test_page_of_a_spark_application_says_where_it_was_and_where_to_go(spark_file: Path) -> None:
    page = spark_file.read_text(encoding="utf-8")
    assert len(page.encode()) < LARGEST_BYTES
    for word in ["Move to", "test, app-1, Spark 3.5.1", "2 min 35 s", "Bound by processors", "2 x m5.xlarge", "$0.017"]:
        assert word in page  # 2 + 10 x 10 + 10 x 5 + 3 s


@pytest.mark.needs_browser(why="draws the page")
@pytest.mark.parametrize(
    ("which", "dark", "width"),
    [
        pytest.param("plan_file", True, 390, id="plan, dark, phone"),
        pytest.param("run_file", False, 1280, id="run, light, wide"),
        pytest.param("spark_file", True, 390, id="spark, dark, phone"),
        pytest.param("refusal_file", True, 390, id="refusal, dark, phone"),
        pytest.param("receipt_file", True, 390, id="receipt, dark, phone"),
        pytest.param("spark_file", False, 800, id="spark, light, tablet", marks=QUICK_SOAK),
        pytest.param("plan_file", False, 1280, id="plan, light, wide", marks=QUICK_SOAK),
        pytest.param("plan_file", True, 800, id="plan, dark, tablet", marks=QUICK_SOAK),
        pytest.param("run_file", True, 390, id="run, dark, phone", marks=QUICK_SOAK),
    ],
)
def test_page_is_drawn_without_complaint_and_fits(
    visit: Callable[..., Any], request: pytest.FixtureRequest, which: str, *, dark: bool, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen = visit(request.getfixturevalue(which), dark=dark, width=width)
    charts = seen.page.locator(".chart")
    drawn = seen.page.locator(".chart svg")
    assert drawn.count() == charts.count() >= (0 if which in ("refusal_file", "receipt_file") else 2)
    assert seen.complaints == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate(CUT) == []
    assert not dark or seen.page.evaluate(BLACK) == []
    for box in (drawn.nth(index).bounding_box() for index in range(drawn.count())):
        assert box["width"] <= width and box["height"] > 50
    broken = Axe().run(seen.page).response["violations"]
    assert not broken, [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in broken]


@pytest.mark.needs_browser(why="draws the page at many widths")
@pytest.mark.parametrize(
    ("asked", "widths"),
    [
        pytest.param({"data": "10TB", "cloud": "oci"}, (360, 800, 1400), id="oci"),
        pytest.param({"data": "10TB", "cloud": "oci"}, range(360, 1401, 40), id="oci, all widths", marks=QUICK_SOAK),
        pytest.param({"data": "1GB", "instance": "*8xlarge"}, range(360, 1401, 40), id="little data", marks=QUICK_SOAK),
        pytest.param(
            {"data": "100TB", "cloud": "aws,gcp,azure,oci", "model": "all", "top": 30},
            range(360, 1401, 40),
            id="all clouds",
            marks=QUICK_SOAK,
        ),
    ],
)
def test_nothing_is_cut_or_sticks_out_at_any_width(
    visit: Callable[..., Any], tmp_path: Path, asked: dict[str, Any], widths: Iterable[int]
) -> None:
    path = tmp_path / "plan.html"
    path.write_text(planner.recommend(**asked).to_html(), encoding="utf-8")
    page = visit(path).page
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(NEXT_FRAME)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert (width, page.evaluate(CUT), page.evaluate(STICKS_OUT)) == (width, [], [])


@pytest.mark.needs_browser(why="prints")
@pytest.mark.parametrize(
    "asked",
    [
        {"data": "100TB"},
        {
            "data": "3TB",
            "input": "gs://lake/events",
            "output": "gs://lake/sorted",
            "format": "parquet",
            "deadline": "2h",
        },
        {"data": "100TB", "cloud": "all", "model": "all", "pricing": "on-demand,spot"},
    ],
    ids=["plain", "stored", "all clouds"],
)
def test_the_page_to_send_is_short(visit: Callable[..., Any], tmp_path: Path, asked: dict[str, Any]) -> None:
    """Decision, bill, three reasons and a chart are within three screens of a phone, and three pages of A4."""
    path = tmp_path / "plan.html"
    path.write_text(planner.recommend(**asked).to_html(), encoding="utf-8")
    page = visit(path, width=390, folded=True).page
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * PHONE_HEIGHT
    assert page.locator("#chart-frontier svg").is_visible() and not page.locator("#chart-phases").is_visible()
    printed = visit(path, width=720, folded=True).page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3


@pytest.mark.needs_browser(why="moves the mouse")
def test_the_answer_is_on_the_first_screen(visit: Callable[..., Any], plan_file: Path) -> None:
    page = visit(plan_file, folded=True).page
    for selector in ("h1", ".figures", "h2:text('Why')"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] < 800


@pytest.mark.needs_browser(why="moves the mouse")
def test_pointing_at_a_cluster_tells_of_it_and_a_click_shows_its_phases(
    visit: Callable[..., Any], plan_file: Path, plan: Plan
) -> None:
    page = visit(plan_file).page
    other = plan.candidates[1]
    name = f"{other.nodes} x {other.instance_type}"
    mark = page.locator(f"#chart-frontier svg path[aria-label*='{name}'][aria-roledescription='point']").last
    mark.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert "total cost" in tooltip.inner_text()
    mark.click(force=True)
    page.wait_for_function("document.getElementById('picked').textContent.startsWith('Phases of')")
    shown = page.locator("#picked").inner_text().removeprefix("Phases of ").removesuffix(" are shown below.")
    assert page.locator("#chart-phases select").input_value() == shown
    assert shown in {f"{candidate.nodes} x {candidate.instance_type}" for candidate in plan.candidates}


@pytest.mark.needs_browser(why="turns the wheel")
def test_the_frontier_zooms_only_when_asked(visit: Callable[..., Any], plan_file: Path) -> None:
    page = visit(plan_file).page
    chart = page.locator("#chart-frontier svg").first

    labels = page.locator("#chart-frontier svg .role-axis-label text")

    def turn_the_wheel() -> None:
        chart.hover(force=True)
        page.mouse.wheel(0, -200)

    before = labels.all_text_contents()  # SVG has no inner text
    turn_the_wheel()
    page.wait_for_timeout(100)
    assert any(before) and labels.all_text_contents() == before
    page.evaluate("delete document.documentElement.dataset.drawn")
    page.locator("#zoom").check()
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    turn_the_wheel()
    page.wait_for_function(
        "before => [...document.querySelectorAll('#chart-frontier svg .role-axis-label text')]"
        ".map(label => label.textContent).join() !== before.join()",
        arg=before,
        timeout=60_000,
    )


@pytest.mark.needs_browser(why="uses the menu")
def test_menu_shows_the_phases_of_another_candidate(visit: Callable[..., Any], plan_file: Path, plan: Plan) -> None:
    page = visit(plan_file).page
    bars = page.locator("#chart-phases svg .mark-rect path")
    before = [bars.nth(index).get_attribute("d") for index in range(bars.count())]
    last = plan.candidates[-1]
    page.locator("#chart-phases select").select_option(f"{last.nodes} x {last.instance_type}")
    page.wait_for_function(
        "before => [...document.querySelectorAll('#chart-phases svg .mark-rect path')]"
        ".map(bar => bar.getAttribute('d')).join() !== before.join()",
        arg=before,
    )


def test_names_in_a_file_cannot_become_markup(run_report: RunReport) -> None:
    from dataclasses import replace

    nasty = "<script>alert(1)</script>"
    check = Check(path=nasty, records=1, checksum="0", sorted=False, duplicates=0, passed=False)
    phase = replace(run_report.phases[0], name=nasty)
    page = run_page(replace(run_report, checks=(check,), phases=(phase,)))
    assert nasty not in page
    assert "FAILED" in page and "WRONG" in page and "&lt;script&gt;" in page


@pytest.mark.needs_browser(why="uses the controls")
def test_the_controls_change_the_answer_and_reset_brings_it_back(
    visit: Callable[..., Any], plan_file: Path, plan: Plan
) -> None:
    best = plan.best
    assert best is not None
    page = visit(plan_file, width=390).page
    shown = page.locator("#what-if-answer")
    assert page.locator("#chart-frontier path[aria-label*='what if']").count() == 0
    assert page.locator("#what-if-change").inner_text() == ""
    planned = f"Rent {best.nodes} x {best.instance_type}"
    assert planned in shown.inner_text() and f"${best.cost_usd.total:,.2f}" in shown.inner_text()
    cells = page.locator("#what-if-bill td:last-child").all_inner_texts()
    cents = [round(float(cell.replace("$", "").replace(",", "")) * 100) for cell in cells]
    assert sum(cents[:-1]) == cents[-1] == round(best.cost_usd.total * 100)
    doubled = str(min(2 * best.nodes, plan.request.max_nodes))
    page.locator("#wi-change").select_option(label=f"Nodes: {doubled}")
    page.wait_for_function(
        "nodes => document.getElementById('what-if-answer').textContent.startsWith(`Rent ${nodes} x`)", arg=doubled
    )
    assert planned.removeprefix("Rent ") in page.locator("#what-if-compared").inner_text()
    page.locator("#chart-frontier path[aria-label*='what if']").wait_for(state="attached")
    page.locator("#wi-limit").fill("0.02")
    page.wait_for_function("document.getElementById('what-if-compared').hidden")
    assert "No cluster on this page does that" in shown.inner_text()
    page.get_by_role("button", name="As planned").click()
    page.wait_for_function("text => document.getElementById('what-if-answer').textContent.includes(text)", arg=planned)


@pytest.mark.needs_browser(why="prints")
def test_in_print_the_ground_is_white_and_nothing_is_cut(visit: Callable[..., Any], plan_file: Path) -> None:
    page = visit(plan_file, dark=True, width=720).page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.locator("#zoom").is_visible()


def test_a_page_whose_catalog_is_gone_says_that_it_lacks_what_ifs(plan: Plan) -> None:
    page = plan_page(plan, None)
    assert "What-ifs are left out" in page
    assert "what-if-given" not in page
