"""Quotas of Compute Engine."""

from __future__ import annotations

from emulated_gcp import choice, order

from planner.clouds.gcp.preflight import network_findings, quota_finding_everywhere, quota_findings, quota_needs


def test_a_choice_needs_processors_disks_and_one_address() -> None:
    asked = choice(instance_type="n2-standard-32", nodes=3, spares=1, local_disks=16, volumes=None)
    assert quota_needs(asked, vcpus=32, bundled_disks=0) == {
        "N2_CPUS": 128.0,
        "INSTANCES": 4.0,
        "IN_USE_ADDRESSES": 1.0,
        "LOCAL_SSD_TOTAL_GB": 16 * 375.0 * 4,
        "SSD_TOTAL_GB": 30.0 * 4,
    }


def test_what_is_free_must_suffice_and_what_is_not_stated_is_unknown() -> None:
    asked = choice(instance_type="n2-standard-32", nodes=3, spares=1, local_disks=0, volumes=None)
    quotas = [{"metric": "N2_CPUS", "limit": 200, "usage": 100}, {"metric": "INSTANCES", "limit": 10, "usage": 1}]
    listed = quota_findings(asked, {"name": "us-central1", "quotas": quotas}, vcpus=32, bundled_disks=0)
    by_name = {finding.subject.split()[1]: finding for finding in listed}
    assert (by_name["N2_CPUS"].ok, by_name["N2_CPUS"].text) == (False, "128 needed, 100 of 200 free")
    assert by_name["INSTANCES"].ok is True and by_name["SSD_TOTAL_GB"].ok is None


def test_a_quota_without_a_limit_is_unknown_and_not_zero() -> None:
    asked = choice(instance_type="n2-standard-32", nodes=3, spares=1, local_disks=0, volumes=None)
    quotas = [{"metric": name, "usage": 5} for name in ("N2_CPUS", "INSTANCES", "CPUS_ALL_REGIONS", "NETWORKS")]
    found = [
        *quota_findings(asked, {"name": "us-central1", "quotas": quotas}, vcpus=32, bundled_disks=0),
        quota_finding_everywhere(asked, {"quotas": quotas}, vcpus=32),
        *network_findings(order("r"), {"quotas": quotas}),
    ]
    assert len(found) > 4 and {finding.ok for finding in found} == {None}
    none = [{"metric": "N2_CPUS", "limit": 0.0, "usage": 0}]
    (stated, *_) = quota_findings(asked, {"name": "us-central1", "quotas": none}, vcpus=32, bundled_disks=0)
    assert stated.ok is False


def test_spot_machines_count_apart_where_a_project_has_a_quota_for_them() -> None:
    """Four machines of 32 vCPUs, with only the head on demand: 32 and 96."""
    asked = choice(instance_type="n2-standard-32", nodes=3, spares=1, local_disks=0, volumes=None, pricing="spot")
    usual = [{"metric": "N2_CPUS", "limit": 200, "usage": 0}]
    apart = [*usual, {"metric": "PREEMPTIBLE_CPUS", "limit": 90, "usage": 0}]

    def text(metric: str, quotas: list[dict[str, object]]) -> str:
        listed = quota_findings(asked, {"name": "us-central1", "quotas": quotas}, vcpus=32, bundled_disks=0)
        return next(finding.text for finding in listed if finding.subject.split()[1] == metric)

    assert text("N2_CPUS", usual) == "128 needed, 200 of 200 free"
    assert text("N2_CPUS", apart) == "32 needed, 200 of 200 free"
    assert text("PREEMPTIBLE_CPUS", apart) == "96 needed, 90 of 90 free"
