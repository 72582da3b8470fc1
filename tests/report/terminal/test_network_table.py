"""The table of three networks marks the winners, shows gaps as such, and fits 80 columns."""

from __future__ import annotations

import io

from rich.console import Console

from planner import recommend
from planner.report.terminal.volume_table import render_networks


def shown(*renderables: object) -> str:
    text = io.StringIO()
    console = Console(file=text, width=80, highlight=False)
    for renderable in renderables:
        console.print(renderable)
    return text.getvalue()


def test_winners_are_marked_and_gaps_are_dashes() -> None:
    answered = recommend(data="100TB", model="indy", catalogs=("aws-2014",), max_nodes=179, paper=True)
    lines = shown(*render_networks(answered.network_rows())).splitlines()
    table = lines[: next(number for number, line in enumerate(lines) if line.startswith("The network"))]
    by_type = {line.split()[0]: line for line in table}
    assert by_type["i2.8xlarge"].count("*") == 2
    assert "* 179, $155.06" in by_type["m1.xlarge"]
    assert by_type["i2.4xlarge"].split()[-2:] == ["-", "-"]
    assert "The network decides: m1.xlarge wins without a limit" in " ".join(lines)
    assert max(map(len, lines)) <= 80


def test_nothing_to_compare_is_said() -> None:
    assert "the request says how fast the network is" in shown(*render_networks([]))
