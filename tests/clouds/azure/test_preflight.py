"""Obstacles that Azure's descriptions of sizes state."""

from __future__ import annotations

from typing import Any

import pytest
from emulated_azure import choice
from emulated_cloud import volumes

from planner.clouds.azure.preflight import _obstacle, unstated_abilities


@pytest.mark.parametrize(
    ("able", "changes", "text"),
    [
        ({}, {"pricing": "spot", "volumes": volumes("premium-ssd-p30", count=30)}, ""),
        ({"LowPriorityCapable": "False"}, {}, ""),
        ({"LowPriorityCapable": "True"}, {"pricing": "spot"}, ""),
        ({"LowPriorityCapable": "False"}, {"pricing": "spot"}, "not sold as spot machines"),
        ({"PremiumIO": "False"}, {"volumes": volumes("standard-ssd")}, ""),
        (
            {"PremiumIO": "False"},
            {"volumes": volumes("premium-ssd-p30")},
            "it takes no premium disks such as premium-ssd-p30",
        ),
        ({"MaxDataDiskCount": "4"}, {"volumes": volumes("standard-ssd", count=4)}, ""),
        (
            {"MaxDataDiskCount": "4"},
            {"volumes": volumes("standard-ssd", count=5)},
            "5 volumes on each machine; it takes 4",
        ),
        ({}, {"volumes": volumes("ultra-disk")}, "volumes of type ultra-disk cannot be made with their machine"),
    ],
)
def test_what_a_size_cannot_do_is_known_beforehand(able: dict[str, str], changes: dict[str, Any], text: str) -> None:
    """Azure refuses such machines one by one, after the network is made (openshift/installer#4726)."""
    size = {"capabilities": [{"name": name, "value": value} for name, value in able.items()]}
    assert _obstacle(size, choice(**changes)) == text


def test_what_a_size_does_not_state_is_unknown_and_not_ok() -> None:
    """Some rows of Azure's listing say nothing of spot machines."""
    size = {"capabilities": [{"name": "EncryptionAtHostSupported", "value": "True"}]}
    assert list(unstated_abilities(size, choice())) == []
    assert list(unstated_abilities(size, choice(pricing="spot"))) == ["spot machines"]
    assert list(unstated_abilities({}, choice())) == ["encryption at host"]
