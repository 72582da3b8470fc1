"""The card in a notebook: its contents, and its readability on light and dark backgrounds without a script."""

from __future__ import annotations

from typing import Any

import pytest

from planner.api.recommend import Recommendation
from planner.report.document import LINES, WIDTH, card_text
from planner.report.terminal.decision import durability_text, machine_text


def test_the_text_is_at_most_five_lines(answer: Recommendation) -> None:
    lines = card_text(answer.plan).splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= WIDTH
    assert answer.best is not None and f"{answer.best.nodes} x {answer.best.instance_type}" in lines[0]


def test_the_card_holds_cluster_bill_and_frontier_and_no_script(answer: Recommendation) -> None:
    card = answer._repr_html_()
    bill = answer.bill
    assert bill is not None and f"${bill.total_usd:,.2f}" in card
    assert all(f"${item.usd:,.2f}" in card for item in bill)
    assert answer.best is not None and machine_text(answer.best) in card and durability_text(answer.best) in card
    assert card.count("<title>") == len(answer.frontier) and "<svg" in card
    assert "<script" not in card and "http" not in card and len(card) < 20_000


@pytest.mark.needs_browser(why="draws the card")
@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_the_card_is_readable_on_light_and_dark(browser: Any, answer: Recommendation, ground: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    ink = "#e6e6e6" if ground == "#111111" else "#1f2328"
    page = browser.new_page(viewport={"width": 390, "height": 800})
    style = f"background:{ground};color:{ink}"
    page.set_content(f'<html lang="en"><title>card</title><body style="{style}"><main>{answer._repr_html_()}</main>')
    broken = Axe().run(page, options={"runOnly": ["color-contrast", "svg-img-alt"]}).response["violations"]
    assert not broken
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
