"""Names of resources and places in plain English."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.report.words import region_word, wrapped
from tests.marks import QUICK_SOAK


def test_a_region_has_its_name_and_all_of_them_are_any() -> None:
    assert (region_word("us-east-1"), region_word("all")) == ("us-east-1", "any region")


@pytest.mark.parametrize(
    "amount", ["1 s", "36 min", "2 h", "3 days", "5 ms", "4.7 GB", "16 GiB", "400 Mbit/s", "93 MB/s", "12 kB/s"]
)
@pytest.mark.parametrize("width", range(12, 40))
def test_a_number_stays_with_its_unit(amount: str, width: int) -> None:
    lines = wrapped(f"The network takes {amount} of the node at most.", width)
    assert any(amount in line for line in lines)
    assert max(map(len, lines)) <= width
    assert " ".join(line.strip() for line in lines) == f"The network takes {amount} of the node at most."


def test_a_path_longer_than_a_line_stays_whole() -> None:
    path = "/data/" + "very-long-" * 10 + "name"
    assert wrapped(f"Reads {path} first.", 40) == ["Reads", f"  {path}", "  first."]


@pytest.mark.parametrize("words", ["", pytest.param("--show wide", marks=QUICK_SOAK), "--show markdown"])
def test_a_cloud_with_one_price_everywhere_names_no_region(words: str) -> None:
    asked = ["plan", "1TB", "--cloud", "oci", "--instance", "VM.DenseIO.E4.Flex-8", *words.split()]
    shown = CliRunner().invoke(build(only="plan"), asked).stdout
    assert "(oci, any region)" in shown and "oci all" not in shown
