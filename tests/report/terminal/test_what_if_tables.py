"""The table of volumes: counts with their combined rate, both directions if they differ."""

from __future__ import annotations

import io

from approvals import Approve
from rich.console import Console

from planner import recommend
from planner.catalog import load_catalog
from planner.cost_model.volumes.volume_counts import volume_counts
from planner.report.terminal.what_if_tables import render_networks, render_volumes


def shown(*renderables: object) -> str:
    text = io.StringIO()
    console = Console(file=text, width=80, highlight=False)
    for renderable in renderables:
        console.print(renderable)
    return text.getvalue()


def test_counts_rates_and_the_price_where_the_link_is_full() -> None:
    text = shown(*render_volumes(volume_counts(load_catalog("aws-2014"), "i2.4xlarge")))
    assert "Volumes on i2.4xlarge, whose link carries 250 MB/s" in text
    assert "3: 243 read, 226 write" in text
    assert "1: 160, 2: 250" in text
    assert "0.0442" in text
    assert max(map(len, text.splitlines())) <= 80


def test_no_volumes_is_said(approve: Approve) -> None:
    approve(shown(*render_volumes([])))


def test_winners_are_marked_and_gaps_are_dashes(approve: Approve) -> None:
    answered = recommend(data="100TB", model="indy", catalogs=("aws-2014",), max_nodes=179, paper=True)
    lines = shown(*render_networks(answered.network_rows())).splitlines()
    table = lines[: next(number for number, line in enumerate(lines) if line.startswith("The network"))]
    by_type = {line.split()[0]: line for line in table}
    assert by_type["i2.8xlarge"].count("*") == 2
    assert "* 179, $155.06" in by_type["m1.xlarge"]
    assert by_type["i2.4xlarge"].split()[-2:] == ["-", "-"]
    approve(" ".join(lines))
    assert max(map(len, lines)) <= 80


def test_nothing_to_compare_is_said(approve: Approve) -> None:
    approve(shown(*render_networks([])))
