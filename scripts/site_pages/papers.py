"""Section of papers.md on SoCC 2015: every published figure that the equations give, computed by the planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planner import recommend
from planner.schemas.plan import Candidate

ENOUGH = 1e15
"""A rate that is never the bottleneck, bytes/s: the papers' 'Bnetwork = infinity'."""

SSD_SLOWEST = 1515e6
FAST_BUT_VOLUMES = {"network": ENOUGH, "local_read": ENOUGH, "local_write": ENOUGH, "price": 1.65}

HEAD = """# SoCC 2015, recomputed

Every row is a call of `plan --paper` on the catalog `aws-2014`, for 100 TB, made when the site is built. It
uses the literal equations of Conley, Vahdat and Porter,
"Achieving Cost-efficient, Data-intensive Computing in the Cloud", SoCC 2015.

The column "kind" says what a row shows:

* An *input* checks the arithmetic and nothing more. The paper prints dollars in Table 2, not the DiskBench rates behind
  them. The catalog's rates were computed from the dollars, and here the dollars come out again.
* An *identity* multiplies published numbers.
* A *prediction* follows from rates that the paper states elsewhere. Those of section 5 can be compared with the runs.
* A *prediction (law)* needs a network rate beyond the largest cluster measured, which is not the paper's: it is
  extrapolated by the [scaling law](curves-and-screening.md) fitted to published curves.

The column "inputs" has everything that the plan gets besides the catalog. "Unlimited" is a rate that is never the
bottleneck.
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One published figure and the plan that gives it."""

    what: str
    published: float
    unit: str
    model: str
    instance: str
    nodes: int
    figure: Callable[[Candidate], float]
    kind: str = "prediction"
    note: str = ""
    assume: dict[str, float] = field(default_factory=dict)


def time(candidate: Candidate) -> float:
    return candidate.time_s.equation


def cost(candidate: Candidate) -> float:
    return candidate.cost_usd.equation


def fewest(candidate: Candidate) -> float:
    return candidate.nodes_min


def at_run_time(seconds: float) -> Callable[[Candidate], float]:
    """Return the cost of a cluster over its measured seconds (equation 7's N x price x time, prorated)."""
    return lambda candidate: candidate.cost_usd.equation / candidate.time_s.equation * seconds


def node_mb_per_s(candidate: Candidate) -> float:
    return 1e14 / candidate.nodes / candidate.time_s.equation / 1e6


def phase_1(candidate: Candidate) -> float:
    return candidate.phases[0].time_s


def table_2() -> Iterator[Case]:
    """Yield the estimated dollars of a 100 TB sort from storage alone, and the nodes that hold 300 TB."""
    rows = (
        ("c3.large", 28, 9375),
        ("m3.large", 65, 9375),
        ("m3.medium", 66, 75000),
        ("m1.xlarge", 155, 179),
        ("i2.4xlarge", 211, 94),
        ("i2.8xlarge", 218, 47),
        ("hs1.8xlarge", 248, 7),
        ("cr1.8xlarge", 2966, 1250),
    )
    unlimited = {"network": ENOUGH}
    for instance, dollars, nodes in rows:
        given = {"model": "indy", "instance": instance, "nodes": nodes, "assume": unlimited}
        yield Case(what=f"{instance}, sort cost", published=dollars, unit="$", figure=cost, kind="input", **given)
        yield Case(what=f"{instance}, nodes for 300 TB", published=nodes, unit="", figure=fewest, **given)


def estimates() -> Iterator[Case]:
    """Yield the figures of section 4.3 and of Figure 9."""
    i2 = {"model": "indy", "instance": "i2.8xlarge", "nodes": 178}
    yield Case(what="i2.8xlarge in a placement group", published=325, unit="$", figure=cost, note="879 MB/s", **i2)
    yield Case(
        what="m1.xlarge at scale",
        published=362,
        unit="$",
        figure=cost,
        kind="input",
        note="network rate solved from it",
        model="indy",
        instance="m1.xlarge",
        nodes=179,
    )


def runs() -> Iterator[Case]:
    """Yield the predicted and actual runs of section 5."""
    indy = {"model": "indy", "instance": "i2.8xlarge", "nodes": 178}
    slowest = {"local_read": 2 * SSD_SLOWEST, "local_write": 2 * SSD_SLOWEST}
    yield Case(what="2-IO", published=888, unit="s", figure=time, note="879/1738 MB/s", **indy)
    yield Case(what="2-IO", published=299.45, unit="$", figure=cost, note="879/1738 MB/s", **indy)
    yield Case(
        what="2-IO, slowest VM of both",
        published=888,
        unit="s",
        figure=time,
        note="879/1515 MB/s",
        assume=slowest,
        **indy,
    )
    baseline = {"network": 1089e6}
    yield Case(
        what="2-IO, two-node baselines",
        published=888,
        unit="s",
        figure=time,
        note="1089/1738 MB/s",
        assume=baseline,
        **indy,
    )
    yield Case(what="2-IO, map and shuffle", published=500, unit="s", figure=phase_1, note="'approximately'", **indy)
    daytona = {"model": "daytona", "instance": "i2.8xlarge", "nodes": 186}
    yield Case(
        what="replication",
        published=1378,
        unit="s",
        figure=time,
        kind="prediction (law)",
        note="5:3, measured to 178 nodes",
        **daytona,
    )
    at_scale = {"network": 879e6}
    yield Case(
        what="replication", published=1378, unit="s", figure=time, note="5:3, 879 MB/s", assume=at_scale, **daytona
    )
    yield Case(
        what="replication", published=485.56, unit="$", figure=cost, note="5:3, 879 MB/s", assume=at_scale, **daytona
    )
    ebs = {"model": "cloudsort", "instance": "r3.4xlarge", "nodes": 330, "assume": FAST_BUT_VOLUMES}
    yield Case(what="EBS", published=2981, unit="s", figure=time, note="243/226 MB/s", **ebs)
    yield Case(what="EBS", published=450.84, unit="$", figure=cost, note="$1.65/h all-in", **ebs)
    seen = {"model": "cloudsort", "instance": "r3.4xlarge", "nodes": 330, "assume": {}}
    note = "local SSD and network never waited for: of both only a lower bound is known"
    yield Case(what="EBS, catalog as it is", published=2981, unit="s", figure=time, note=note, **seen)


def bills() -> Iterator[Case]:
    """Yield the costs of the runs: their nodes and measured seconds at the catalog's prices, prorated."""
    i2 = {"instance": "i2.8xlarge", "unit": "$", "kind": "identity"}
    yield Case(what="2-IO", published=299.45, model="indy", nodes=178, figure=at_run_time(888), note="888 s", **i2)
    yield Case(
        what="replication", published=485.56, model="daytona", nodes=186, figure=at_run_time(1378), note="1378 s", **i2
    )
    yield Case(
        what="Spark, 2014", published=551.36, model="indy", nodes=207, figure=at_run_time(1406), note="1406 s", **i2
    )
    ebs = {"model": "cloudsort", "instance": "r3.4xlarge", "nodes": 330, "assume": FAST_BUT_VOLUMES}
    note = "2981 s at $1.65/h all-in"
    yield Case(what="EBS", published=450.84, unit="$", figure=at_run_time(2981), kind="identity", note=note, **ebs)
    yield Case(
        what="EBS, ideal rate per node", published=117, unit="MB/s", figure=node_mb_per_s, note="243/226 MB/s", **ebs
    )


def page() -> str:
    """Return the whole page as Markdown."""
    sections = (
        ("Table 2: storage alone", "published", table_2()),
        ("Section 4.3: with the network", "published", estimates()),
        ("Section 5: predicted and run", "run", runs()),
        ("Section 5: what the runs were billed", "published", bills()),
    )
    return HEAD + "".join(_section(title, column, cases) for title, column, cases in sections)


def _section(title: str, column: str, cases: Iterator[Case]) -> str:
    lines = [
        f"\n## {title}\n",
        f"| figure | {column} | computed | difference | kind | inputs |",
        "|---|--:|--:|--:|---|---|",
    ]
    for case in cases:
        candidate = replay(case)
        value = case.figure(candidate)
        off = 100 * (value / case.published - 1)
        shown = f"{case.published:,.6g} {case.unit}", f"{value:,.6g} {case.unit}"
        lines.append(
            f"| {case.what} | {shown[0]} | {shown[1]} | {off:+.2f}% | {case.kind} | {inputs(case, candidate)} |"
        )
    return "\n".join(lines) + "\n"


def inputs(case: Case, candidate: Candidate) -> str:
    """Return the inputs that a case adds to the plan, and the network's rate where a law gives it."""
    names = {"network": "network", "local_read": "local reads", "local_write": "local writes", "price": "price"}
    given = [f"{names[name]} {amount(name, value)}" for name, value in case.assume.items()]
    if case.kind == "prediction (law)":
        given.append(f"network {amount('network', candidate.phases[0].resources['network'].bytes_per_s)} by the law")
    return ", ".join([case.note, *given] if case.note else given)


def amount(name: str, value: float) -> str:
    if value == ENOUGH:
        return "unlimited"
    return f"${value:g}/h" if name == "price" else f"{value / 1e6:,.5g} MB/s"


def replay(case: Case) -> Candidate:
    """Plan a case by the papers' rules."""
    best = recommend(
        data="100TB",
        model=case.model,
        catalogs=("aws-2014",),
        instances=(case.instance,),
        nodes=case.nodes,
        assume=case.assume,
        paper=True,
    ).best
    if best is None:
        raise SystemExit(f"{case.what}: nothing feasible")
    return best
