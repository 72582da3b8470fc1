"""What can go wrong on EC2 alone; see test_faults for what can go wrong everywhere."""

from __future__ import annotations

from cluster_outcomes import refused, went_down, went_up
from emulated_ec2 import EmulatedEc2
from fault_proxy import Fault, Seen, ec2_error


def test_the_network_serves_in_every_zone(ec2: EmulatedEc2) -> None:
    ec2.world(capacity={"us-east-1a": 2})
    went_up(ec2)
    assert ec2.proxy.actions().count("CreateVpc") == 2, "once for real and once in preflight"
    went_down(ec2)


def test_permission_denied_is_seen_beforehand(ec2: EmulatedEc2) -> None:
    denial = ec2_error("UnauthorizedOperation", status=403)
    ec2.proxy.judge = lambda seen: denial if seen.action == "CreatePlacementGroup" else None
    assert "ec2:CreatePlacementGroup" in refused(ec2)
    assert "CreateVpc" not in [seen.action for seen in ec2.proxy.seen if ec2.is_meant(seen)]


def test_whatever_is_new_is_not_found_at_first(ec2: EmulatedEc2) -> None:
    """The first call that names it is told so, for every single thing."""
    met: set[str] = set()

    def judge(seen: Seen) -> Fault:
        if seen.action.startswith(("Describe", "Delete", "Terminate", "Detach")) or not ec2.is_meant(seen):
            return None
        new = {value for name, value in seen.params.items() if name.endswith("Id") and "-" in value} - met
        met.update(new)
        return ec2_error("InvalidVpcID.NotFound") if new else None

    ec2.proxy.judge = judge
    went_up(ec2)
    went_down(ec2)
    assert len(met) > 5
