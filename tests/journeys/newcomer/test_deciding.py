"""A newcomer's `plan` commands: which cluster, when, for how much and why, and the answers they need."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from approvals import Approve

Typed = Callable[..., str]


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, f"no {pattern} in {text}"
    return float(found[1].replace(",", "").rstrip("."))


def test_data_in_a_bucket_by_tomorrow_morning(typed: Typed) -> None:
    question = "plan --data 8TB --input s3://lake/raw --output s3://lake/sorted --deadline"
    assert "Write it as 6h" in typed(f"{question} 06:00", code=2)
    answer = typed(f"{question} 8h")
    assert "(deadline: 8 h 0 min)" in answer
    assert "input and output in a store that the provider replicates" in answer
    assert "requests" in answer and "Assumed: the nodes generate the data" not in answer


def test_cheapest_of_all_clouds(typed: Typed) -> None:
    assert "Did you mean: --objective cost" in typed("plan --data 8TB --cheapest", code=2)
    clouds = {
        cloud: number(r"\$([\d.,]+) in all", typed(f"plan --data 8TB --objective cost --cloud {cloud}"))
        for cloud in ("all", "aws", "oci")
    }
    assert clouds["all"] <= min(clouds["aws"], clouds["oci"])


def test_within_a_quarter_of_an_hour_and_how_surely(typed: Typed) -> None:
    answer = typed("plan --data 8TB --deadline 15m --confidence 95%")
    assert number(r"(\d+) of 100 runs keep it", answer) >= 95


def test_why_this_machine_and_on_what_the_figures_rest(typed: Typed) -> None:
    answer = typed("plan --data 8TB --explain")
    assert "Why this cluster" in answer
    assert re.search(r"Confidence: .* Below \d+% of the planned \w+ speed, \S+ is better", answer)


def test_own_discount_own_region_and_a_family_left_out(typed: Typed, approve: Approve) -> None:
    refused = typed("plan --data 8TB --region eu-west-1 --discount 23%", code=2)
    assert "planner catalog refresh --cloud aws --region eu-west-1 --public" in refused
    approve(typed("plan --data 8TB --exclude i8g", code=2))
    listed = typed("plan --data 8TB --instance i7i.8xlarge")
    answer = typed("plan --data 8TB --exclude 'i8g.*' --discount 23%")
    assert "x i7i.8xlarge" in answer and "i8g." not in answer
    hourly = r"\$([\d.]+) an hour"
    assert number(hourly, answer) == pytest.approx(0.77 * number(hourly, listed), abs=0.01)


def test_machines_i_have_beside_the_recommended(typed: Typed, approve: Approve) -> None:
    answer = typed("planner own '20 x i3.4xlarge' --data 8TB")
    assert "Your 20 x i3.4xlarge take" in answer
    approve(answer)
    assert "Bottleneck: " in answer


def test_most_data_with_a_hundred_nodes(typed: Typed) -> None:
    question = "planner most-data --nodes 100 --instance i8g.48xlarge --deadline"
    assert re.search(r"Try --deadline \d+s\.", typed(f"{question} 1m", code=3))
    answer = typed(f"{question} 10m")
    assert "Rent 100 x" in answer and "the most within what is asked" in answer


def test_ten_clusters_as_csv(typed: Typed, tmp_path: Path) -> None:
    answer = typed("plan --data 8TB --show csv --top 10 --set sort=cost_usd.total", as_lines=True)
    *table, note = answer.splitlines()
    rows = list(csv.DictReader(io.StringIO("\n".join(table))))
    costs = [float(row["cost_usd.total"]) for row in rows]
    assert len(rows) == 10 and costs == sorted(costs)
    assert {"machine.vcpus", "machine.memory_bytes", "bottlenecks", "bill_usd.job"} <= set(rows[0])
    assert re.fullmatch(r"10 of \d+ types are shown, best first; --top \d+ has all", note)


def test_a_page_and_a_slide_for_the_boss(typed: Typed, tmp_path: Path, approve: Approve) -> None:
    approve(typed("plan --data 3TB --pdf boss.pdf", code=2))
    assert "Did you mean: --chart FILE.png" in typed("plan --data 3TB --slide boss.pptx", code=2)
    small = "plan --data 3TB --instance i8g.8xlarge --nodes 3"
    typed(f"{small} --chart boss.svg")
    assert "i8g.8xlarge" in (tmp_path / "boss.svg").read_text("utf-8")
    assert "--force" in typed(f"{small} --chart boss.svg", code=2)
    typed(f"{small} --chart boss.svg --force")
    markdown = typed(f"{small} --show markdown", as_lines=True)
    assert markdown.startswith("## 3 x i8g.8xlarge to sort 3 TB") and "| **in all** |" in markdown


def test_what_a_nightly_run_costs_a_month(typed: Typed, approve: Approve) -> None:
    approve(typed("plan --data 20TB --nightly", code=2))


def test_two_regions_against_each_other(typed: Typed) -> None:
    answer = typed("plan --data 5TB --cloud azure --region eastus,westus2 --instance Standard_L8s_v3 --show csv")
    assert {"eastus", "westus2"} <= set(answer.replace(",", " ").split())


def test_spot_against_on_demand(typed: Typed) -> None:
    assert "Did you mean: --pricing spot" in typed("plan --data 3TB --spot", code=2)
    assert "--discount" in typed("plan --data 3TB --pricing reserved", code=2)
    assert "Did you mean on-demand?" in typed("plan --data 3TB --pricing ondemand", code=2)
    answer = typed("plan --data 3TB --pricing on-demand,spot")
    assert "on-demand spot" in answer and ", spot" in answer


def test_parquet_in_a_bucket_in_europe_below_100_dollars(typed: Typed) -> None:
    data = "--data 3TB --input gs://lake/events --output gs://lake/sorted --format parquet --region europe-west4"
    answer = typed(f"plan {data} --budget 100")
    assert "(gcp europe-west4" in answer and "unpacked" in answer
    assert number(r"cost at most \$([\d.,]+)", answer) <= 100


def test_would_more_machines_help(typed: Typed, approve: Approve) -> None:
    approve(typed("planner own 20 --data 3TB", code=2))
    assert "Did you mean: planner own '20 x m5d.12xlarge'" in typed("plan --data 3TB --own-machines 20", code=2)
    answer = typed("planner own '20 x m5d.12xlarge' --data 3TB")
    assert re.search(r"More of them help up to about \d+ nodes", answer)
    approve(answer)


def test_my_cluster_is_too_large(typed: Typed, approve: Approve) -> None:
    answer = typed("planner own '60 x i8g.8xlarge' --data 3TB")
    approve(answer)
    assert re.search(r"Yours are .* faster and cost \$[\d.]+ more, if rented", answer)


def test_a_negotiated_price(typed: Typed) -> None:
    assert "--own-price TYPE=0.95" in typed("plan --data 3TB --price i8g.8xlarge=1.5", code=2)
    answer = typed("plan --data 3TB --own-price i8g.8xlarge=1.5")
    assert "x i8g.8xlarge" in answer and "$1.50 an hour" in answer


def test_why_not_the_machine_that_the_team_uses(typed: Typed) -> None:
    answer = typed("planner why-not c6id.32xlarge --data 3TB")
    assert re.search(r"Its best cluster takes \S+ (longer|less) and costs", answer)
    price = number(r"recommended at \$([\d.]+) a node-hour or less", answer)
    assert "x c6id.32xlarge" in typed(f"plan --data 3TB --own-price c6id.32xlarge={price - 0.01:.2f}")


def test_twice_and_four_times_the_data(typed: Typed) -> None:
    answer = typed("planner sizes --data 3TB,6TB,12TB", as_lines=True)
    bills = [float(re.findall(r"\$([\d.]+)", line)[0]) for line in answer.splitlines()[1:4]]
    assert bills == sorted(bills) and 3 < bills[2] / bills[0] < 5  # four times the data, about four times the bill


def test_bits_are_not_taken_for_bytes(typed: Typed) -> None:
    assert "Write 3TB for bytes, or 0.375TB for 3 Tbit" in typed("plan --data 3Tb", code=2)


def test_a_budget_that_is_too_small_names_one_that_is_not(typed: Typed) -> None:
    refused = typed("plan --data 100TB --budget 50", code=3, as_lines=True)
    assert max(map(len, refused.splitlines()[:1])) <= 100
    enough = number(r"Try --budget (\d+\.\d+)\.", refused)
    assert " in all (prices of " in typed(f"plan --data 100TB --budget {enough}")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
@pytest.mark.needs_root(why="takes the network away")
def test_without_the_internet() -> None:
    words = ["unshare", "--net", sys.executable, "-m", "planner", "plan", "--data", "3TB", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["catalog"]["prices_as_of"]


@pytest.mark.parametrize(
    "question",
    [
        "--data 100TB --model daytona",
        "--data 8TB --deadline 15m --confidence 95%",
        "--data 5TB --pricing spot --cloud aws,gcp",
        "--data 3TB --nodes 200",
        "--data 3TB --what-if data=2",
        "--data 3TB --input gs://lake/a --format parquet --cloud gcp --region europe-west4 --budget 100",
        "--data 8TB --input s3://lake/raw --output s3://lake/sorted --deadline 8h --model object-store",
    ],
)
def test_the_first_screen_is_a_screen(typed: Typed, question: str) -> None:
    lines = typed(f"plan {question}", as_lines=True).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
