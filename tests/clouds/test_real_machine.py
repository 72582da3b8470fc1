"""Each cloud's user data on a real Debian: booted, restarted and ended, using the product's own ssh."""

from __future__ import annotations

import base64
import contextlib
import importlib
import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import real_machine
from real_machine import RealMachine

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_init import DISKS_DIRECTORY, MOUNT_OPTIONS
from planner.clouds.protocol import PlannedRequest, Provider
from planner.clouds.registry import provider_of
from planner.clusters.provisioning.dry_run import rehearse
from planner.clusters.remote import bootstrap
from planner.clusters.remote.ssh import HEAD, Ssh, UnreachableError
from planner.clusters.runs.ray_on_nodes import _FILES
from planner.distributed_sort.node_files.node_environment import END_UNIT

pytestmark = [pytest.mark.soak, pytest.mark.needs_root(why="makes a disk with Debian on it, answers at port 22")]
NO_CREDENTIALS = {
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true",
    "GOOGLE_APPLICATION_CREDENTIALS": "", "CLOUDSDK_CONFIG": "/none", "AZURE_CONFIG_DIR": "/none",
}  # fmt: skip
PATIENT = RetryPolicy(poll_s=1.0, join_s=1200.0)
"""An emulated machine takes minutes to boot on a busy host."""
MOST_WRITTEN_BYTES = 200e6
"""Bytes written to both disks together; their inode tables would take 59 GB."""


class Started(NamedTuple):
    """A running machine, its connection, its process here, and its scheduled end."""

    machine: RealMachine
    ssh: Ssh
    process: subprocess.Popen[bytes]
    expires_at: datetime


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if lacking := real_machine.missing():
        pytest.skip(f"a real machine cannot be emulated here: there is no {lacking}")
    return real_machine.image(Path(os.environ.get("PLANNER_TEST_IMAGE") or tmp_path_factory.mktemp("image")))


def user_data(cloud: str, emulator: str, *, expires_at: datetime) -> str:
    """Return the user data that the product asks this cloud to give a machine."""
    order = importlib.import_module(emulator).order("vm", staging=True, expires_at=expires_at)
    requests = rehearse(order, provider_of(cloud)).requests
    return next(data for request in requests if (data := _user_data(request)))


def _user_data(request: PlannedRequest) -> str:
    body: dict[str, Any] = request.parameters.get("body") or {}
    if encoded := body.get("properties", {}).get("osProfile", {}).get("customData"):
        return base64.b64decode(encoded).decode()
    items = body.get("instanceProperties", {}).get("metadata", {}).get("items", [])
    values = {item["key"]: item["value"] for item in items}
    return str(values.get("user-data") or request.parameters.get("UserData") or "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, value in NO_CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    yield tmp_path
    for disk in tmp_path.glob("nvme*"):
        disk.unlink()  # programs that look into kept folders should not see terabytes


@pytest.mark.parametrize(
    ("provider", "emulator"), [("aws", "emulated_ec2"), ("gcp", "emulated_gcp"), ("azure", "emulated_azure")]
)
def test_a_machine_prepares_itself_and_ends(image: Path, folder: Path, provider: str, emulator: str) -> None:
    expires_at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=8)
    document = user_data(provider, emulator, expires_at=expires_at)
    public_key = (folder / "key.pub").read_text("utf-8").strip()
    machine = RealMachine(image, folder, user_data=document, public_key=public_key)
    with Ssh([machine.node], directory=folder, key=folder / "key") as ssh:
        with machine.booted() as process:
            start = Started(machine, ssh, process, expires_at)
            require_verified_login(start)
            require_disks(start)
            require_limits(ssh)
            require_closed_doors(start)
            require_end(start)
            if provider == "gcp":
                assert ssh.run(HEAD, "getent hosts storage.googleapis.com", within_s=60).startswith("199.36.153.8 ")
            made = identities(ssh)
            end(start, f"touch {DISKS_DIRECTORY}/disk1/kept; sync; sudo -n systemctl reboot")
        written = sum(machine.written_bytes())
        with machine.booted() as process:
            again = Started(machine, ssh, process, expires_at)
            answer(again)
            wait_until(lambda: len(mounts(ssh)) == 2)
            assert identities(ssh) == made and ssh.run(HEAD, f"ls {DISKS_DIRECTORY}/disk1", within_s=60).count("kept")
            assert sum(machine.written_bytes()) - written < 20e6, "nothing is formatted"
            require_end(again)
            if provider == "aws":
                end(again, f"sudo -n date --set=@{int(expires_at.timestamp()) - 30}")
            else:
                end(again, f"sudo -n systemctl start --no-block {END_UNIT}")
            assert "Power down" in machine.console()


def require_verified_login(start: Started) -> None:
    """The key appears on the console in time and is the machine's own, and nothing is pinned unseen."""
    begun, machine, told = time.monotonic(), start.machine, list[str]()
    wait_until(lambda: machine.host_keys(machine.node))
    tell("host keys on the console", seconds_since(begun))
    provider: Provider = machine  # type: ignore[assignment]  # it only returns host keys
    bootstrap.wait_for_head(start.ssh, machine.node, provider, policy=PATIENT, say=told.append)
    assert told == ["waiting for the head to answer"] and start.ssh.verified_nodes == {machine.node.id}
    start.ssh.run(HEAD, bootstrap._BEGIN_SETUP, within_s=1200)
    tell("ready", seconds_since(begun))
    console = machine.console()
    assert console.index("END SSH HOST KEY KEYS") < console.index("EXT4-fs (nvme"), "before disks are formatted"


def require_disks(start: Started) -> None:
    """Both are mounted where the product looks, with its options, empty, and preparing them wrote hardly anything."""
    stand_in = "cd planner; mkdir -p venv/bin; ln -s /bin/true venv/bin/python\n"
    script = stand_in + bootstrap._END_SETUP.format(disks=DISKS_DIRECTORY)
    equipped = bootstrap._equip_node(start.ssh, start.machine.node, script, policy=PATIENT)
    assert equipped.disks == tuple(f"{DISKS_DIRECTORY}/disk{number}" for number in range(2))
    assert mounts(start.ssh) == [
        f"/dev/nvme{number}n1 {DISKS_DIRECTORY}/disk{number} ext4 rw,{MOUNT_OPTIONS} 0 0" for number in range(2)
    ]
    sizes = start.ssh.run(HEAD, f"df -B1 --output=avail {DISKS_DIRECTORY}/disk[0-9]", within_s=60).split()[1:]
    assert all(int(size) > 0.98 * real_machine.DISK_BYTES for size in sizes), "nothing is kept back"
    stamps = f"stat -c %.W {DISKS_DIRECTORY}; stat -c %.Y {DISKS_DIRECTORY}/disks"
    before, after = map(float, start.ssh.run(HEAD, stamps, within_s=60).split())
    tell("formatting both disks", after - before)
    written = sum(start.machine.written_bytes())
    tell("formatting wrote MB", written / 1e6)
    assert 0 < written < MOST_WRITTEN_BYTES


def require_limits(ssh: Ssh) -> None:
    """A login may open few files by its soft limit; Ray gets all that the hard limit allows."""
    before, after, most = map(
        int, ssh.run(HEAD, f"ulimit -S -n\n{_FILES}ulimit -S -n; ulimit -H -n", within_s=60).split()
    )
    tell("files by the soft limit", before)
    tell("files for Ray", after)
    assert after == most >= 65536


def require_closed_doors(start: Started) -> None:
    """No password is requested, root cannot log in, and neither can the user without the run's key."""
    attempts = {
        "ubuntu": ["-o", "PubkeyAuthentication=no", "-o", "PreferredAuthentications=password,keyboard-interactive"],
        "root": [],
    }
    for user, options in attempts.items():
        command = start.ssh.command(HEAD, "id", "-u", options=["-l", user, "-o", "ControlPath=none", *options])
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode and "0" not in ended.stdout.split(), (user, ended)
        if user == "ubuntu":
            assert "Permission denied (publickey)" in ended.stderr, "no other method is offered"
    assert start.ssh.run(HEAD, "id -un; sudo -n id -un", within_s=60).split() == ["ubuntu", "root"]


def require_end(start: Started) -> None:
    """The timer is set for the run's expiry."""
    shown = "TZ=UTC systemctl show --property=NextElapseUSecRealtime --value planner-end.timer"
    assert start.ssh.run(HEAD, shown, within_s=60).strip() == f"{start.expires_at:%a %Y-%m-%d %H:%M:%S} UTC"


def mounts(ssh: Ssh) -> list[str]:
    return sorted(ssh.run(HEAD, f"grep {DISKS_DIRECTORY} /proc/mounts || true", within_s=60).splitlines())


def identities(ssh: Ssh) -> list[str]:
    """Return the UUIDs of the file systems, set when they are formatted, in the order of the directories. The order of
    the devices changes from boot to boot.
    """
    places = [f"{DISKS_DIRECTORY}/disk{number}" for number in range(2)]
    return [ssh.run(HEAD, f"findmnt --noheadings --output UUID {place}", within_s=60).strip() for place in places]


def answer(start: Started) -> None:
    """Return when the machine accepts a login."""
    begun = time.monotonic()

    def lets_in() -> bool:
        try:
            return bool(start.ssh.run(HEAD, "echo yes", within_s=60))
        except UnreachableError:
            return False

    wait_until(lets_in)
    tell("restarted", seconds_since(begun))


def end(start: Started, script: str) -> None:
    """Run the script that ends the machine, and return when it is off."""
    assert start.process.poll() is None, "it has not ended before"
    begun = time.monotonic()
    with contextlib.suppress(UnreachableError):  # it may be off before it answers
        start.ssh.run(HEAD, script, within_s=600)
    assert start.process.wait(600) == 0
    tell("off after", seconds_since(begun))


def wait_until(holds: Any, *, within_s: float = 1200.0) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.5)


def seconds_since(begun: float) -> float:
    return time.monotonic() - begun


def tell(what: str, figure: float) -> None:
    """Print a figure, which `pytest -rP` shows."""
    print(f"{what}: {figure:.0f}")
