"""`plan`: which cluster to rent, how long, how much, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.cli import completion
from planner.cli.console import show, show_text
from planner.cli.files import write_whole
from planner.cli.price_options import discounts, own_prices
from planner.errors import BadInputError, nearest
from planner.units import parse_duration, parse_rate, parse_size

if TYPE_CHECKING:
    from planner.api import Recommendation
    from planner.schemas.plan import NodeLimit, Objective

_OBJECTIVES = ("balanced", "cost", "time", "energy")
_PLAIN = ("price", "power")
"""What `--assume` takes as plain numbers; the rest are rates."""


def plan(
    *,
    data: Annotated[str, Option(help="How much to sort: 100TB, 1TiB.")],
    model: Annotated[
        str,
        Option(
            help="Cost model: a name that `planner models` lists, a TOML file, or all.",
            autocompletion=completion.models,
        ),
    ],
    cloud: Annotated[
        list[str] | None,
        Option(
            help="Clouds, comma-separated.",
            show_default="those in the settings, or aws",
            autocompletion=completion.catalogs,
        ),
    ] = None,
    catalog: Annotated[
        list[str] | None,
        Option(help="Catalogs by name or directory, instead of --cloud.", autocompletion=completion.catalogs),
    ] = None,
    region: Annotated[list[str] | None, Option(help="Regions; each catalog's default otherwise.")] = None,
    instance: Annotated[
        list[str] | None,
        Option(help="Only these types; patterns such as 'i4i.*' work.", autocompletion=completion.instances),
    ] = None,
    exclude: Annotated[list[str] | None, Option(help="Not these types; patterns as for --instance.")] = None,
    arch: Annotated[str | None, Option(help="Only x86_64 or arm64.")] = None,
    max_vcpus: Annotated[int | None, Option(help="Quota: launch at most so many vCPUs, spares included.")] = None,
    nodes: Annotated[int | None, Option(help="Exactly so many nodes.")] = None,
    max_nodes: Annotated[int, Option(help="At most so many nodes.")] = 1000,
    capacity: Annotated[
        list[str] | None,
        Option(
            help="At most so many instances of a type: 'i4i.*=40'.",
            show_default="what the cloud refused your runs in the last week",
        ),
    ] = None,
    deadline: Annotated[str | None, Option(help="The sort must be expected to end within: 20m, 1.5h.")] = None,
    confidence: Annotated[
        float | None,
        Option(help="Meet the deadline with this probability, such as 0.95.", show_default="in expectation"),
    ] = None,
    budget: Annotated[float | None, Option(help="The whole run may cost so many US dollars, at its 95%.")] = None,
    objective: Annotated[
        str | None, Option(help="cost, time or energy.", show_default="the fastest within 5% of the least total cost")
    ] = None,
    pricing: Annotated[str, Option(help="on-demand or spot.")] = "on-demand",
    interruptions: Annotated[
        float | None,
        Option(help="How often a spot node is taken back, per hour: 0.05.", show_default="the catalog's, if it says"),
    ] = None,
    assume: Annotated[
        list[str] | None,
        Option(help="What-if: network=800MB/s, local_read=, local_write=, volume_read=, price=1.65 ..."),
    ] = None,
    what_if: Annotated[
        list[str] | None, Option(help="Multiply network, local, volumes, objects, cpu or price: network=1.5,price=0.7.")
    ] = None,
    network_distribution: Annotated[
        str | None, Option(help="Nodes' bandwidth is drawn as in one of the eight clouds A to H of Ballani et al.")
    ] = None,
    input: Annotated[
        str | None, Option(help="Where the data is: s3://bucket/path.", show_default="generated on the nodes")
    ] = None,
    output: Annotated[
        str | None, Option(help="Where the result goes: s3://bucket/path.", show_default="stays on the nodes")
    ] = None,
    zones: Annotated[int, Option(help="Spread the nodes over so many zones; traffic between them costs.")] = 1,
    discount: Annotated[
        list[str] | None, Option(help="Off the list prices: 15%, aws=15% or 'i4i.*=15%'; beside those in the settings.")
    ] = None,
    own_price: Annotated[
        list[str] | None, Option(help="What a type costs you per hour: i4i.4xlarge=0.95; before any discount.")
    ] = None,
    map_ratio: Annotated[float, Option(help="Bytes the map puts out for each it takes in; a sort's are 1.")] = 1.0,
    reduce_ratio: Annotated[float, Option(help="Bytes the reduce puts out for each it takes in.")] = 1.0,
    compute: Annotated[
        str | None, Option(help="What the job itself computes of its input, per vCPU: 50MB/s.", show_default="no limit")
    ] = None,
    profile: Annotated[str | None, Option(help="Take times and ranges from this calibrated profile.")] = None,
    option: Annotated[list[str] | None, Option(help="Further columns of the profile's runs: io=s3.")] = None,
    paper: Annotated[bool, Option("--paper", help="The papers' equations and nothing else.")] = False,
    top: Annotated[int, Option(help="How many candidates to show.")] = 10,
    explain: Annotated[bool, Option("--explain", help="Say why, and print the sum with its numbers.")] = False,
    rejected: Annotated[bool, Option("--rejected", help="List every type left out, and why.")] = False,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object.")] = False,
    out: Annotated[Path | None, Option(help="Also write the plan as JSON to this file.")] = None,
    html: Annotated[
        Path | None, Option(help="Also write a page for people to this file; it opens without a network.")
    ] = None,
) -> None:
    """Recommend the cluster to rent: which machine, how many, how long, how much, and why.

    Example: plan --data 100TB --model daytona
    """
    from datetime import date

    from planner.api import answer, answer_with_profile
    from planner.config.settings import load_settings
    from planner.provisioning.observed_capacity import capacity_seen
    from planner.schemas.plan import Request

    settings = load_settings(today=date.today())
    if catalog and cloud:
        raise BadInputError("--cloud and --catalog contradict each other: both say where to look, give one")
    request = Request(
        data_bytes=parse_size(data),
        model=model,
        catalogs=tuple(names(catalog) or names(cloud) or settings.plan_clouds or ("aws",)),
        regions=tuple(names(region)),
        instances=tuple(names(instance)),
        exclude=tuple(names(exclude)),
        arch=arch,
        max_vcpus=None if max_vcpus is None else _at_least_one("--max-vcpus", max_vcpus, most=10**9),
        nodes=None if nodes is None else _at_least_one("--nodes", nodes),
        max_nodes=_at_least_one("--max-nodes", max_nodes),
        deadline_s=None if deadline is None else parse_duration(deadline),
        confidence=confidence,
        budget_usd=_budget(budget),
        objective=_objective(objective),
        pricing=pricing,
        interruptions_per_node_hour=interruptions,
        assume=_assumptions(assume),
        scale=_factors(what_if),
        network_distribution=network_distribution,
        own_prices=(*own_prices(own_price), *discounts(discount), *settings.own_prices),
        node_limits=() if paper else (*_capacity(capacity), *capacity_seen()),
        input=input,
        output=output,
        zones=zones,
        map_ratio=map_ratio,
        reduce_ratio=reduce_ratio,
        compute_bytes_per_s_per_vcpu=None if compute is None else parse_rate(compute),
        paper=paper,
        top=_at_least_one("--top", top),
    )
    if profile:
        answered = answer_with_profile(request, profile, _options(option))
    else:
        answered = answer(request, today=date.today())
    if out:
        write_whole(out, answered.plan.to_json() + "\n", option="--out")
    if html and answered.best:
        from planner.cli.pages import plan_html

        write_whole(html, plan_html(answered), option="--html")
    _show(answered, explained=explain, rejected=rejected, json=json)


def _show(answered: Recommendation, *, explained: bool, rejected: bool, json: bool) -> None:
    from planner.planning.recommendation import require_best

    plan = answered.plan
    if json:
        show_text(plan.to_json())
    best = require_best(plan)
    if json:
        return
    from planner.report.plan_table import render_plan, render_rejected

    show(render_plan(plan))
    if explained:
        from planner.cost_model.model import load_model
        from planner.report.explain import explain
        from planner.report.reasons import reasons
        from planner.schemas.plan import ALL_MODELS

        name = best.model if plan.request.model == ALL_MODELS else plan.request.model
        show_text("\n".join(["\nWhy this cluster", *(f"* {why}" for why in reasons(plan, answered.contrast()))]))
        show_text("\nThe sum\n" + explain(plan, load_model(name)))
    if rejected:
        show(render_rejected(plan.rejected))


def names(values: list[str] | None) -> list[str]:
    """Options may be repeated, comma-separated, or both."""
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]


def _assumptions(values: list[str] | None) -> dict[str, float]:
    assumed: dict[str, float] = {}
    for item in names(values):
        name, equals, amount = item.partition("=")
        if not equals:
            raise BadInputError(f"--assume {item}: write it as NAME=RATE, for example network=800MB/s")
        if name in assumed:
            raise BadInputError(f"--assume {name} is given twice")
        assumed[name] = _number(f"--assume {name}", amount) if name in _PLAIN else parse_rate(amount)
    return assumed


def _capacity(values: list[str] | None) -> list[NodeLimit]:
    """Read `i4i.*=40`. Raises BadInputError for what is no number of nodes."""
    from planner.schemas.plan import NodeLimit

    found = []
    for item in names(values):
        kind, _, count = item.rpartition("=")
        if not kind or not count.isdecimal() or int(count) < 1:
            raise BadInputError(f"--capacity {item}: write it as TYPE=NODES, such as 'i4i.*=40'")
        found.append(NodeLimit(instance=kind, nodes=int(count), note="--capacity"))
    return found


def _options(values: list[str] | None) -> dict[str, str]:
    pairs = [item.partition("=") for item in names(values)]
    if any(not equals for _, equals, _ in pairs):
        raise BadInputError("--option: write it as NAME=VALUE, for example io=s3")
    return {name: value for name, _, value in pairs}


def _factors(values: list[str] | None) -> dict[str, float]:
    factors: dict[str, float] = {}
    for item in names(values):
        name, _, amount = item.partition("=")
        try:
            factors[name] = float(amount)
        except ValueError:
            raise BadInputError(f"--what-if {item}: write it as NAME=FACTOR, for example network=1.5") from None
    return factors


def _number(option: str, amount: str) -> float:
    try:
        value = float(amount.removeprefix("$"))
    except ValueError:
        raise BadInputError(f"{option}={amount}: not a number of US dollars per node-hour, or of watts") from None
    if not 0 < value < 1e6:
        raise BadInputError(f"{option}={amount}: must be positive and below a million")
    return value


def _budget(amount: float | None) -> float | None:
    if amount is not None and not 0 < amount < 1e12:
        raise BadInputError(f"--budget {amount}: must be a positive amount of US dollars")
    return amount


def _objective(word: str | None) -> Objective:
    if word is None or word == "balanced":
        return "balanced"
    if word == "cost":
        return "cost"
    if word == "time":
        return "time"
    if word == "energy":
        return "energy"
    raise BadInputError(f"--objective {word}: use one of {', '.join(_OBJECTIVES)}.{nearest(word, _OBJECTIVES)}")


def _at_least_one(option: str, count: int, *, most: int = 100_000) -> int:
    if not 1 <= count <= most:
        raise BadInputError(f"{option} {count}: must lie between 1 and {most}")
    return count
