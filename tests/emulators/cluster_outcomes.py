"""Expected outcomes of a cluster's life under a fault, and the judges that cause the fault."""

from __future__ import annotations

from collections.abc import Callable

from emulated_cloud import QUICK, EmulatedCloud
from fault_proxy import Fault, ProxiedRequest

from planner.clouds.calls.retry import RetryPolicy

Judge = Callable[[ProxiedRequest], Fault]


def once_each(cloud: EmulatedCloud, fault: Fault, met: set[str]) -> Judge:
    """Fail the first request of every action and add it to `met`."""

    def judge(seen: ProxiedRequest) -> Fault:
        if not cloud.is_meant(seen) or seen.action in met:
            return None
        met.add(seen.action)
        return fault

    return judge


def always(cloud: EmulatedCloud, action: str, fault: Fault) -> Judge:
    """Fail every request of an action."""
    return lambda seen: fault if seen.action == action and cloud.is_meant(seen) else None


def went_up(cloud: EmulatedCloud, *more: str, beside: int = 0) -> str:
    """Require that the cluster comes up, nothing twice, plus `beside` machines that have ended; return the output."""
    ended = cloud.planner(*cloud.up, *more)
    assert ended.code == 0, ended.text
    whole = {
        resource_kind: count + beside * (resource_kind in cloud.kept_when_ended)
        for resource_kind, count in cloud.whole.items()
    }
    assert cloud.left() == whole, "something was made twice, or not at all"
    return ended.text


def went_down(cloud: EmulatedCloud) -> None:
    """Require that `down` removes everything."""
    ended = cloud.planner("cluster", "down", cloud.runs()[0])
    assert ended.code == 0, ended.text
    assert cloud.left() == {}


def refused(cloud: EmulatedCloud, *, code: int = 4, policy: RetryPolicy = QUICK) -> str:
    """Require that `up` ends with a code and nothing left; return the output."""
    ended = cloud.planner(*cloud.up, policy=policy)
    assert ended.code == code, ended.text
    assert cloud.left() == {}
    return ended.text
