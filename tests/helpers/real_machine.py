"""A rented machine that is real but for its hardware: Debian's kernel, systemd, cloud-init, sshd and mkfs in QEMU.

It is emulated without KVM, which hosted machines seldom have, so it boots in minutes. It has no outbound network, two
empty NVMe disks of 3.75 TB in sparse files, and its user data from a disk (cloud-init's NoCloud). Its image is like a
cloud's: the default user has Ubuntu's name.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.clouds.cloud_init import host_keys_in
from planner.clouds.protocol import Node

TOOLS = ("qemu-system-x86_64", "qemu-img", "mmdebstrap", "genisoimage", "mke2fs")
PACKAGES = (
    "linux-image-cloud-amd64", "systemd-sysv", "libpam-systemd", "udev", "dbus", "cloud-init", "openssh-server", "sudo",
    "e2fsprogs", "iproute2", "ifupdown", "isc-dhcp-client",
)  # fmt: skip
DISKS, DISK_BYTES = 2, 3_750_000_000_000
STOCK = {
    "system_info": {
        "default_user": {"name": "ubuntu", "lock_passwd": True, "shell": "/bin/bash", "sudo": "ALL=(ALL) NOPASSWD:ALL"}
    },
    "locale": "C.UTF-8",
}
PATH = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}


def missing() -> str:
    """Return the names of missing tools; '' if none is missing."""
    lacking = [tool for tool in TOOLS if not shutil.which(tool, path=PATH["PATH"])]
    return ", ".join(lacking if sources() else [*lacking, "Debian's package sources"])


def sources() -> list[Path]:
    """Return the files that name this machine's package sources, if it is a Debian."""
    apt = Path("/etc/apt")
    return [file for file in (*sorted(apt.glob("sources.list.d/*.sources")), apt / "sources.list") if file.exists()]


def run(*words: str | Path) -> None:
    subprocess.run(["nice", *map(str, words)], check=True, capture_output=True, text=True, env=PATH)


def image(folder: Path) -> Path:
    """Make `disk`, `kernel` and `initrd` in a folder, from this machine's package sources, unless they exist."""
    if not (folder / "initrd").exists():
        root = folder / "root"
        words = ["--variant=apt", "--format=directory", "--dpkgopt=force-unsafe-io", f"--include={','.join(PACKAGES)}"]
        run("mmdebstrap", *words, platform.freedesktop_os_release()["VERSION_CODENAME"], root, sources()[0])
        (root / "etc/cloud/cloud.cfg.d/95_stock.cfg").write_text(json.dumps(STOCK), "utf-8")
        run("mke2fs", "-q", "-t", "ext4", "-d", root, folder / "disk", "3G")
        for made, name in (("vmlinuz", "kernel"), ("initrd.img", "initrd")):
            shutil.copy(next((root / "boot").glob(f"{made}-*")), folder / name)
        shutil.rmtree(root)
    return folder


class RealMachine:
    """The head of a run, with `user_data`, open to the holder of the private key of `public_key`."""

    def __init__(self, made: Path, folder: Path, *, user_data: str, public_key: str) -> None:
        self.made, self.folder, self.boots = made, folder, 0
        address = f"127.77.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"  # its port 22 is free
        self.node = Node(
            id="i-real", region="r", zone="z", head=True, state="running", instance_type="t", public_address=address
        )
        self.disks = [folder / f"nvme{number}" for number in range(DISKS)]
        for disk in self.disks:
            disk.touch()
            os.truncate(disk, DISK_BYTES)
        facts = {"instance-id": self.node.id, "local-hostname": "node-0", "public-keys": [public_key]}
        (folder / "meta-data").write_text(json.dumps(facts), "utf-8")
        (folder / "user-data").write_text(user_data, "utf-8")
        seed = [folder / "user-data", folder / "meta-data"]
        run("genisoimage", "-volid", "cidata", "-rock", "-output", folder / "seed", *seed)
        run("qemu-img", "create", "-f", "qcow2", "-b", made / "disk", "-F", "raw", folder / "root")

    @contextmanager
    def booted(self) -> Iterator[subprocess.Popen[bytes]]:
        """Turn it on, and off at the end; its process ends when the machine powers itself off or restarts."""
        self.boots += 1
        with subprocess.Popen(["nice", *self._words()], stdin=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.kill()

    def _words(self) -> list[str]:
        words = ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none", "-machine", "q35"]
        words += ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024"]
        words += ["-kernel", f"{self.made}/kernel", "-initrd", f"{self.made}/initrd"]
        words += ["-append", "root=/dev/vda rw console=ttyS0", "-serial", f"file:{self._console}"]
        words += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{self.node.public_address}:22-:22"]
        words += ["-device", "virtio-net-pci,netdev=net", "-device", "virtio-scsi-pci"]
        words += ["-drive", f"file={self.folder}/root,if=virtio,cache=unsafe"]
        words += ["-drive", f"file={self.folder}/seed,if=none,id=seed,format=raw", "-device", "scsi-cd,drive=seed"]
        for number, disk in enumerate(self.disks):
            words += ["-drive", f"file={disk},if=none,id=disk{number},format=raw,cache=unsafe"]
            words += ["-device", f"nvme,serial=local{number},drive=disk{number}"]
        return words

    @property
    def _console(self) -> Path:
        return self.folder / f"console{self.boots}"

    def console(self) -> str:
        """Return the console's output since it was turned on."""
        return self._console.read_text("utf-8", "replace") if self._console.exists() else ""

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """Return its host keys as a provider reads them."""
        return host_keys_in(self.console())

    def written_bytes(self) -> list[int]:
        """Return the bytes ever written to each disk."""
        return [disk.stat().st_blocks * 512 for disk in self.disks]
