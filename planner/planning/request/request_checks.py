"""Checks of a request before anything is planned."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Final, get_args

from planner.catalog import Catalog, load_catalog
from planner.catalog.bandwidth_distributions import distribution
from planner.catalog.cloud_regions import regions_of
from planner.cost_model.engine import Engine
from planner.cost_model.evidence import CHOICES
from planner.cost_model.model import CostModel, run_by
from planner.cost_model.rates import check_rates
from planner.errors import BadInputError, nearest, some_of
from planner.planning.request.filters import WEAKEST
from planner.planning.request.stored_data import stored_data
from planner.schemas.plan import NetworkView, Request
from planner.schemas.request_forms import CLOUDS, OwnPrice
from planner.units import count_text

SUREST: Final = 0.9999
"""Largest probability that can be requested: too few runs are known to measure the equations' error beyond it."""

MOST_ZONES: Final = 6
"""Most availability zones of a region of the four clouds: us-east-1 of AWS has a to f; others have 3 to 5."""


def check_request(request: Request, catalogs: Sequence[Catalog]) -> None:
    """Raise BadInputError for amounts out of range, options that contradict each other, and unknown names."""
    check_rates(
        assume=request.assume, scale=request.scale, compute_bytes_per_s_per_vcpu=request.compute_bytes_per_s_per_vcpu
    )
    _check_amounts(request)
    _check_confidence(request)
    _check_interruptions(request)
    require_known_types(request, catalogs)
    _check_stored(request)
    _check_power(request, catalogs)
    if request.network_distribution is not None:
        if request.assumes("network"):
            raise BadInputError(
                "--network-distribution and --assume network both say what the network does: give one",
                code="contradiction",
            )
        distribution(request.network_distribution)


def run_by_engine(request: Request, models: Sequence[CostModel], engine: Engine) -> tuple[Request, list[CostModel]]:
    """Return the request with no more nodes than an engine can use, and the models as it runs them.

    Raises BadInputError if more nodes are asked for.
    """
    if engine.one_machine and request.nodes not in (None, 1):
        raise BadInputError(
            f"--engine {engine.name} sorts on one machine, not on {request.nodes}; use --engine ray",
            code="one-machine-engine",
        )
    if engine.one_machine:
        request = replace(request, nodes=1, max_nodes=Request.max_nodes)
    return request, [run_by(model, engine) for model in models]


def _check_amounts(request: Request) -> None:
    if request.head_room is not None and not 0 <= request.head_room <= 0.9:
        raise BadInputError(
            f"head room {request.head_room:g}: a share of the disks from 0 to 0.9, such as 0.1", code="out-of-range"
        )
    if not 1 <= request.zones <= MOST_ZONES:
        raise BadInputError(
            f"--zones {request.zones}: must lie between 1 and {MOST_ZONES}; no region has more zones",
            code="out-of-range",
        )
    for name, ratio in (("map", request.map_ratio), ("reduce", request.reduce_ratio)):
        if not 1e-6 <= ratio < 1e6:
            raise BadInputError(
                f"{name} ratio {ratio:g}: output over input must be positive, from 0.000001 to below a million",
                code="out-of-range",
            )
    default = Request.max_nodes
    if request.nodes and request.max_nodes != default and request.nodes > request.max_nodes:
        raise BadInputError(
            f"--nodes {request.nodes} and --max-nodes {request.max_nodes} contradict each other: give one",
            code="contradiction",
        )
    if request.evidence not in WEAKEST:
        raise BadInputError(
            f"evidence {request.evidence}: use {', '.join(WEAKEST)}.{nearest(request.evidence, list(WEAKEST))}",
            code="unknown-word",
        )
    if request.network not in get_args(NetworkView):
        raise BadInputError(
            f"--network {request.network}: use one of {', '.join(get_args(NetworkView))}", code="unknown-word"
        )
    if request.network != "expected" and (request.assumes("network") or request.network_distribution):
        raise BadInputError(
            "--network and an assumed network contradict each other: both say how fast it is, give one",
            code="contradiction",
        )
    if request.arch not in (None, "x86_64", "arm64"):
        raise BadInputError(f"arch {request.arch}: use x86_64 or arm64", code="unknown-word")


def _check_confidence(request: Request) -> None:
    if request.confidence is None:
        return
    if not 0 < request.confidence < 1:
        raise BadInputError(
            f"confidence {request.confidence:g}: a probability between 0 and 1, such as 95% or 0.95",
            code="out-of-range",
        )
    if request.confidence > SUREST:
        raise BadInputError(
            f"confidence {request.confidence!r}: no forecast is so sure; at most {SUREST}, usual is 0.95",
            code="too-sure",
        )
    if not request.has_deadline:
        raise BadInputError(
            "--confidence says how many runs of 100 meet a deadline: give --deadline or --sort-deadline, too",
            code="missing-companion",
        )


def _check_interruptions(request: Request) -> None:
    interruptions = request.interruptions_per_node_hour
    if interruptions is not None and not 0 < interruptions <= 60:
        raise BadInputError(
            f"interruptions {interruptions:g}: an hourly rate per node above 0 and at most 60, such as 0.05",
            code="out-of-range",
        )
    if interruptions is not None and "spot" not in request.pricings:
        raise BadInputError(
            f"interruptions are of spot nodes: say pricing spot, not {request.pricing}", code="not-spot"
        )


def _check_stored(request: Request) -> None:
    """Check options about stored files: generated data is records on the nodes, without bucket or files."""
    of_input = {
        "--format": request.format,
        "--compression": request.compression,
        "--files": request.files,
        "--input-region": request.input_region,
    }
    given = [option for option, value in of_input.items() if value is not None]
    if given and request.input is None:
        raise BadInputError(
            f"{given[0]} describes files that exist: name them, too, such as --input s3://bucket/path",
            ["the form of the answer is another option: --json, or --show csv"] if given[0] == "--format" else [],
            code="missing-companion",
        )
    if request.output_region is not None and request.output is None:
        raise BadInputError(
            "--output-region is of a bucket: name it, such as --output s3://bucket/path", code="missing-companion"
        )
    if request.unknown not in (None, *CHOICES):
        raise BadInputError(
            f"--unknown {request.unknown}: use {' or '.join(CHOICES)}.{nearest(str(request.unknown), CHOICES)}",
            code="unknown-word",
        )
    stored_data(request)


def _check_power(request: Request, catalogs: Sequence[Catalog]) -> None:
    """Check the assumed power: nodes of different types need different power, so it is assumed per type."""
    alone = len(request.instances) == 1 and not set("*?[") & set(request.instances[0])
    if "power" in request.assume and not alone:
        watts = f"{request.assume['power']:g}"
        raise BadInputError(
            f"assume power={watts}: nodes of different types need different power",
            [f"name the type: power:TYPE={watts}, where TYPE may be a pattern; or ask for one --instance"],
            code="one-power-for-all",
        )
    for pattern, assumed in ((assumed.partition(":")[2], assumed) for assumed in request.assume if ":" in assumed):
        names = [name for catalog in catalogs for name in catalog.instances.cloud_type.tolist()]
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInputError(
                f"assume {assumed}: no type is called {pattern!r}.{nearest(pattern, names)}", code="unknown-type"
            )


def require_known_types(request: Request, catalogs: Sequence[Catalog]) -> None:
    """Raise BadInputError for a typed pattern that matches no type, and for a price sheet of which no row does; other
    lists of prices and limits may name types of other clouds alone.
    """
    for option, pattern in _patterns(request):
        names = [name for catalog in catalogs for name in catalog.type_names]
        if not any(fnmatchcase(name, pattern) for name in names):
            where = ", ".join(catalog.name for catalog in catalogs)
            meant = _other_cloud(pattern, [catalog.name for catalog in catalogs]) or _suggestion(pattern, names)
            raise BadInputError(f"{option}: unknown instance type {pattern!r} in {where}.{meant}", code="unknown-type")
    _require_types_of_sheets(request, catalogs)


def _require_types_of_sheets(request: Request, catalogs: Sequence[Catalog]) -> None:
    names = [name for catalog in catalogs for name in catalog.type_names]
    sheets = defaultdict[str, list[OwnPrice]](list)
    for own in request.own_prices:
        if own.note.startswith("--own-price "):
            sheets[own.note.partition(", columns")[0]].append(own)
    for sheet, prices in sheets.items():
        called = {own.instance for own in prices}
        known = {pattern for pattern in called if any(fnmatchcase(name, pattern) for name in names)}
        if not known:
            where, first = ", ".join(catalog.name for catalog in catalogs), prices[0].instance
            meant = (_other_cloud(first, [c.name for c in catalogs]) or _suggestion(first, names)).strip()
            text = f"{sheet}: none of its {count_text(len(called), 'type')} is in {where}"
            raise BadInputError(text, [f"the first is {first!r}", *filter(None, [meant])], code="unknown-type")
        planned = regions_of(request.regions, catalogs)
        if not any(_is_of(own, *place) for own in prices for place in zip(catalogs, planned, strict=True)):
            listed = f"its prices are of {some_of(sorted({own.region for own in prices if own.instance in known}))}"
            where = some_of(sorted(set(chain(*planned))))
            raise BadInputError(f"{sheet}: it has no price in {where}", [listed], code="unknown-region")


def _is_of(own: OwnPrice, catalog: Catalog, regions: Sequence[str]) -> bool:
    """Return whether an own price is of a type of a catalog in one of some regions."""
    is_there = any(fnmatchcase(region, own.region) for region in regions)
    return is_there and any(fnmatchcase(name, own.instance) for name in catalog.type_names)


def _patterns(request: Request) -> Iterator[tuple[str, str]]:
    """Yield each pattern of types that the user typed, with its option."""
    yield from (("--instance", pattern) for pattern in request.instances)
    yield from (("--exclude", pattern) for pattern in request.exclude)
    yield from ((own.note, own.instance) for own in request.own_prices if own.note in ("--own-price", "--discount"))
    yield from ((limit.note, limit.instance) for limit in request.node_limits if limit.note.startswith("--"))


def _other_cloud(pattern: str, requested: Sequence[str]) -> str:
    """Return the sentence naming a cloud outside the request that has types of this name; "" if none has."""
    for cloud in CLOUDS:
        if cloud in requested:
            continue
        if any(fnmatchcase(name, pattern) for name in load_catalog(cloud).instances.cloud_type.tolist()):
            return f" It is of {cloud}: say --cloud {cloud}, too."
    return ""


def _suggestion(pattern: str, names: Sequence[str]) -> str:
    family = next((name for name in names if re.match(rf"{re.escape(pattern)}\W", name)), None)
    if family is None:
        return nearest(pattern, names)
    return f" Its family is {f'{pattern}{family[len(pattern)]}*'!r}."
