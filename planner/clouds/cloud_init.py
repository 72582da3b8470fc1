"""The cloud-init document of a machine: at boot it formats each disk and schedules the machine's end.

Stock Ubuntu and Debian images have cloud-init on all clouds. The document holds no secret, because everybody on the
machine, and everybody who may describe the machine, can read it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

DISKS_DIRECTORY: Final = "/mnt/planner"
"""Directory where disks are mounted: disk0, disk1, ..."""

MKFS_OPTIONS: Final = "-q -F -m 0 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard"
MOUNT_OPTIONS: Final = "noatime,nodiratime,noinit_itable"

_KEYS_SCRIPT: Final = """\
#!/bin/sh
# Tell the owner this machine's host keys before the long work; cloud-init tells them after it.
{
  echo "-----BEGIN SSH HOST KEY KEYS-----"
  cat ${1:-/etc/ssh}/ssh_host_*_key.pub
  echo "-----END SSH HOST KEY KEYS-----"
} > "${2:-/dev/console}"
"""

_DISKS_SCRIPT: Final = f"""\
#!/bin/sh
# Every disk that is not in use gets a file system and a place of its own: just a bunch of disks, all at the same time.
# Floppies and other small or read-only devices are no such disks. A machine without any uses Azure's resource disk, or
# what else cloud-init has mounted at /mnt.
# Inode tables are written neither now nor in the background, where they would slow the measurements down.
# This runs once. After a restart, /etc/fstab mounts the disks by label, because their numbers may change.
# A disk that is lost must not stop the restart, or the machine would never end.
set -eu
prepare() {{
  mkfs.ext4 {MKFS_OPTIONS} -L "planner-$2" "$1"
  mkdir -p "{DISKS_DIRECTORY}/$2"
  mount -o {MOUNT_OPTIONS} "$1" "{DISKS_DIRECTORY}/$2"
  chmod 0777 "{DISKS_DIRECTORY}/$2"
  echo "LABEL=planner-$2 {DISKS_DIRECTORY}/$2 ext4 {MOUNT_OPTIONS},nofail 0 0" >> /etc/fstab
}}
number=0
begun=""
for disk in $(lsblk --nodeps --noheadings --bytes --paths --output NAME,TYPE,SIZE,RO |
              awk '$2 == "disk" && $3 >= 1e9 && $4 == 0 {{ print $1 }}' | sort -V); do
  [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] || continue
  lsblk --noheadings --output MOUNTPOINT "$disk" | grep -q . && continue
  prepare "$disk" "disk$number" &
  begun="$begun $!"
  number=$((number + 1))
done
for process in $begun; do
  wait "$process"
done
mounted="^[^#]*[[:space:]]/mnt[[:space:]].*comment=(cloudconfig|azure)"
disk=$(findmnt --noheadings --output SOURCE /mnt | tail -n 1)
if [ "$number" -eq 0 ] && [ -n "$disk" ] && grep -Eq "$mounted" /etc/fstab; then
  umount /mnt
  others=$(grep -Ev "$mounted" /etc/fstab) || true
  printf '%s\\n' "$others" > /etc/fstab
  prepare "$disk" disk0
  number=1
fi
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
  - path: /usr/local/sbin/planner-host-keys
    permissions: "0755"
    content: |
{keys}
  - path: /usr/local/sbin/planner-disks
    permissions: "0755"
    content: |
{disks}
{hosts}runcmd:
  - [systemctl, daemon-reload]
  - [systemctl, enable, --now, planner-end.timer]
  - [sh, -c, 'test "$(date +%s)" -lt {end_s} || systemctl start planner-end.service']
  - [/usr/local/sbin/planner-host-keys]
  - [mkdir, -p, {directory}]
  - [/usr/local/sbin/planner-disks]
"""


def cloud_config(*, expires_at: datetime, hosts: Mapping[str, str] | None = None) -> str:
    """Return the cloud-init document for a run's machines, which end automatically at `expires_at`.

    A date that has passed before the first boot never triggers a systemd timer (systemd issue 13584). So the first boot
    compares it with the clock, too.

    `hosts` maps names to IP addresses that the network's own name service does not have.
    """
    end = expires_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _CLOUD_CONFIG.format(
        end=end,
        end_s=round(expires_at.timestamp()),
        keys=_indented(_KEYS_SCRIPT),
        disks=_indented(_DISKS_SCRIPT),
        directory=DISKS_DIRECTORY,
        hosts=_hosts(hosts or {}),
    )


def _indented(script: str) -> str:
    return "\n".join(f"      {line}".rstrip() for line in script.splitlines())


def _hosts(hosts: Mapping[str, str]) -> str:
    lines = "".join(f"      {address} {name}\n" for name, address in hosts.items())
    return f"  - path: /etc/hosts\n    append: true\n    content: |\n{lines}" if hosts else ""


_KEYS_BEGIN: Final = "-----BEGIN SSH HOST KEY KEYS-----"
_KEYS_END: Final = "-----END SSH HOST KEY KEYS-----"
"""cloud-init's marker after the host keys."""


def host_keys_in(console: str) -> tuple[str, ...]:
    """Return the public SSH host keys on a console, each as `type key`; none until all are there.

    The kernel writes to the console too, in the middle of lines: incomplete keys are left out. Keys that are printed
    twice, by us and later by cloud-init, count once.
    """
    between = console.partition(_KEYS_BEGIN)[2].rpartition(_KEYS_END)[0]
    words = [line.split() for line in between.splitlines()]
    return tuple(dict.fromkeys(" ".join(line[:2]) for line in words if len(line) >= 2 and _is_key(*line[:2])))


def _is_key(key_type: str, text: str) -> bool:
    """Return whether this is a whole public key: length-prefixed fields, the type first (RFC 4253, 6.6)."""
    try:
        rest = b64decode(text, validate=True)
    except ValueError:
        return False
    fields: list[bytes] = []
    while rest:
        end = 4 + int.from_bytes(rest[:4], "big")
        if len(rest) < max(end, 5):
            return False
        fields.append(rest[4:end])
        rest = rest[end:]
    return len(fields) > 1 and fields[0] == key_type.encode()
