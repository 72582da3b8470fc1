"""Write the files that the tests of `planner ingest` read: short runs of fio 3, iperf3, ioping and our own instruments.

python scripts/write_ingest_samples.py DIRECTORY

Needs fio, iperf3 and ioping, writes to tests/measurement/ingest/data/samples, and uses DIRECTORY (on a disk, for direct
I/O) for data. The form of the results matters, not the rates. Unused tables (`disk_util`, `latency_us`) are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

SAMPLES: Final = Path(__file__).resolve().parents[1] / "tests" / "measurement" / "ingest" / "data" / "samples"
_UNREAD: Final = ("disk_util", "latency_ns", "latency_us", "latency_ms", "trim", "iodepth_submit", "iodepth_complete")
_PORTS: Final = (8765, 8766)

_ONE_JOB: Final = {
    "read-1m": "rw=read bs=1M direct=1",
    "write-1m": "rw=write bs=1M direct=1",
    "rw-1m": "rw=rw bs=1M direct=1",
    "read-64k": "rw=read bs=64k direct=1",
    "read-128k": "rw=read bs=128k direct=1",
    "read-256k": "rw=read bs=256k direct=1",
    "write-512k": "rw=write bs=512k direct=1",
    "randread-4k": "rw=randread bs=4k direct=1",
    "randwrite-4k": "rw=randwrite bs=4k direct=1",
    "randread-4k-depth32": "rw=randread bs=4k direct=1 ioengine=libaio iodepth=32",
    "randread-16k": "rw=randread bs=16k direct=1",
    "randwrite-32k": "rw=randwrite bs=32k direct=1",
    "randread-1m": "rw=randread bs=1M direct=1",
    "randrw-70-4k": "rw=randrw rwmixread=70 bs=4k direct=1",
    "randrw-mixwrite-8k": "rw=randrw rwmixwrite=30 bs=8k direct=1",
    "randrw-50-4k": "rw=randrw bs=4k direct=1",
    "randwrite-4k-fsync": "rw=randwrite bs=4k direct=1 fsync=1 size=256k",
    "write-4k-fdatasync": "rw=write bs=4k fdatasync=8 size=256k",
    "write-4k-osync": "rw=write bs=4k direct=1 sync=1 size=256k",
    "read-buffered": "rw=read bs=1M",
    "no-percentiles": "rw=randread bs=4k direct=1 clat_percentiles=0",
    "lat-percentiles": "rw=randread bs=4k direct=1 lat_percentiles=1",
    "two-block-sizes": "rw=randrw bs=4k,64k direct=1",
    "block-range": "rw=randread bsrange=4k-16k direct=1",
    "other-spellings": "readwrite=randread blocksize=8k direct=1",
    "four-jobs": "rw=randread bs=4k direct=1 numjobs=4",
    "four-jobs-grouped": "rw=randread bs=4k direct=1 numjobs=4 group_reporting",
    "held-back": "rw=randread bs=4k direct=1 rate_iops=20000",
    "both-sides-added": "rw=randrw bs=4k direct=1 unified_rw_reporting=1",
}
_JOBS: Final = {
    "in-turn": "[global]\ndirect=1\n[r]\nrw=read\nbs=1M\n[w]\nstonewall\nrw=write\nbs=1M\n[rr]\nstonewall\n"
    "rw=randread\nbs=4k\niodepth=16\nioengine=libaio\n[rw]\nstonewall\nrw=randwrite\nbs=4k\n[mix]\nstonewall\nrw=randrw\n"
    "rwmixread=75\nbs=8k\n",
    "block-sweep": "[global]\ndirect=1\nrw=read\nstonewall\n"
    + "".join(f"[{size}]\nbs={size}\n" for size in ("4k", "16k", "64k", "256k", "1M")),
    "new-groups": "[global]\ndirect=1\nbs=1M\n[r]\nrw=read\n[w]\nnew_group\nrw=write\n",
    "reader-and-writer": "[global]\ndirect=1\nbs=1M\n[r]\nrw=read\n[w]\nrw=write\n",
    "blocks-mixed": "[global]\ndirect=1\nrw=read\n[small]\nbs=4k\n[large]\nbs=1M\n",
    "same-again": "[global]\ndirect=1\nrw=read\nbs=1M\n[first]\n[second]\nstonewall\n",
}
_CLIENTS: Final = {
    "clients-one-job": "[r]\nrw=read\nbs=1M\ndirect=1\n",
    "clients-in-turn": "[global]\ndirect=1\n[r]\nrw=read\nbs=1M\n[m]\nstonewall\nrw=randrw\nrwmixread=70\nbs=4k\n"
    "numjobs=2\ngroup_reporting\n",
}
_IPERF3: Final = {
    "iperf3-one": (),
    "iperf3-four": ("-P", "4"),
    "iperf3-reverse": ("-R",),
    "iperf3-both-ways": ("--bidir",),
    "iperf3-udp": ("-u", "-b", "50M"),
}
_IOPING: Final = {"ioping": ("file",), "ioping-quiet": ("-q", "file"), "ioping-write": ("-WWW", "file")}
_OWN: Final = {
    "disk": "disk --dir a --dir b --seconds 0.3 --size 8MB --mode all --layout both",
    "disk-read": "disk --dir a --seconds 0.3 --size 8MB --mode read",
    "small-io": "disk --suite small-io --dir a --seconds 0.05 --size 9MB",
    "sort": "sort --size 2MB",
}


def main(directory: Path) -> None:
    """Write all samples."""
    SAMPLES.mkdir(parents=True, exist_ok=True)
    usual = ["--size=4M", f"--directory={directory}"]
    for name, options in _ONE_JOB.items():
        words = [*usual, "--name=job", *(f"--{option}" for option in options.split())]
        _write(directory, f"fio-{name}", _fio(words))
    for name, text in _JOBS.items():
        _write(directory, f"fio-{name}", _fio([*usual, _job_file(directory, text)]))
    _write(directory, "fio-json-plus", _fio([*usual, "--name=job", "--rw=randread", "--numjobs=2"], form="json+"))
    for name, text in _CLIENTS.items():
        _write(directory, f"fio-{name}", _clients(directory, text))
    for name, options in _IPERF3.items():
        _write(directory, name, _iperf3(options))
    for name, words in _IOPING.items():
        _write(directory, name, _ioping(directory, words))
    for name, words in _OWN.items():
        _write(directory, f"own-{name}", _own(directory, words))


def _job_file(directory: Path, text: str) -> str:
    path = directory / "job.fio"
    path.write_text(text)
    return str(path)


def _fio(words: list[str], *, form: str = "json") -> dict[str, Any]:
    output = subprocess.run(["fio", f"--output-format={form}", *words], capture_output=True, text=True, check=True)
    return _parsed(output.stdout)


def _clients(directory: Path, text: str) -> dict[str, Any]:
    """Run two servers of this machine in place of two machines, and name them so."""
    shared = f"[global]\nsize=4M\ndirectory={directory}\n"
    servers = [subprocess.Popen(["fio", f"--server=127.0.0.1,{port}"], stdout=subprocess.DEVNULL) for port in _PORTS]
    try:
        time.sleep(1)
        job = _job_file(directory, shared + text.replace("[global]\n", ""))
        document = _fio([word for port in _PORTS for word in (f"--client=127.0.0.1,{port}", job)])
    finally:
        for server in servers:
            server.kill()
    for entry in document["client_stats"]:
        entry["hostname"] = f"node-{_PORTS.index(entry['port']) + 1}"
    return document


def _iperf3(options: tuple[str, ...]) -> dict[str, Any]:
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", "5299"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    words = ["iperf3", "-c", "127.0.0.1", "-p", "5299", "-t", "1", "-J", *options]
    output = subprocess.run(words, capture_output=True, text=True, check=True)
    server.wait()
    return _parsed(output.stdout.replace("127.0.0.1", "10.0.0.1"))  # one machine stands for two


def _ioping(directory: Path, options: tuple[str, ...]) -> Any:
    (directory / "file").write_bytes(bytes(2**20))
    words = ["ioping", "-c", "3", "-i", "0.01", "-J", *options]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True, cwd=directory).stdout)


def _own(directory: Path, words: str) -> dict[str, Any]:
    for name in ("a", "b"):
        (directory / name).mkdir(exist_ok=True)
    command = [sys.executable, "-m", "planner", "bench", *words.split(), "--json", "--type", "i4i.large"]
    return _parsed(subprocess.run(command, capture_output=True, text=True, check=True, cwd=directory).stdout)


def _parsed(text: str) -> dict[str, Any]:
    """Return the document without the unused tables."""
    document: dict[str, Any] = json.loads(text[text.index("{") :], object_pairs_hook=_read_keys)
    return document


def _read_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if name not in _UNREAD}


def _write(directory: Path, name: str, document: Any) -> None:
    text = json.dumps(document, separators=(",", ":")).replace(str(directory), "/mnt/disk")
    (SAMPLES / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
