"""Random requests that are valid, most of which some cluster can meet, and the tests that hold for each of them.

A request is a dict of arguments of `planner.recommend`, so that a failing one can be pasted into a session.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Recommendation, recommend
from planner.schemas.plan import Candidate

Asked: TypeAlias = dict[str, Any]

CLOUD: Final = str(Path(__file__).parents[1] / "golden" / "cloud")
"""A small cloud with all kinds of types."""

PLACES: Final[tuple[Asked, ...]] = (
    {"cloud": CLOUD},
    {"cloud": CLOUD, "exclude": "dense.*"},
    {"cloud": "aws", "instance": "i4i.*,i8g.*"},
    {"cloud": "aws", "instance": "m5d.*,c7gn.*,i3en.*"},
    {"cloud": "aws"},
    {"cloud": "gcp", "instance": "z3-*,n2-standard-*"},
    {"cloud": "gcp", "instance": "n2d-*", "region": "us-central1,europe-west4"},
    {"cloud": "azure", "instance": "Standard_L*,Standard_E*ds_v5"},
    {"cloud": "oci"},
    {"cloud": "aws,oci", "instance": "i4i.*,*DenseIO*"},
)
FEW_TYPES: Final[tuple[Asked, ...]] = (
    {"cloud": CLOUD, "instance": "lean.1,roomy.8"},
    {"cloud": CLOUD, "instance": "dense.2,plain.1"},
    {"cloud": "aws", "instance": "i4i.4xlarge,m5d.8xlarge"},
    {"cloud": "aws", "instance": "i8g.8xlarge,i8g.metal-24xl"},
    {"cloud": "gcp", "instance": "z3-highmem-8-highlssd,n2-standard-16"},
    {"cloud": "azure", "instance": "Standard_L8s_v3"},
    {"cloud": "oci", "instance": "VM.DenseIO.E4.Flex-*"},
)
_SPOT: Final = ("aws", "gcp")
_STORES: Final = {"gcp": "gs://bucket/x", "azure": "az://bucket/x", "oci": "oci://bucket@space/x"}

models = st.sampled_from(
    ["indy", "daytona", "cloudsort", "object-store", "minutesort", "framework", "framework-volumes", "indy,daytona"]
)
objectives = st.sampled_from(["balanced", "cost", "time", "energy"])
_seconds = st.floats(2.5, 4.7).map(lambda exponent: round(10**exponent))
_shares = st.sampled_from([0.5, 0.95])

LIMITS: Final = ("deadline", "sort_deadline", "confidence", "budget")
limits = st.one_of(
    st.fixed_dictionaries({"deadline": _seconds}),
    st.fixed_dictionaries({"deadline": _seconds, "confidence": _shares}),
    st.fixed_dictionaries({"sort_deadline": _seconds}, optional={"confidence": _shares}),
    st.fixed_dictionaries({"budget": st.floats(-0.5, 3).map(lambda exponent: round(10**exponent, 2))}),
)
_files = st.fixed_dictionaries(
    {"input": st.just("own"), "format": st.sampled_from(["records", "lines", "csv", "parquet"])},
    optional={"compression": st.sampled_from(["gzip=3.1", "snappy=2", "zstd=2.5", "none"])},
)
further = st.one_of(
    st.sampled_from(
        [
            {"max_vcpus": 64}, {"max_vcpus": 1000}, {"zones": 3}, {"capacity": {"*": 12}}, {"min_memory": "100GiB"},
            {"input": "own"}, {"output": "own"}, {"input": "own", "output": "own"}, {"input": "s3://bucket/x"},
            {"pricing": "on-demand,spot"}, {"paper": True}, {"engine": "ideal"}, {"engine": "spark"},
            {"network": "ideal"}, {"network": "unlimited"}, {"network_distribution": "C"},
            {"assume": {"network": 8e8}}, {"assume": {"local_read": 2e9, "local_write": 1e9}},
            {"assume": {"price": 1.65}}, {"scale": {"network": 2.0}}, {"scale": {"local": 0.5, "price": 0.7}},
            {"discount": "15%"}, {"head_room": 0.1}, {"reduce_ratio": 0.1}, {"compute": 5e7}, {"unknown": "assume"},
        ]
    ),
    st.fixed_dictionaries({"pricing": st.just("spot"), "interruptions": st.sampled_from([0.01, 0.05, 0.3])}),
    _files,
)  # fmt: skip


_COUNTS: Final = ("nodes", "max_nodes", "max_nodes")


@st.composite
def requests(
    draw: st.DrawFn, *, places: tuple[Asked, ...] = PLACES, most_machines: int = 60, counts: tuple[str, ...] = _COUNTS
) -> Asked:
    """Draw a request whose data takes about as many machines as it allows, or a part of them; one of `counts` says how
    many that are.
    """
    machines, allowed = draw(st.integers(1, most_machines)), draw(st.sampled_from(counts))
    share = 1.0 if allowed == "nodes" else draw(st.floats(0.1, 1))
    asked = {
        "data": round(machines * share * 10 ** draw(st.floats(9.5, 12))),
        allowed: machines,
        "model": draw(models),
        "objective": draw(objectives),
        **draw(st.sampled_from(places)),
    }
    for part in draw(st.lists(st.one_of(limits, further), max_size=4)):
        asked |= part
    return _consistent(asked)


def _consistent(asked: Asked) -> Asked:
    """Return a request without the options that do not go with others, and with stores of its own cloud."""
    cloud, without = asked["cloud"].partition(",")[0], set()
    given = {name: _STORES.get(cloud, "s3://bucket/x") if value == "own" else value for name, value in asked.items()}
    if "deadline" not in given and "sort_deadline" not in given:
        without |= {"confidence"}
    if asked["cloud"] not in _SPOT:
        without |= {"pricing", "interruptions"}
    if "spot" not in given.get("pricing", ""):
        without |= {"interruptions"}
    if given.get("pricing", "").startswith("spot"):
        without |= {"discount"}
    if given.get("paper"):
        without |= {"capacity"}
    if given.get("nodes") == 1 or given.get("max_nodes", 3) < given.get("zones", 1):
        without |= {"zones"}
    if "network" in given.get("assume", {}):
        without |= {"network", "network_distribution"}
    if "network" in given:
        without |= {"network_distribution"}
    if given["objective"] == "energy":
        given["assume"] = given.get("assume", {}) | {"power:*": 350.0}
    return {name: value for name, value in given.items() if name not in without}


def without_limits(asked: Asked) -> Asked:
    """Return a request without its limits on time and money."""
    return {name: value for name, value in asked.items() if name not in LIMITS}


def only(asked: Asked, cluster: Candidate, **changes: Any) -> Recommendation:
    """Plan a cluster of the answer to a request alone, without limits on time and money."""
    place = {"instance": cluster.instance_type, "nodes": cluster.nodes, "region": cluster.region, "top": 1}
    place |= {"model": cluster.model, "pricing": cluster.pricing}
    place |= {} if asked["cloud"] == CLOUD else {"cloud": cluster.cloud}
    left_out = {"exclude"} if cluster.pricing == "spot" else {"exclude", "interruptions"}
    free = {name: value for name, value in without_limits(asked).items() if name not in left_out}
    return recommend(**(free | place | changes))


def for_requests(usual: int, **strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test with the same `usual` examples each time, and ten times as many new ones in the soak."""

    def decorate(test: Callable[..., None]) -> Any:
        @pytest.mark.parametrize("count", [usual, pytest.param(10 * usual, marks=pytest.mark.soak)])
        def repeated(count: int) -> None:
            settings(max_examples=count, derandomize=count == usual)(given(**strategies)(test))()

        repeated.__name__, repeated.__doc__ = test.__name__, test.__doc__
        return repeated

    return decorate
