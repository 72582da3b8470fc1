"""A body for every machine that an emulated cloud lists: a network namespace with an SSH server in it.

Machines reach each other at their private addresses, over links of one switch. Only the head, which has a public
address, can be reached from this machine's own network, by that address and at port 22. Each has two disks. An object
store may be on the switch too; machines and this machine's own network reach it at one address. Everything is removed
at the end, and a machine's body when the cloud has ended it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from public_addresses import public_address

HERE = Path(__file__).parent
FRAME_BYTES = 9000
STORE, JUMP = 250, 251
"""The numbers of the object store and of a jump machine among machines."""
BIND = """
mount -t tmpfs tmpfs /mnt && mkdir -p /mnt/planner/disk0 /mnt/planner/disk1 &&
mount --bind "$0/disk0" /mnt/planner/disk0 && mount --bind "$0/disk1" /mnt/planner/disk1 &&
mount --bind "$0/ray" /tmp/ray && { [ ! -e "$0/no-ray" ] || mount -o remount,bind,ro /tmp/ray; } &&
cd "$0/home" && exec "$@"
"""


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def wait_for(url: str, *, within_s: float = 60.0) -> None:
    """Return once something answers."""
    until = time.monotonic() + within_s
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


class EmulatedMachines:
    """`listed` returns the cloud's machines, `show` writes to a machine's console. `caps`, in Mbit/s, hold for machines
    other than the head, in the order they come. `mute` ones never answer, Ray does not start on those `without_ray`,
    and with `has_false_keys` a console shows another key than the machine's.
    """

    def __init__(
        self, listed: Callable[[], list[dict[str, Any]]], show: Callable[[str, str], None], home: Path
    ) -> None:
        self.listed = listed
        self.show = show
        self.home = home
        self.prefix = f"pm{os.getpid() % 100000}"
        self.switch = f"{self.prefix}-switch"
        self.made: dict[str, int] = {}
        self.order: list[str] = []
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.numbers = itertools.count()
        self.ranks = itertools.count()  # of machines other than the head
        self.trouble: list[BaseException] = []
        self.caps: dict[int, int] = {}
        self.mute: set[int] = set()
        self.without_ray: set[int] = set()
        self.has_false_keys = False

    def namespace(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    def open(self) -> None:
        Path("/tmp/ray").mkdir(exist_ok=True)
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "bridge", "up")

    def look(self) -> None:
        """Give new machines a body and remove those of ended ones."""
        machines = {machine["id"]: machine for machine in self.listed()}
        for name in [name for name in self.made if name not in machines]:
            self.remove(name)
        for name, machine in machines.items():
            if name not in self.made and machine["public_key"]:
                self.made[name] = next(self.numbers)
                self.order.append(name)
                self.create(name, machine)

    def create(self, name: str, machine: dict[str, Any]) -> None:
        number = self.made[name]
        space, folder = self.namespace(number), self.home / str(number)
        self.connect(space, number, machine["private_address"])
        cap = None if machine["public_address"] else self.caps.get(next(self.ranks))
        if cap:
            limit = ["tbf", "rate", f"{cap}mbit", "burst", "256kb", "latency", "20ms"]
            run("tc", "-n", space, "qdisc", "replace", "dev", "eth0", "root", *limit)
        addresses = [machine["private_address"]]
        if machine["public_address"]:
            self.open_public_address(space, number, machine["public_address"])
            addresses.append(machine["public_address"])
        self.furnish(folder, machine["public_key"])
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "other_key"))
        shown = "other_key.pub" if self.has_false_keys else "host_key.pub"
        public = (folder / shown).read_text("utf-8").strip()
        self.show(name, f"boot\n-----BEGIN SSH HOST KEY KEYS-----\n{public}\n-----END SSH HOST KEY KEYS-----\n")
        if number in self.without_ray:
            (folder / "no-ray").touch()
        if number not in self.mute:
            self.processes[name] = self.serve(space, folder, addresses)

    def furnish(self, folder: Path, public_key: str) -> None:
        for part in ("disk0", "disk1", "ray", "home", "bin"):
            (folder / part).mkdir(parents=True)
        (folder / "bin" / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
        (folder / "authorized_keys").write_text(public_key + "\n", encoding="utf-8")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host_key"))

    def connect(self, space: str, number: int, address: str) -> None:
        """Make a namespace with a link to the switch."""
        port, mtu = f"port{number}", str(FRAME_BYTES)
        run("ip", "netns", "add", space)
        run("ip", "-n", self.switch, "link", "add", port, "mtu", mtu, "type", "veth", "peer", "name", "eth0", "mtu",
            mtu, "netns", space)  # fmt: skip
        run("ip", "-n", self.switch, "link", "set", port, "master", "bridge", "up")
        run("ip", "-n", space, "addr", "add", f"{address}/16", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", space, "link", "set", device, "up")

    @contextmanager
    def object_store(self, address: str) -> Iterator[str]:
        """Run an S3 in memory at an address of the machines' network and yield its URL."""
        space, number = self.namespace(STORE), STORE
        self.connect(space, number, address)
        self.open_public_address(space, number, address)
        server = [sys.executable, str(HERE / "s3_server.py"), address, "80", str(10**9), os.devnull]
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, *server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(f"http://{address}/")
            yield f"http://{address}"
        finally:
            process.kill()
            process.wait()
            run("ip", "netns", "delete", space)

    @contextmanager
    def jump_machine(self, address: str, public_key: str) -> Iterator[str]:
        """Run a third party's machine at an address of the machines' network, and yield its public address."""
        space, folder, public = self.namespace(JUMP), self.home / str(JUMP), public_address()
        self.connect(space, JUMP, address)
        self.open_public_address(space, JUMP, public)
        self.furnish(folder, public_key)
        process = self.serve(space, folder, [public])
        try:
            yield public
        finally:
            process.kill()
            process.wait()
            run("ip", "netns", "delete", space)

    def open_public_address(self, space: str, number: int, public_address: str) -> None:
        """Link this machine's own network to the head, at its public address."""
        outside, inside = f"{self.prefix}d{number}", "door"
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
        run("ip", "addr", "add", f"198.18.{number}.1", "peer", f"{public_address}/32", "dev", outside)
        run("ip", "link", "set", outside, "up")
        run("ip", "-n", space, "addr", "add", public_address, "peer", f"198.18.{number}.1/32", "dev", inside)
        run("ip", "-n", space, "link", "set", inside, "up")

    def serve(self, space: str, folder: Path, addresses: list[str]) -> subprocess.Popen[bytes]:
        environment = {
            "HOME": str(folder / "home"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }
        server = [sys.executable, str(HERE / "ssh_server.py"), ",".join(addresses)]
        keys = [str(folder / "host_key"), str(folder / "authorized_keys")]
        within = ["ip", "netns", "exec", space, "sh", "-c", BIND, str(folder)]
        with (folder / "server.log").open("wb") as log:
            return subprocess.Popen(
                [*within, *server, *keys], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def server_log(self, number: int) -> str:
        return (self.home / str(number) / "server.log").read_text("utf-8")

    def pids(self, number: int) -> list[int]:
        return [int(pid) for pid in run("ip", "netns", "pids", self.namespace(number)).split()]

    def remove(self, name: str) -> None:
        number = self.made.pop(name)
        while pids := self.pids(number):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if process := self.processes.pop(name, None):
            process.wait()
            if process.returncode != -signal.SIGKILL:
                self.trouble.append(RuntimeError(f"{name}'s SSH server ended: {self.server_log(number)}"))
        run("ip", "netns", "delete", self.namespace(number))
        shutil.rmtree(self.home / str(number), ignore_errors=True)

    def are_gone(self, *, within_s: float = 60.0) -> bool:
        """Return True as soon as no machine has a body any more; bodies go some time after machines."""
        until = time.monotonic() + within_s
        while self.made and time.monotonic() < until:
            time.sleep(0.05)
        return not self.made

    def close(self) -> None:
        for name in list(self.made):
            self.remove(name)
        run("ip", "netns", "delete", self.switch)


@contextmanager
def emulated_machines(
    listed: Callable[[], list[dict[str, Any]]], show: Callable[[str, str], None], home: Path
) -> Iterator[EmulatedMachines]:
    """Keep bodies in step with machines while the body of the `with` runs."""
    machines = EmulatedMachines(listed, show, home)
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.1):
            try:
                machines.look()
            except BaseException as error:
                machines.trouble.append(error)
                return

    machines.open()
    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield machines
    finally:
        over.set()
        thread.join()
        machines.close()
    assert not machines.trouble, machines.trouble


def write_stand_in_wheels(directory: Path) -> Path:
    """Write a wheelhouse whose planner is the tested one, and whose Ray and pyarrow are this machine's: Ray's wheel
    only points at them, and pyarrow's is empty. pip is Python's own.
    """
    import ensurepip

    directory.mkdir()
    pip = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    shutil.copy(pip, directory)
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    info, tag = "sortplanner-0.1.0.dist-info", f"{version}-{version}-linux_{os.uname().machine}"
    files = {
        "planner_under_test.pth": f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: sortplanner\nVersion: 0.1.0\n"
        "Provides-Extra: ray\nProvides-Extra: objects\n"
        "Provides-Extra: arrow\nRequires-Dist: pyarrow; extra == 'arrow'\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": "[console_scripts]\nplanner=planner.cli.app:main\nray=ray.scripts.scripts:main\n",
    }
    write_wheel(directory / f"sortplanner-0.1.0-{tag}.whl", info, files)
    arrow = "pyarrow-99.dist-info"
    nothing = {
        f"{arrow}/METADATA": "Metadata-Version: 2.1\nName: pyarrow\nVersion: 99\n",
        f"{arrow}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    write_wheel(directory / "pyarrow-99-py3-none-any.whl", arrow, nothing)
    return directory


def write_wheel(path: Path, info: str, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))
