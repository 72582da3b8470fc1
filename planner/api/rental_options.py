"""User options for rented machines, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from planner.config.cloud_defaults import default_region
from planner.errors import BadInputError, about
from planner.schemas.door import Between, Help, Offset, checked
from planner.schemas.request_forms import name_list, pairs
from planner.units import parse_duration

if TYPE_CHECKING:
    from planner.clusters.provisioning.order_from_plan import Limits

RentedCloud = Literal["aws", "gcp", "azure"]
_Spending = Annotated[float, Between(0.01)]
MOST_HOURS: Final = 2880.0
"""120 days: longer than any sort, and short enough for every calendar to hold the end; assumed."""
_NAMES: Final = ("ssh_from", "image", "node_identity", "subnet", "jump", "reservation")


@checked
@dataclass(frozen=True, kw_only=True)
class RentalOptions:
    """How to rent the machines of a job: the arguments of `up` and `run` beside the job, and options of the commands.

    Raises BadInputError for values that contradict each other, and for unknown regions: calls to those would take
    minutes and end the run.
    """

    cloud: RentedCloud
    region: Annotated[
        str | Sequence[str] | None,
        Help("Regions to try, in this order; the first is planned for.", default="the catalog's", complete="regions"),
    ] = None
    max_cost: Annotated[_Spending | None, Help("Most US dollars that the whole run may cost.")] = None
    max_hours: Annotated[str | None, Help("Every machine ends by itself after: 4h, 90m.")] = None
    ssh_from: Annotated[
        str | None, Help("The only network that may reach the head.", default="this machine's address")
    ] = None
    image: Annotated[str | None, Help("Machine image.", default="the newest stock Ubuntu 24.04")] = None
    staging: Annotated[bool, Help("Let the nodes reach the cloud's object store.")] = False
    node_identity: Annotated[
        str | None, Help("What the machines are to the cloud: instance profile, service account, managed identity.")
    ] = None
    pricing: Annotated[
        Literal["on-demand", "spot"], Help("on-demand, or spot: all but the head may be taken back, and are replaced.")
    ] = "on-demand"
    subnet: Annotated[
        str | None,
        Help(
            "A subnet that exists: its id on AWS and Azure, its name on Google.",
            default="a network of the run's own, removed in the end",
        ),
    ] = None
    no_public_address: Annotated[bool, Help("Reach the head at its private address; with --subnet and --ssh-from.")] = (
        False
    )
    jump: Annotated[
        str | None,
        Help("Machine, as your own ssh knows it, through which the head is reached; with --no-public-address."),
    ] = None
    reservation: Annotated[
        str | None,
        Help("Capacity that is reserved already: an id on AWS, a name on Google, a group's resource id on Azure."),
    ] = None
    or_next: Annotated[Offset, Help("How many of the plan's next types to try where there is no room.")] = 2
    max_cost_per_month: Annotated[
        _Spending | None,
        Help(
            "Most US dollars in a calendar month for all runs that this machine knows.",
            default="[limits] in the settings file",
        ),
    ] = None
    tag: Annotated[
        Mapping[str, str] | Sequence[str] | None, Help("KEY=VALUE, put on everything that is created; may be repeated.")
    ] = None
    region_source: str = field(default="", compare=False)
    """The source of the region, if it is the default of the cloud's own tool."""

    def __post_init__(self) -> None:
        for name in _NAMES:
            if getattr(self, name) == "":
                raise BadInputError(
                    f"`{name}` is empty; name one, or leave it out. Is a variable of your shell not set?",
                    field=name,
                    code="empty",
                )
        if self.reservation and self.pricing == "spot":
            raise BadInputError(
                "`reservation`: no cloud takes spot machines from one; leave out `pricing=spot`",
                field="reservation",
                code="contradiction",
            )
        with about("max_hours"):
            is_too_long = self.max_hours and parse_duration(self.max_hours) > MOST_HOURS * 3600
        if is_too_long:
            raise BadInputError(
                f"`max_hours={self.max_hours}`: machines live {MOST_HOURS:g}h at most",
                field="max_hours",
                code="out-of-range",
            )
        if self.ssh_from:
            from planner.clusters.provisioning.order_from_plan import parse_network

            parse_network(self.ssh_from)
        check_site(self.subnet, ssh_from=self.ssh_from, no_public_address=self.no_public_address, jump=self.jump)
        if self.tag:
            from planner.clouds.tag_rules import require_tags

            with about("tag"):
                require_tags(self.tags, cloud=self.cloud)
        _ = self.regions

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions as the cloud names them, the first choice first."""
        try:
            return named_regions(name_list(self.region), self.cloud)
        except BadInputError as error:
            hints = [f"{self.region_source} sets the region; `region` names another"] if self.region_source else []
            raise error.reworded(error.message, *hints) from error

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Key and value of each tag."""
        return tuple(pairs("tag", self.tag or {}, example="key=value, for example cost-center=lab-7").items())

    @property
    def limits(self) -> Limits:
        """Return the spending limits of this run and of the month. Raises InfeasibleError when the month's budget is
        spent.
        """
        from planner.clusters.provisioning.order_from_plan import Limits
        from planner.clusters.provisioning.spending import within_month

        hours = parse_duration(self.max_hours) / 3600 if self.max_hours else None
        return within_month(Limits(cost_usd=self.max_cost, hours=hours), self.max_cost_per_month, now=datetime.now(UTC))


def rental_options(options: Mapping[str, Any]) -> RentalOptions:
    """Return the rental options among those of a command or a function; without a region and a place of the job, in
    the region that the cloud's own tool would use.
    """
    given = {item.name: options[item.name] for item in fields(RentalOptions) if item.name in options}
    has_place = any(options.get(name) for name in ("region", "plan", "input", "output"))
    default = None if has_place else default_region(given["cloud"])
    in_default = {"region": default.value, "region_source": default.source} if default else {}
    return RentalOptions(**given | in_default)


def named_regions(words: Sequence[str], cloud: str) -> tuple[str, ...]:
    """Return regions as a cloud names them. Raises BadInputError for an unknown name."""
    from planner.catalog import load_catalog
    from planner.catalog.cloud_regions import regions_of

    return regions_of(words, [load_catalog(cloud)])[0] if words else ()


def check_site(subnet: str | None, *, ssh_from: str | None, no_public_address: bool, jump: str | None = None) -> None:
    """Raise BadInputError for a user's network in which the head could not be reached."""
    if no_public_address and not (subnet and ssh_from):
        raise BadInputError(
            "`no_public_address=True` needs `subnet` and `ssh_from`",
            ["`subnet` names the network of the head, `ssh_from` the private network that reaches it"],
            field="no_public_address",
            code="missing-companion",
        )
    if jump and not no_public_address:
        raise BadInputError(
            f"`jump={jump}`: leads to private addresses alone; add `no_public_address`, or leave it out",
            field="jump",
            code="missing-companion",
        )
    if jump and not re.fullmatch(r"(?!-)[\w.@:-]+", jump):
        raise BadInputError(
            f"`jump={jump}`: write it as for ssh, host or user@host; options belong in ~/.ssh/config",
            field="jump",
            code="malformed",
        )
