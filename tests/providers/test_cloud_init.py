"""What a machine does when it boots."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone

import yaml

from planner.providers.cloud_init import DISKS_DIRECTORY, cloud_config

END = datetime(2026, 11, 21, 18, 45, tzinfo=timezone(timedelta(hours=2)))


def files_of(document: str) -> dict[str, str]:
    return {file["path"]: file["content"] for file in yaml.safe_load(document)["write_files"]}


def test_a_timer_ends_the_machine_in_universal_time() -> None:
    files = files_of(cloud_config(expires_at=END))
    assert "OnCalendar=2026-11-21 16:45:00 UTC" in files["/etc/systemd/system/planner-end.timer"]
    assert "poweroff" in files["/etc/systemd/system/planner-end.service"]
    assert "/etc/hosts" not in files


def test_the_disks_script_is_sound_shell() -> None:
    script = files_of(cloud_config(expires_at=END))["/usr/local/sbin/planner-disks"]
    assert script.startswith("#!/bin/sh\n") and f"{DISKS_DIRECTORY}/disk$number" in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def test_hosts_are_appended() -> None:
    document = cloud_config(expires_at=END, hosts={"storage.googleapis.com": "199.36.153.8"})
    assert files_of(document)["/etc/hosts"] == "199.36.153.8 storage.googleapis.com\n"
