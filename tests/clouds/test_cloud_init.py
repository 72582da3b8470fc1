"""A machine's actions at boot."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from host_keys import ECDSA, ED25519

from planner.clouds.cloud_init import DISKS_DIRECTORY, MKFS_OPTIONS, MOUNT_OPTIONS, cloud_config, host_keys_in

END = datetime(2026, 11, 21, 18, 45, tzinfo=timezone(timedelta(hours=2)))


def files_of(document: str) -> dict[str, str]:
    return {file["path"]: file["content"] for file in yaml.safe_load(document)["write_files"]}


def test_a_timer_ends_the_machine_in_universal_time() -> None:
    files = files_of(cloud_config(expires_at=END))
    assert "OnCalendar=2026-11-21 16:45:00 UTC" in files["/etc/systemd/system/planner-end.timer"]
    assert "poweroff" in files["/etc/systemd/system/planner-end.service"]
    assert "/etc/hosts" not in files


@pytest.mark.parametrize(("left", "is_late"), [(timedelta(hours=2), False), (timedelta(days=-1), True)])
def test_a_machine_that_boots_after_its_end_ends_at_once(tmp_path: Path, left: timedelta, is_late: bool) -> None:
    """A date that is past when a timer first starts never comes."""
    (tmp_path / "systemctl").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    (tmp_path / "systemctl").chmod(0o755)
    commands = yaml.safe_load(cloud_config(expires_at=datetime.now(UTC) + left))["runcmd"]
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (done,) = (
        subprocess.run(command, env=path, capture_output=True, text=True, check=True)
        for command in commands
        if command[0] == "sh"
    )
    assert done.stdout == ("start planner-end.service\n" if is_late else "")


def test_the_disks_script_is_sound_shell() -> None:
    script = files_of(cloud_config(expires_at=END))["/usr/local/sbin/planner-disks"]
    assert script.startswith("#!/bin/sh\n") and f'mount -o {MOUNT_OPTIONS} "$1" "{DISKS_DIRECTORY}/$2"' in script
    for made in files_of(cloud_config(expires_at=END)).values():
        assert "{{" not in made
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def test_formatting_a_large_disk_writes_no_inode_tables(tmp_path: Path) -> None:
    """The tables of a 3.75 TB disk alone take about 60 GB; a sparse file shows the amount written."""
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(3_750_000_000_000)
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    subprocess.run(["mkfs.ext4", *MKFS_OPTIONS.split(), str(disk)], check=True, env={**os.environ, "PATH": path})
    assert disk.stat().st_blocks * 512 < 1e9
    script = files_of(cloud_config(expires_at=END))["/usr/local/sbin/planner-disks"]
    assert MKFS_OPTIONS in script and script.count(MOUNT_OPTIONS) == 2 and "noinit_itable" in MOUNT_OPTIONS


LSBLK = """\
#!/bin/sh
# Three disks of a machine of Azure: a floppy, the root, and what the name of a loop device stands for.
case "$*" in
  *TYPE*) printf '/dev/fd0 disk 4096 0\\n/dev/sda disk 32213303296 0\\n%s disk 17179869184 0\\n' "$DISK" ;;
  *MOUNTPOINT*"$DISK") [ -z "$MOUNTED" ] || printf '\\n/mnt\\n' ;;
  *"$DISK") printf 'sdb\\n%s' "${MOUNTED:+sdb1
}" ;;
  *) printf 'sda\\nsda1\\n' ;;
esac
"""
IN_OWN_MOUNTS = """\
set -eu
mount -t tmpfs none /mnt
cp fstab own; mount --bind own /etc/fstab
if [ -n "$MOUNTED" ]; then mkfs.ext4 -q "$DISK"; mount "$DISK" /mnt; fi
mkdir -p /mnt/planner
sh ./planner-disks
cat /etc/fstab; findmnt --noheadings --output SOURCE,TARGET -R /mnt
cat /mnt/planner/disks
"""
"""A machine's actions at boot, with mounts that no other process sees."""


@pytest.mark.needs_root(why="makes a file system on a loop device and mounts it")
@pytest.mark.parametrize(
    "mounted", ["", "defaults,nofail,x-systemd.after=cloud-init.service,_netdev,comment=cloudconfig"]
)
def test_a_disk_is_used_although_cloud_init_has_mounted_it(tmp_path: Path, mounted: str) -> None:
    """Azure's resource disk is mounted at /mnt, under a permanent name; the floppy is left alone."""
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "lsblk").write_text(LSBLK, "utf-8")
    (tmp_path / "lsblk").chmod(0o755)
    (tmp_path / "planner-disks").write_text(files_of(cloud_config(expires_at=END))["/usr/local/sbin/planner-disks"])
    kept = "UUID=1 / ext4 defaults 0 1\n"
    line = f"/dev/disk/cloud/azure_resource-part1\t/mnt\tauto\t{mounted}\t0\t2\n" if mounted else ""
    (tmp_path / "fstab").write_text(kept + line, "utf-8")
    made = ["losetup", "--find", "--show", str(tmp_path / "disk")]
    disk = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    path = f"{tmp_path}:{os.environ['PATH']}:/usr/sbin:/sbin"
    try:
        words, more = (
            ["unshare", "--mount", "sh", "-c", IN_OWN_MOUNTS],
            {"DISK": disk, "MOUNTED": mounted, "PATH": path},
        )
        ended = subprocess.run(
            words, cwd=tmp_path, env={**os.environ, **more}, capture_output=True, text=True, check=False
        )
    finally:
        subprocess.run(["losetup", "--detach", disk], check=True)
    assert ended.returncode == 0, ended.stderr
    fstab, _, rest = ended.stdout.partition(",nofail 0 0\n")
    assert fstab == f"{kept}LABEL=planner-disk0 {DISKS_DIRECTORY}/disk0 ext4 {MOUNT_OPTIONS}"
    assert f"{disk} " in rest and f"{DISKS_DIRECTORY}/disk0" in rest and rest.splitlines()[-1] == "1"


def test_host_keys_are_told_before_disks_are_formatted(tmp_path: Path) -> None:
    document = cloud_config(expires_at=END)
    commands = [command[0] for command in yaml.safe_load(document)["runcmd"]]
    assert commands.index("/usr/local/sbin/planner-host-keys") < commands.index("/usr/local/sbin/planner-disks")
    for name, key in (("ecdsa", ECDSA), ("ed25519", ED25519)):
        (tmp_path / f"ssh_host_{name}_key.pub").write_text(f"{key} root@host\n", "utf-8")
    script, console = files_of(document)["/usr/local/sbin/planner-host-keys"], tmp_path / "console"
    subprocess.run(["sh", "-s", ".", str(console)], cwd=tmp_path, input=script, text=True, check=True)
    assert host_keys_in(console.read_text("utf-8")) == (ECDSA, ED25519)


def test_hosts_are_appended() -> None:
    document = cloud_config(expires_at=END, hosts={"storage.googleapis.com": "199.36.153.8"})
    assert files_of(document)["/etc/hosts"] == "199.36.153.8 storage.googleapis.com\n"


KEYS_BEGIN, KEYS_END = "-----BEGIN SSH HOST KEY KEYS-----", "-----END SSH HOST KEY KEYS-----"


def test_keys_stand_between_the_marks_without_their_comments() -> None:
    console = f"boot\n{KEYS_BEGIN}\n{ED25519} root@node\n{ECDSA} root@node\n{KEYS_END}\nlogin:"
    assert host_keys_in(console) == (ED25519, ECDSA)


def test_half_a_list_is_none() -> None:
    assert host_keys_in(f"boot\n{KEYS_BEGIN}\n{ED25519} root@node\n") == ()
    assert host_keys_in("") == ()


@pytest.mark.parametrize(
    "line",
    [
        "[  142.238100] EXT4-fs (nvme1n1): mounted filesystem",
        f"{ED25519[:40]}[  142.238100] kernel speaks",
        ED25519[:40],
        ED25519[: len("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5")],  # the type alone: 4 + 11 bytes are 20 characters
        ED25519.replace("ssh-ed25519", "ssh-rsa"),
        "ssh-ed25519 AAAA",
        "ssh-ed25519 ====",
    ],
)
def test_what_the_kernel_says_among_them_is_no_key(line: str) -> None:
    """From a real console: `-----BEGIN SSH H[  142.238100] kernel speaks`, among others."""
    assert host_keys_in(f"{KEYS_BEGIN}\n{line}\n{ECDSA} root@node\n{KEYS_END}\n") == (ECDSA,)


def test_what_is_damaged_the_first_time_is_read_the_second_time() -> None:
    """The planner's script prints the keys before the disks are formatted, cloud-init after."""
    first = f"{KEYS_BEGIN}\n{ED25519[:50]}[  1.0] kernel\n{ECDSA} root@node\n{KEYS_END}\n"
    assert host_keys_in(first) == (ECDSA,)
    assert host_keys_in(f"{first}{KEYS_BEGIN}\n{ED25519} a\n{ECDSA} a\n{KEYS_END}\n") == (ECDSA, ED25519)
