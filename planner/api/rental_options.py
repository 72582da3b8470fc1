"""User options for rented machines, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from planner.config.cloud_defaults import default_region
from planner.errors import BadInputError
from planner.schemas.door import Offset, Usd, checked
from planner.schemas.request_forms import names
from planner.units import parse_duration

if TYPE_CHECKING:
    from planner.clusters.provisioning.order_from_plan import Limits

MOST_HOURS: Final = 2880.0
"""120 days: longer than any sort, and short enough for every calendar to hold the end; assumed."""
_NAMES: Final = ("ssh_from", "image", "node_identity", "subnet", "jump", "reservation")


@checked
@dataclass(frozen=True, kw_only=True)
class RentalOptions:
    """User options for rented machines, without the job."""

    cloud: str
    regions: tuple[str, ...] = ()
    max_cost: Usd | None = None
    max_hours: str | None = None
    ssh_from: str | None = None
    image: str | None = None
    staging: bool = False
    node_identity: str = ""
    pricing: str = "on-demand"
    subnet: str = ""
    is_private: bool = False
    jump: str = ""
    reservation: str = ""
    or_next: Offset = 2
    max_cost_per_month: Usd | None = None
    tags: tuple[tuple[str, str], ...] = ()
    region_source: str = field(default="", compare=False)
    """The source of the region, if it is the default of the cloud's own tool."""

    @property
    def limits(self) -> Limits:
        """Return the spending limits of this run and of the month. Raises BadInputError for more hours than machines
        may live, and InfeasibleError when the month's budget is spent.
        """
        from planner.clusters.provisioning.order_from_plan import Limits
        from planner.clusters.provisioning.spending import within_month

        hours = parse_duration(self.max_hours) / 3600 if self.max_hours else None
        if hours is not None and hours > MOST_HOURS:
            raise BadInputError(f"--max-hours {self.max_hours}: machines live {MOST_HOURS:g}h at most")
        return within_month(Limits(cost_usd=self.max_cost, hours=hours), self.max_cost_per_month, now=datetime.now(UTC))


def rental_options(options: Mapping[str, Any], *, staging: bool = False) -> RentalOptions:
    """Return the rental options of a command, which need not have `pricing` and `node_identity`. Raises BadInputError
    for other ways to buy machines.
    """
    for name in _NAMES:
        if options.get(name) == "":
            option = name.replace("_", "-")
            raise BadInputError(f"--{option} is empty; name one, or leave it out. Is a variable of your shell not set?")
    pricing = options.get("pricing", "on-demand")
    if pricing not in ("on-demand", "spot"):
        raise BadInputError(f"--pricing {pricing}: use on-demand or spot")
    if options["reservation"] and pricing == "spot":
        raise BadInputError("--reservation: no cloud takes spot machines from one; leave out --pricing spot")
    check_site(
        options["subnet"], ssh_from=options["ssh_from"], is_private=options["no_public_address"], jump=options["jump"]
    )
    cloud, words = options["cloud"] or "", names(options["region"])
    has_place = words or any(options.get(name) for name in ("plan", "input", "output"))
    default = None if has_place else default_region(cloud)
    try:
        regions = named_regions([default.value] if default else words, cloud or None)
    except BadInputError as error:
        hints = [f"{default.source} sets the region; --region names another"] if default else []
        raise BadInputError(error.message, [*error.details, *hints]) from error
    return RentalOptions(
        cloud=cloud,
        regions=regions,
        region_source=default.source if default else "",
        max_cost=options["max_cost"],
        max_hours=options["max_hours"],
        ssh_from=options["ssh_from"],
        image=options["image"],
        staging=staging,
        node_identity=options.get("node_identity") or "",
        pricing=pricing,
        subnet=options["subnet"] or "",
        is_private=options["no_public_address"],
        jump=options["jump"] or "",
        reservation=options["reservation"] or "",
        or_next=options.get("or_next", RentalOptions.or_next),
        max_cost_per_month=options.get("max_cost_per_month"),
        tags=tuple(map(parse_tag, options.get("tag") or ())),
    )


def parse_tag(text: str) -> tuple[str, str]:
    """Return the key and value of a tag in the form that all clouds accept. Raises BadInputError for other tags."""
    key, mark, value = text.partition("=")
    if not mark or not re.fullmatch("[a-z][a-z0-9_-]{0,62}", key) or not re.fullmatch("[a-z0-9_-]{0,63}", value):
        raise BadInputError(
            f"--tag {text}: write key=value in lower-case letters, digits, - and _",
            ["all clouds take those: cost-center=lab-7"],
        )
    if key.startswith("planner-"):
        raise BadInputError(f"--tag {text}: keys that begin with planner- are the planner's own; choose another")
    return key, value


def named_regions(words: Sequence[str], cloud: str | None) -> tuple[str, ...]:
    """Return regions as a cloud names them. Raises BadInputError for an unknown name: calls to it would take minutes
    and end the run.
    """
    from planner.catalog import load_catalog
    from planner.catalog.cloud_regions import regions_of
    from planner.clouds.registry import CLOUDS

    if cloud is None or cloud not in CLOUDS or not words:
        return tuple(words)
    (regions,) = regions_of(words, [load_catalog(cloud)])
    return regions


def check_site(subnet: str | None, *, ssh_from: str | None, is_private: bool, jump: str | None = None) -> None:
    """Raise BadInputError for a user's network in which the head could not be reached."""
    if is_private and not (subnet and ssh_from):
        raise BadInputError(
            "--no-public-address needs --subnet and --ssh-from",
            ["--subnet names the network of the head, --ssh-from the private network that reaches it"],
        )
    if jump and not is_private:
        raise BadInputError(
            f"--jump {jump}: leads to private addresses alone; add --no-public-address, or leave it out"
        )
    if jump and not re.fullmatch(r"(?!-)[\w.@:-]+", jump):
        raise BadInputError(f"--jump {jump}: write it as for ssh, host or user@host; options belong in ~/.ssh/config")
