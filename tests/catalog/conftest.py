"""A small catalog for the tests to spoil or extend."""

from __future__ import annotations

from pathlib import Path

import pytest

FILES = {
    "catalog.toml": """title = "A cloud of two types"
cloud = "test"
currency = "USD"
default_region = "here"
prices_as_of = 2026-01-01
hours_per_month = 720

[sources.lab]
title = "Measured in the laboratory"
""",
    "instances.csv": """instance_type,family,vcpu,local_disks,local_disk_bytes,placement_group,current_generation,\
evidence,source,as_of
small.1,small,2,0,,no,yes,spec,lab,2026-01-01
small.8,small,8,0,,yes,yes,spec,lab,2026-01-01
large,large,16,4,1e12,yes,yes,spec,lab,2026-01-01
""",
    "prices.csv": """instance_type,region,pricing,price_usd_per_hour,evidence,source,as_of
small.1,here,on-demand,0.5,spec,lab,2026-01-01
small.1,here,spot,0.2,spec,lab,2026-01-01
small.8,here,on-demand,4,spec,lab,2026-01-01
small.8,there,on-demand,5,spec,lab,2026-01-01
""",
    "disks.csv": """instance_type,mode,disks,bytes_per_s,aggregate,method,evidence,source,as_of
large,read_only,4,4e9,mean,fio,measured,lab,2026-01-01
large,read_only,4,2e9,documented,data sheet,spec,lab,2026-01-01
large,write_only,4,1e9,slowest_of_n,fio,measured,lab,2026-01-01
large,simultaneous,4,7e8,slowest_of_n,fio,measured,lab,2026-01-01
large,simultaneous,4,9e8,mean,fio,derived,lab,2026-01-01
""",
}


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """Return the directory of a sound catalog."""
    directory = tmp_path / "cloud"
    directory.mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text)
    return directory
