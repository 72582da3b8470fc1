"""The options that make up a `Request`: what `plan` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, cast, get_args

from typer import Option

from planner.cli import completion
from planner.errors import BadInputError, nearest
from planner.schemas.asked import in_seconds, is_plain, the_size
from planner.schemas.asked_prices import capacities, clouds, discounts, names, own_prices
from planner.schemas.plan import NetworkView, Objective, Request, meaning
from planner.units import parse_rate, parse_share

PANELS: Final = {
    heading: tuple(options.split())
    for heading, options in {
        "What to sort": "data model most_data map_ratio reduce_ratio compute profile option",
        "Where": "cloud catalog region input output zones",
        "Machines": "instance exclude arch previous_generations",
        "Limits": "deadline sort_deadline confidence budget",
        "Cluster size": "nodes max_nodes max_vcpus capacity head_room",
        "Money": "objective pricing interruptions discount own_price",
        "Evidence and what-if": "engine evidence assume what_if network network_distribution paper",
        "Spark": "from_log ran_on app",
        "Output": "explain show wide json out html force rejected top sort columns",
    }.items()
}
"""The options under the headings of the help; in each those that people use first come first."""


def _means(field: str, *flags: str, **settings: Any) -> Any:
    """Return the option that sets a field of `Request`: that field's meaning is its help."""
    return Option(*flags, help=meaning(field), **settings)


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The options of `plan` that say what is asked for; beside them the profile to answer with."""

    data: Annotated[str | None, _means("data_bytes")] = None
    model: Annotated[str, _means("model", autocompletion=completion.models)] = Request.model
    most_data: Annotated[bool, _means("most_data", "--most-data")] = Request.most_data
    cloud: Annotated[
        list[str] | None,
        Option(
            help="Clouds, comma-separated.",
            show_default="those in the settings, or aws",
            autocompletion=completion.catalogs,
        ),
    ] = None
    catalog: Annotated[
        list[str] | None,
        Option(help="Catalogs by name or directory, instead of --cloud.", autocompletion=completion.catalogs),
    ] = None
    region: Annotated[list[str] | None, _means("regions", autocompletion=completion.regions)] = None
    instance: Annotated[list[str] | None, _means("instances", autocompletion=completion.instances)] = None
    exclude: Annotated[list[str] | None, _means("exclude")] = None
    arch: Annotated[str | None, _means("arch", autocompletion=completion.among(("x86_64", "arm64")))] = None
    previous_generations: Annotated[bool, _means("previous_generations", "--previous-generations")] = (
        Request.previous_generations
    )
    max_vcpus: Annotated[int | None, _means("max_vcpus")] = None
    nodes: Annotated[int | None, _means("nodes")] = None
    max_nodes: Annotated[int, _means("max_nodes")] = Request.max_nodes
    capacity: Annotated[
        list[str] | None,
        Option(
            help="At most so many instances of a type: 'i4i.*=40'.",
            show_default="what the cloud refused your runs in the last week",
        ),
    ] = None
    head_room: Annotated[str | None, _means("head_room", show_default="for skew, and what a lost node held")] = None
    deadline: Annotated[str | None, _means("deadline_s")] = None
    sort_deadline: Annotated[str | None, _means("sort_deadline_s")] = None
    confidence: Annotated[str | None, _means("confidence", show_default="in expectation")] = None
    budget: Annotated[float | None, _means("budget_usd")] = None
    objective: Annotated[
        str | None,
        _means(
            "objective",
            show_default="the fastest within 5% of the least total cost",
            autocompletion=completion.among(get_args(Objective)),
        ),
    ] = None
    evidence: Annotated[str, _means("evidence", autocompletion=completion.among(("measured", "spec", "any")))] = (
        Request.evidence
    )
    pricing: Annotated[str, _means("pricing", autocompletion=completion.among(("on-demand", "spot")))] = Request.pricing
    interruptions: Annotated[
        float | None, _means("interruptions_per_node_hour", show_default="the catalog's, if it says")
    ] = None
    assume: Annotated[list[str] | None, _means("assume")] = None
    what_if: Annotated[list[str] | None, _means("scale")] = None
    network_distribution: Annotated[str | None, _means("network_distribution")] = None
    network: Annotated[str, _means("network", autocompletion=completion.among(get_args(NetworkView)))] = Request.network
    input: Annotated[str | None, _means("input", show_default="generated on the nodes")] = None
    output: Annotated[str | None, _means("output", show_default="stays on the nodes")] = None
    zones: Annotated[int, _means("zones")] = Request.zones
    discount: Annotated[
        list[str] | None, Option(help="Off the list prices: 15%, aws=15% or 'i4i.*=15%'; beside those in the settings.")
    ] = None
    own_price: Annotated[
        list[str] | None, Option(help="What a type costs you per hour: i4i.4xlarge=0.95; before any discount.")
    ] = None
    map_ratio: Annotated[float, _means("map_ratio")] = Request.map_ratio
    reduce_ratio: Annotated[float, _means("reduce_ratio")] = Request.reduce_ratio
    compute: Annotated[str | None, _means("compute_bytes_per_s_per_vcpu", show_default="no limit")] = None
    profile: Annotated[str | None, Option(help="Take times and ranges from this calibrated profile.")] = None
    option: Annotated[list[str] | None, Option(help="Further columns of the profile's runs: io=s3.")] = None
    engine: Annotated[str, _means("engine", autocompletion=completion.engines)] = Request.engine
    paper: Annotated[bool, _means("paper", "--paper")] = Request.paper
    top: Annotated[int, _means("top")] = Request.top

    def request(self) -> Request:
        """Return what is asked for, with the user's settings and the capacity seen in the last week.

        Raises BadInputError for what cannot be understood, and for options that contradict each other.
        """
        from datetime import date

        from planner.config.settings import load_settings
        from planner.provisioning.observed_capacity import capacity_seen

        if self.catalog and self.cloud:
            raise BadInputError("--cloud and --catalog contradict each other: both say where to look, give one")
        settings = load_settings(today=date.today())
        return Request(
            data_bytes=the_size(self.data, most_data=self.most_data),
            model=self.model,
            catalogs=clouds(names(self.catalog) or names(self.cloud) or settings.plan_clouds or ("aws",)),
            regions=tuple(names(self.region)),
            instances=tuple(names(self.instance)),
            exclude=tuple(names(self.exclude)),
            arch=self.arch,
            previous_generations=self.previous_generations,
            max_vcpus=None if self.max_vcpus is None else _at_least_one("--max-vcpus", self.max_vcpus, most=10**9),
            nodes=None if self.nodes is None else _at_least_one("--nodes", self.nodes),
            max_nodes=_at_least_one("--max-nodes", self.max_nodes),
            head_room=None if self.head_room is None else parse_share(self.head_room),
            deadline_s=in_seconds(self.deadline),
            sort_deadline_s=in_seconds(self.sort_deadline),
            confidence=None if self.confidence is None else parse_share(self.confidence),
            budget_usd=_budget(self.budget),
            objective=_objective(self.objective),
            evidence=self.evidence,
            pricing=self.pricing,
            interruptions_per_node_hour=self.interruptions,
            assume=_assumptions(self.assume),
            scale=_factors(self.what_if),
            network_distribution=self.network_distribution,
            network=cast("NetworkView", self.network),
            own_prices=(*own_prices(self.own_price), *discounts(self.discount), *settings.own_prices),
            node_limits=() if self.paper else (*capacities(self.capacity), *capacity_seen()),
            input=self.input,
            output=self.output,
            zones=self.zones,
            map_ratio=self.map_ratio,
            reduce_ratio=self.reduce_ratio,
            compute_bytes_per_s_per_vcpu=None if self.compute is None else parse_rate(self.compute),
            engine=self.engine,
            paper=self.paper,
            top=_at_least_one("--top", self.top),
            most_data=self.most_data,
        )


def _assumptions(values: list[str] | None) -> dict[str, float]:
    assumed: dict[str, float] = {}
    for item in names(values):
        name, equals, amount = item.partition("=")
        if not equals:
            raise BadInputError(f"--assume {item}: write it as NAME=RATE, for example network=800MB/s")
        if name in assumed:
            raise BadInputError(f"--assume {name} is given twice")
        assumed[name] = _number(f"--assume {name}", amount) if is_plain(name) else parse_rate(amount)
    return assumed


def column_values(values: list[str] | None) -> dict[str, str]:
    """Return the further columns of a profile's runs: `io=s3`. Raises BadInputError for what is no pair."""
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
    objectives = get_args(Objective)
    if word is not None and word not in objectives:
        raise BadInputError(f"--objective {word}: use one of {', '.join(objectives)}.{nearest(word, objectives)}")
    return cast("Objective", word or Request.objective)


def _at_least_one(option: str, count: int, *, most: int = 100_000) -> int:
    if not 1 <= count <= most:
        raise BadInputError(f"{option} {count}: must lie between 1 and {most}")
    return count
