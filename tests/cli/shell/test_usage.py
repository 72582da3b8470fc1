"""Usage errors suggest the intended command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
import typer.main
from refusals import require
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell import usage
from planner.schemas.wrong_words import OPTIONS_MEANT


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("generate 300MB test.dat", "planner generate --size 300MB input.dat"),
        ("run plan.json", "planner cluster up PLAN.json"),
        ("simulate plan.json", "give the options of the plan"),
        ("explain plan.json", "planner report PLAN.json shows a kept plan"),
        ("cluster list", "Did you mean: planner cluster status"),
        ("cluster rm r1", "Did you mean: planner cluster down"),
        ("cluster dwn", "Did you mean 'down'"),
        ("cluster down", "`planner cluster status` lists them. For example: planner cluster down r2"),
        ("catalog ls", "Did you mean: planner catalog show"),
        ("sort in.dat --ray auto", "Missing argument 'OUTPUT'. Where the result goes"),
        ("sort", "Missing argument 'INPUT'. The files to sort"),
        ("validate --chksum 1 a", "No such option: --chksum"),
    ],
)
def test_a_refusal_says_what_to_type(words: str, sentence: str) -> None:
    outcome = CliRunner().invoke(build(), words.split(), prog_name="planner")
    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.replace("│", " ").split())


def test_the_result_of_a_sort_is_a_file_with_a_name(tmp_path: Path) -> None:
    source = tmp_path / "in.dat"
    source.write_bytes(bytes(200))
    words = ["sort", "--format", "records", str(source), "out", "--more-output", "-"]
    outcome = CliRunner().invoke(build(), words)
    require(outcome.exception, "output-is-pipe")


def test_plan_says_its_version() -> None:
    outcome = CliRunner().invoke(build(), ["plan", "--version"])
    assert (outcome.exit_code, outcome.stdout.split()[0]) == (0, "planner")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("plan 1TB --spot", "Did you mean: --pricing spot"),
        ("plan 1TB --pdf a.pdf", "Did you mean: --html, a page that every browser prints as PDF"),
        ("plan 1TB --nightly", "the bill is that of one run, and 30 runs a month cost 30 times as much"),
        ("plan 1TB --htm a", "--html"),
        ("run --resume r1", "Did you mean: planner cluster attach RUN"),
        ("generate --data 1GB a", "Did you mean: --size"),
        ("sort -t, -k2,2n -u a b", "`planner gnusort` takes GNU sort's options"),
        ("sort --dedup a b", "Did you mean: --unique"),
        ("sort --csv a b", "Did you mean: --format csv --key NAME"),
        ("sort --columns c a b", "Did you mean: --key"),
        ("sort --delimiter ; a b", "Did you mean: --separator ';'"),
        ("sort --type date a b", "Did you mean: --key NAME:num, or another kind"),
        ("sort -k 2 a b", "Did you mean: --key; `planner gnusort` takes GNU sort's options"),
        ("sort --in-place a", "Did you mean: planner sort FILE FILE --force"),
        ("sort a b --desc", "Did you mean: --key NAME:desc of a table, or --key 1,1r of lines"),
        ("table sort t --out u", "Did you mean: planner sort LOCATION OUTPUT --key NAME"),
        ("table show t", "Did you mean: planner table look"),
        ("plan 1TB --monthly-budget 3000", "--budget limits one run"),
        ("plan 1TB --commitment 1y", "Did you mean: --discount 40%"),
        ("plan 1TB --carbon", "Did you mean: --objective energy"),
        ("plan 1TB --vat 19%", "Note: prices are US dollars, without taxes"),
        ("plan 1TB --to terraform", "Did you mean: planner export --to terraform"),
        ("plan 1TB --config r.toml", "Did you mean: plan FILE.json or plan FILE.toml"),
        ("plan -f r.toml", "Did you mean: plan FILE.json or plan FILE.toml"),
        ("run --plan p.json", "Did you mean: planner cluster up PLAN.json"),
        ("plan-log a --cluster c", "Did you mean: --ran-on 'm5.4xlarge x 4'"),
        ("catalog show --regions", "Did you mean: planner catalog show, without a type"),
        ("catalog show --cloud gcp", "Did you mean: --catalog"),
        ("catalog search nvme", "Did you mean: planner catalog rank"),
        ("price i8g.8xlarge", "Did you mean: planner catalog show"),
        ("policy", "Did you mean: planner check"),
        ("terraform", "Did you mean: planner export --to PLATFORM"),
        ("compare-regions", "Did you mean: planner plan --data 3TB --region A,B --show csv"),
        ("scale --family i4i", "No such option: --family. For example: planner scale i4i"),
        ("profiles", "Did you mean: planner where"),
        ("plan 1TB --price 0.9", "Did you mean: --own-price TYPE=0.95 or FILE.csv, --discount 15% or --assume price="),
        ("plan 1TB --by cost", "Did you mean: --objective cost, time or energy"),
        ("plan 1TB --graph a.png", "Did you mean: --chart FILE.png"),
        ("plan 1TB --output-format json", "Did you mean: --json, --show csv or --show markdown"),
        ("plan 1TB --instances i4i.large", "Did you mean: --instance"),
        ("plan 1TB --cost 5", "Did you mean: --budget 200"),
        ("plan 1TB --hours 4", "Did you mean: --deadline 2h"),
        ("run --data 1TB --hours 4", "Did you mean: --max-hours 4h"),
        ("models --format json", "Did you mean: --json"),
        ("sort a b --parallel 4", "Did you mean: --threads"),
        ("run --data 1TB --budget 5", "Did you mean: --max-cost 50"),
        ("run --data 1TB --on-demand", "Did you mean: --pricing on-demand"),
        ("own 40 --disks 8", "Did you mean: planner catalog new mine"),
        ("plan 1TB --zone us-east-1a", "Did you mean: --region"),
        ("plan 1TB --family i4i", "Did you mean: --instance 'i4i.*'"),
        ("plan 1TB --ram 64GB", "Did you mean: --set min-memory=64GiB"),
        ("plan 1TB --source s3://b", "Did you mean: --input"),
        ("plan 1TB --verbose", "Did you mean: --explain, --show wide or --rejected"),
        ("run --data 1TB --disk /mnt", "Did you mean: --dir"),
        ("ingest a --region x", "Did you mean: --where"),
        ("storage --bandwidth 1GB/s", "Did you mean: --throughput"),
        ("generate a --rows 5", "Did you mean: --records"),
        ("validate a --hash 1", "Did you mean: --checksum"),
        ("sort a b --reverse", "or --key 1,1r of lines"),
        ("sort a b --output c", "Did you mean: planner sort INPUT OUTPUT"),
        ("plan 1TB --allowed m6i", "Did you mean: --instance"),
        ("plan 1TB --price-file p.csv", "Did you mean: --own-price TYPE=0.95"),
        ("plan 1TB --network-curve n.csv", "Did you mean: --assume network=800MB/s"),
        ("plan --from-plan p.json", "Did you mean: plan FILE.json or plan FILE.toml"),
        ("sort --files 3 a b", "Did you mean: --file-size 256MB"),
        ("validate a --original b", "Did you mean: --input"),
        ("paper", "Did you mean: planner plan --data 100TB --catalog aws-2014 --paper"),
        ("sort a b --head 5", "Did you mean: --limit 10"),
        ("sort a b --sort-by c", "Did you mean: --key"),
        ("validate a --unique", "Did you mean: planner sort --check --unique FILE"),
        ("table sort t --dry-run", "Did you mean: planner table price LOCATION"),
        ("table t --z-order a", "Did you mean: --sort-by, several columns"),
        ("table optimize t", "Did you mean: planner table sort"),
        ("optimize t", "Did you mean: planner table sort"),
        ("cluster cost", "Did you mean: planner cluster status"),
        ("emulate status", "Did you mean: planner emulate sweep"),
        ("cost", "Did you mean: planner plan"),
        ("estimate", "Did you mean: planner plan"),
        ("shuffle", "Did you mean: planner plan"),
        ("verify", "Did you mean: planner validate"),
        ("diff", "Did you mean: planner compare"),
        ("log", "Did you mean: planner explain-log"),
        ("upgrade", "Note: use what installed it"),
        ("clean", "Did you mean: planner cluster sweep"),
        ("config", "Note: settings are a file, ~/.config/planner/settings.toml"),
        ("help", "Note: planner --help"),
        ("cleanup", "Did you mean: planner cluster sweep"),
        ("cluster leftovers", "Did you mean: planner cluster sweep"),
        ("quota", "Did you mean: planner cluster up --dry-run"),
        ("status", "Did you mean: planner cluster status"),
    ],
)
def test_a_newcomers_word_is_answered_with_what_it_is_called_here(words: str, sentence: str) -> None:
    outcome = CliRunner().invoke(build(), words.split(), prog_name="planner")
    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("--zones 2", "--set zones=2"),
        ("--network ideal", "--set network=ideal"),
        ("--network=25Gbit/s", "--set network=VALUE 25Gbit/s: use one of unlimited, ideal, expected"),
        ("--network 25Gbit/s", "Did you mean: --assume network=800MB/s"),
        ("--zones 9", "--set zones=VALUE 9: must lie between 1 and 6"),
        ("--min-memory 64", "--set min-memory=VALUE 64: size '64' has no unit"),
        ("--interruptions 0.9 --pricing spot", "--set interruptions=0.9"),
        ("--capacity i4i.*=3", "--set capacity=i4i.*=3"),
        ("--files 500 --input s3://b/in", "--set files=500"),
    ],
)
def test_a_setting_typed_as_an_option_is_never_suggested_with_a_value_that_is_refused(words: str, hint: str) -> None:
    outcome = CliRunner().invoke(build(), ["own", "20 x i4i.large", "--data", "1TB", *words.split()])
    require(outcome.exception, "is-setting")
    assert hint in " ".join(str(outcome.exception).split())


@pytest.mark.parametrize("machines", ["40 servers", "40 servers with 8 disks", "40"])
def test_machines_of_no_type_lead_to_a_catalog_of_them(machines: str) -> None:
    outcome = CliRunner().invoke(build(), ["own", machines, "--data", "1TB"])
    require(outcome.exception, "malformed", "planner catalog new mine --machines 20", field="--own")


FILLED: Final = {"TYPE=0.95": "i4i.4xlarge=0.95", "wrote": "plan.json", "'i4i.*'": "i4i.*"}
SHOWN: Final = [
    (option, " ".join(hint))
    for option, text, _ in OPTIONS_MEANT
    for hint in re.findall(r"(--[a-z-]+)((?: [^\s,;]+)?)(?=$|[,;]| or )", text)
]


@pytest.mark.parametrize(("option", "hint"), sorted({*SHOWN}))
def test_a_suggested_option_is_accepted_with_its_value(
    option: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command has the option together with the one for which it is suggested, and `plan` plans with its value."""
    monkeypatch.chdir(tmp_path)
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    leaves = [leaf for command in commands.values() for leaf in getattr(command, "commands", {"": command}).values()]
    name, *value = [FILLED.get(word, word) for word in hint.split()]
    taking = [leaf for leaf in leaves if {option, name} <= {opt for item in leaf.params for opt in item.opts}]
    assert taking, hint
    if taking[0].name == "plan" and value:
        outcome = CliRunner().invoke(build(), ["plan", "1TB", "--instance", "i4i.*", name, *value])
        assert outcome.exit_code == 0, str(outcome.exception)


def test_what_is_said_for_newcomers_words_exists() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    subcommands = {f"{name} {member}" for name, group in commands.items() for member in getattr(group, "commands", {})}
    subcommands |= set(commands)
    for name in usage._MEANT:
        assert any(f" {member}".endswith(f" {name.partition(' -')[0]}") for member in subcommands), name
    leaves = [leaf for command in commands.values() for leaf in getattr(command, "commands", {"": command}).values()]
    options = {option for leaf in leaves for item in leaf.params for option in item.opts}
    assert {option for option, _, _ in OPTIONS_MEANT} <= options
