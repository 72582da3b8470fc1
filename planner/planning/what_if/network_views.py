"""The leading types under three networks: without limit, scaling ideally, and as expected at scale.

Source: SoCC 2015, Figure 9. If the winner changes from one network to the next, the network decides the choice, and a
type chosen by its disks alone, or by its stated network rate, costs more than it seems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from planner.schemas.plan import Candidate, NetworkView, Plan, Request

_LEADING: Final = 5
"""Number of types taken from the top of each network's ranking."""

VIEWS: Final[tuple[NetworkView, ...]] = get_args(NetworkView)

_WORDS: Final = {"unlimited": "without a limit", "ideal": "as stated", "expected": "as expected at scale"}


@dataclass(frozen=True, kw_only=True)
class NetworkRow:
    """One type of a model and region: its best cluster under each network (None: none is feasible), and the networks
    under which it is recommended.
    """

    model: str
    cloud: str
    region: str
    instance_type: str
    clusters: Mapping[NetworkView, Candidate | None]
    wins: tuple[NetworkView, ...]


def network_as_it_is(request: Request) -> bool:
    """Return whether a request leaves the network to the catalog, so that there is something to compare with."""
    return request.network == "expected" and not request.assumes("network") and request.network_distribution is None


def network_rows(request: Request, *, plan_again: Callable[[Request], Plan]) -> tuple[NetworkRow, ...]:
    """Return the types that lead under any of the networks, cheapest as expected first; none if the user gives the
    network's speed.
    """
    if not network_as_it_is(request):
        return ()
    asked = {view: replace(request, network=view) for view in VIEWS}
    leaders = [plan_again(replace(ask, top=_LEADING)).candidates for ask in asked.values()]
    names = tuple(sorted({leader.instance_type for candidates in leaders for leader in candidates}))
    if not names:
        return ()
    plans = {view: plan_again(replace(ask, instances=names, top=len(names))) for view, ask in asked.items()}
    clusters: dict[tuple[str, ...], dict[NetworkView, Candidate]] = {}
    for view, plan in plans.items():
        for candidate in plan.candidates:
            clusters.setdefault(_offer_key(candidate), {})[view] = candidate
    winners = {view: _offer_key(plan.best) for view, plan in plans.items() if plan.best}
    return tuple(sorted((_row(place, views, winners) for place, views in clusters.items()), key=_by_expected_cost))


def verdict(rows: Sequence[NetworkRow]) -> str:
    """Return a sentence on where the winner changes from one network to the next."""
    winners = {view: row for row in rows for view in row.wins}
    if len({id(row) for row in winners.values()}) < 2:
        return "The winner is the same under all three networks."
    parts = (f"{winners[view].instance_type} wins {_WORDS[view]}" for view in VIEWS if view in winners)
    return f"The network decides: {', '.join(parts)}."


def _offer_key(candidate: Candidate) -> tuple[str, ...]:
    return candidate.model, candidate.cloud, candidate.region, candidate.instance_type


def _row(
    place: tuple[str, ...], views: Mapping[NetworkView, Candidate], winners: Mapping[NetworkView, tuple[str, ...]]
) -> NetworkRow:
    model, cloud, region, instance_type = place
    return NetworkRow(
        model=model,
        cloud=cloud,
        region=region,
        instance_type=instance_type,
        clusters={view: views.get(view) for view in VIEWS},
        wins=tuple(view for view in VIEWS if winners.get(view) == place),
    )


def _by_expected_cost(row: NetworkRow) -> float:
    expected = row.clusters["expected"]
    return expected.cost_usd.total if expected else float("inf")
