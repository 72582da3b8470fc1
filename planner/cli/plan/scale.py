"""`planner scale`: comparison of few large nodes with many small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.plan.request_options import Catalogs, Clouds, MaxNodes, Model, OneSize, Regions, RequestOptions
from planner.cli.shell.console import show, show_json, show_sentences, table
from planner.cli.shell.progress import stepped
from planner.errors import BadInputError, InfeasibleError, nearest, some_of
from planner.report.words import phase_word
from planner.schemas.plan import Request
from planner.schemas.request_forms import names
from planner.units import format_duration, format_exact_size, format_usd

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.planning.catalog_questions.scale_up_or_out import Scaling, Size
    from planner.schemas.plan import Candidate, Plan


def scale(
    family: Annotated[str, Argument(help="Family of instance types, such as i4i, or a list of types and patterns.")],
    *,
    data: OneSize = None,
    model: Model = Request.model,
    cloud: Clouds = None,
    catalog: Catalogs = None,
    region: Regions = None,
    max_nodes: MaxNodes = Request.max_nodes,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Compare few large and many small nodes of one family, with as many processors in all, and a single node.

    A list compares any shapes: i4i.4xlarge,m7gd.*,i7ie. Sizes that cannot do the job are shown with the reason; where
    none can, the command ends with 3.

    Example: planner scale i4i --data 20TB --model indy
    """
    from planner.api.recommend import answer
    from planner.catalog import load_catalog
    from planner.planning.catalog_questions.scale_up_or_out import plans_of
    from planner.planning.catalog_questions.scale_up_or_out import scale as compare

    asked = RequestOptions(data=data, model=model, cloud=cloud, catalog=catalog, region=region, max_nodes=max_nodes)
    request = asked.request()
    vcpus = sizes_of([load_catalog(name) for name in request.catalogs], family)
    with stepped(plans_of(len(vcpus))) as on_step:

        def plan_of(narrowed: Request) -> Plan:
            on_step(narrowed.instances[0] if len(narrowed.instances) == 1 else family)
            return answer(narrowed).plan

        scaling = compare(request, vcpus=vcpus, plan_of=plan_of)
    if json:
        show_json(_as_json(scaling))
    _require_any(scaling, family=family, request=request)
    if not json:
        show(_table(scaling), drop_first=("one node", "vCPUs"))
        show_sentences(scaling.verdict)


def sizes_of(catalogs: Sequence[Catalog], shapes: str) -> dict[str, float]:
    """Return the virtual CPUs of the types of a family, or of a list of families, types and patterns.

    Types of a family with added disks are configurations, not sizes. Raises BadInputError for a name that matches no
    type.
    """
    rows = [
        row
        for types in (catalog.instances for catalog in catalogs)
        for row in zip(types.instance_type.tolist(), types.family.tolist(), types.vcpu.tolist(), strict=True)
        if not math.isnan(row[2])
    ]
    vcpus: dict[str, float] = {}
    for shape in names([shapes]):
        of_shape = {
            name: vcpu
            for name, family, vcpu in rows
            if (family == shape and "+" not in name) or fnmatchcase(name, shape)
        }
        if not of_shape:
            where = ", ".join(catalog.name for catalog in catalogs)
            words = sorted({family for _, family, _ in rows} | {name for name, *_ in rows})
            raise BadInputError(
                f"unknown family or type {shape!r} in {where}.{nearest(shape, words)}", code="unknown-type"
            )
        vcpus |= of_shape
    return vcpus


def _require_any(scaling: Scaling, *, family: str, request: Request) -> None:
    """Raise InfeasibleError, with the reasons, if no size can do the job in any number of nodes."""
    if any(size.equal or size.best or size.single for size in scaling.sizes):
        return
    types: dict[str, list[str]] = {}
    for size in scaling.sizes:
        types.setdefault(size.reasons["best"], []).append(size.instance_type)
    size_text = format_exact_size(request.data_bytes)
    advice = f"`planner plan --data {size_text} --model {request.model}` names types that can"
    reasons = [f"{some_of(names_of, most=3)}: {reason}" for reason, names_of in types.items()]
    raise InfeasibleError(f"no size of {family} can do the job; {advice}", reasons, code="infeasible")


def _table(scaling: Scaling) -> Any:
    title = f"Clusters of {scaling.vcpus:,.0f} vCPUs, each type's own best, and a single node"
    columns = ("instance type", "vCPUs", "nodes", "time", "total", "bottlenecks", "own best", "one node")
    rows = [
        (size.instance_type, f"{size.vcpu:g}", *_equal(size), _short(size, "best"), _short(size, "single"))
        for size in scaling.sizes
    ]
    return table(columns, rows, title=title)


def _equal(size: Size) -> list[str]:
    if size.equal is None:
        return ["-", "-", "-", size.reasons["equal"]]
    slow = " then ".join(phase_word(phase.bottleneck) for phase in size.equal.phases)
    return [
        str(size.equal.nodes),
        format_duration(size.equal.time_s.expected),
        format_usd(size.equal.cost_usd.total),
        slow,
    ]


def _short(size: Size, shape: str) -> str:
    cluster: Candidate | None = getattr(size, shape)
    if cluster is None:
        return size.reasons[shape]
    time, total = format_duration(cluster.time_s.expected), format_usd(cluster.cost_usd.total)
    return f"{time}, {total}" if shape == "single" else f"{cluster.nodes} nodes: {time}, {total}"


def _as_json(scaling: Scaling) -> dict[str, Any]:
    from planner.schemas.json_values import to_jsonable

    def of(size: Size) -> dict[str, Any]:
        shapes = ("equal", "best", "single")
        clusters = {shape: None if (c := getattr(size, shape)) is None else to_jsonable(c) for shape in shapes}
        return {"instance_type": size.instance_type, "vcpu": size.vcpu, **clusters, "reasons": dict(size.reasons)}

    return {"vcpus": scaling.vcpus, "verdict": scaling.verdict, "sizes": [of(size) for size in scaling.sizes]}
