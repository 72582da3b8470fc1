"""What a machine does when it boots, as cloud-init: it formats each disk, and sets the time of its own end.

Stock Ubuntu and Debian images carry cloud-init on all clouds. It holds no secret, because everybody on the machine, and
everybody who may describe the machine, can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

DISKS_DIRECTORY: Final = "/mnt/planner"
"""Where disks are mounted: disk0, disk1, ..."""

_DISKS_SCRIPT: Final = f"""\
#!/bin/sh
# Every disk that is not in use gets a file system and a place of its own: just a bunch of disks.
set -eu
number=0
for disk in $(lsblk --nodeps --noheadings --paths --output NAME,TYPE | awk '$2 == "disk" {{ print $1 }}' | sort -V); do
  [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] || continue
  lsblk --noheadings --output MOUNTPOINT "$disk" | grep -q . && continue
  mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$disk"
  mkdir -p {DISKS_DIRECTORY}/disk$number
  mount -o noatime,nodiratime "$disk" {DISKS_DIRECTORY}/disk$number
  chmod 0777 {DISKS_DIRECTORY}/disk$number
  number=$((number + 1))
done
echo "$number" > {DISKS_DIRECTORY}/disks
"""

_CLOUD_CONFIG: Final = """\
#cloud-config
ssh_pwauth: false
disable_root: true
package_update: false
write_files:
  - path: /etc/systemd/system/planner-end.service
    content: |
      [Unit]
      Description=End this machine: its run has expired
      [Service]
      Type=oneshot
      ExecStart=/usr/bin/systemctl poweroff --force
  - path: /etc/systemd/system/planner-end.timer
    content: |
      [Unit]
      Description=When this machine ends, whoever may still be there
      [Timer]
      OnCalendar={end}
      Persistent=true
      AccuracySec=1s
      [Install]
      WantedBy=timers.target
  - path: /usr/local/sbin/planner-disks
    permissions: "0755"
    content: |
{disks}
{hosts}runcmd:
  - [systemctl, daemon-reload]
  - [systemctl, enable, --now, planner-end.timer]
  - [mkdir, -p, {directory}]
  - [/usr/local/sbin/planner-disks]
"""


def cloud_config(*, expires_at: datetime, hosts: Mapping[str, str] | None = None) -> str:
    """Return the cloud-init document of every machine of a run that ends by itself at `expires_at`.

    `hosts` gives names addresses that the network's own name service would not give (IP address by name).
    """
    indented = "\n".join(f"      {line}".rstrip() for line in _DISKS_SCRIPT.splitlines())
    end = expires_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _CLOUD_CONFIG.format(end=end, disks=indented, directory=DISKS_DIRECTORY, hosts=_hosts(hosts or {}))


def _hosts(hosts: Mapping[str, str]) -> str:
    lines = "".join(f"      {address} {name}\n" for name, address in hosts.items())
    return f"  - path: /etc/hosts\n    append: true\n    content: |\n{lines}" if hosts else ""
