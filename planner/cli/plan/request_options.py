"""The options that make up a `Request`: what `plan` is asked. Those that other commands have, too, have names here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args

from typer import Option

from planner.cli.shell import completion
from planner.schemas.arguments import request_fields
from planner.schemas.plan import NetworkView, Objective, Request, meaning

PANELS: Final = {
    heading: tuple(options.split())
    for heading, options in {
        "Used first": "data deadline cloud region pricing discount model what_if explain html",
        "What to sort": "most_data map_ratio reduce_ratio compute profile option",
        "Where": "catalog input output zones",
        "Machines": "instance exclude arch previous_generations",
        "Limits": "budget confidence sort_deadline",
        "Cluster size": "nodes max_nodes max_vcpus capacity head_room",
        "Money": "objective own_price interruptions",
        "Evidence and what-if": "assume evidence engine network network_distribution paper",
        "Simulation": "simulate draws seed lose timeline",
        "Output": "show wide json out force rejected top sort columns",
        "Spark": "from_log ran_on app",
    }.items()
}
"""The options under the headings of the help, in its order; the ten that people use first come first."""


def _means(field: str, *flags: str, **settings: Any) -> Any:
    """Return the option that sets a field of `Request`: that field's meaning is its help."""
    return Option(*flags, help=meaning(field), **settings)


Data = Annotated[str | None, _means("data_bytes")]
Model = Annotated[str, _means("model", autocompletion=completion.models)]
OneModel = Annotated[
    str,
    Option(help="Cost model: a name that `planner models` lists, or a TOML file.", autocompletion=completion.models),
]
Clouds = Annotated[
    list[str] | None,
    Option(
        help="Clouds, comma-separated.",
        show_default="those in the settings, or aws",
        autocompletion=completion.catalogs,
    ),
]
Catalogs = Annotated[
    list[str] | None,
    Option(help="Catalogs by name or directory, instead of --cloud.", autocompletion=completion.catalogs),
]
Regions = Annotated[list[str] | None, _means("regions", autocompletion=completion.regions)]
Instances = Annotated[list[str] | None, _means("instances", autocompletion=completion.instances)]
Nodes = Annotated[int | None, _means("nodes")]
MaxNodes = Annotated[int, _means("max_nodes")]
_Input = Annotated[str | None, _means("input", show_default="generated on the nodes")]
_Output = Annotated[str | None, _means("output", show_default="stays on the nodes")]


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The options of `plan` that say what is asked for; beside them the profile to answer with."""

    data: Data = None
    model: Model = Request.model
    most_data: Annotated[bool, _means("most_data", "--most-data")] = Request.most_data
    cloud: Clouds = None
    catalog: Catalogs = None
    region: Regions = None
    instance: Instances = None
    exclude: Annotated[list[str] | None, _means("exclude")] = None
    arch: Annotated[str | None, _means("arch", autocompletion=completion.among(("x86_64", "arm64")))] = None
    previous_generations: Annotated[bool, _means("previous_generations", "--previous-generations")] = (
        Request.previous_generations
    )
    max_vcpus: Annotated[int | None, _means("max_vcpus")] = None
    nodes: Nodes = None
    max_nodes: MaxNodes = Request.max_nodes
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
    budget: Annotated[str | None, _means("budget_usd")] = None
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
    input: _Input = None
    output: _Output = None
    zones: Annotated[int, _means("zones")] = Request.zones
    discount: Annotated[
        list[str] | None, Option(help="Off the list prices: 15%, aws=15% or 'i4i.*=15%'; beside those in the settings.")
    ] = None
    own_price: Annotated[
        list[str] | None, Option(help="What a type costs you per hour: i4i.4xlarge=0.95; before any discount.")
    ] = None
    map_ratio: Annotated[str | None, _means("map_ratio", show_default="1")] = None
    reduce_ratio: Annotated[str | None, _means("reduce_ratio", show_default="1")] = None
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

        from planner.clusters.provisioning.observed_capacity import capacity_seen
        from planner.config.settings import load_settings

        given = {name: value for name, value in vars(self).items() if value is not None and name not in _OF_PROFILE}
        fields = request_fields({"data": None, **given})
        settings = load_settings(today=date.today())
        fields["catalogs"] = fields.get("catalogs") or settings.plan_clouds or Request.catalogs
        fields["own_prices"] = (*fields.get("own_prices", ()), *settings.own_prices)
        fields["node_limits"] = () if self.paper else (*fields.get("node_limits", ()), *capacity_seen())
        return Request(**fields)


_OF_PROFILE: Final = ("profile", "option")
