"""Compilation of the sort core on a cluster's head for all its machines, which have the same image and processor.

The machines have no access to the Internet, and the stock image has no compiler. The head's apt fetches it through the
caller's own SSH connection, which offers a SOCKS proxy on the head for as long as the script runs.
"""

from __future__ import annotations

from typing import Final

from planner.clusters.remote.own_source import build_requirements
from planner.clusters.remote.ssh import HEAD, Ssh
from planner.clusters.remote.wheelhouse import Wheelhouse

SHARED: Final = "planner/share/wheels.tar"
"""Archive that the head serves to all machines."""
SOURCE: Final = "planner/share/source.tar"
"""Archive from which the head makes it."""
_PROXY_PORT: Final = 8378
_LONGEST_S: Final = 1800.0

_COMPILER_S: Final = 90.0
"""Seconds until apt has fetched and installed the compiler through the caller's connection; assumed."""
_CORE_CPU_S: Final = 300.0
"""Processor seconds to compile the sort core and pack it; measured on x86-64: 303 s."""
_MOST_JOBS: Final = 8
"""More processors do not help: a few files take most of the time; assumed."""


def compiling_s(vcpus: float) -> float:
    """Return the expected seconds on a head with `vcpus` processors."""
    return _COMPILER_S + _CORE_CPU_S / max(1.0, min(vcpus, _MOST_JOBS))


_SCRIPT: Final = """\
set -eu
umask 077
export PYTHONSAFEPATH=1
if command -v cloud-init >/dev/null 2>&1; then cloud-init status --wait >/dev/null 2>&1 || true; fi
cd planner/share
if [ -f "compiled.{sha256}" ] && [ -f wheels.tar ]; then cat "compiled.{sha256}"; exit; fi
has_headers() {{
  python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}}
if ! command -v g++ >/dev/null 2>&1 || ! has_headers; then
  fetch() {{
    umask 022
    sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \\
      -o Acquire::http::Proxy=socks5h://127.0.0.1:{port} -o Acquire::https::Proxy=socks5h://127.0.0.1:{port} \\
      "$@" </dev/null >&2
  }}
  (fetch update)
  (fetch install -y --no-install-recommends g++ libc6-dev python3-dev)
fi
rm -rf build
mkdir -p build/wheels
cd build
python3 - "{sha256}" "{python}" <<'PYTHON'
import hashlib, sys, tarfile
wanted, python = sys.argv[1:]
found = "%d.%d" % sys.version_info[:2]
if found != python:
    sys.exit("the image has Python %s, the wheels are for %s: name others with --wheelhouse" % (found, python))
with open("../source.tar", "rb") as content:
    if hashlib.sha256(content.read()).hexdigest() != wanted:
        sys.exit("the sources that arrived are not those that were sent")
tarfile.open("../source.tar").extractall("wheels")
PYTHON
python3 -m venv --clear --without-pip tools
pip=$(echo wheels/pip-*.whl)/pip
PIP_FIND_LINKS=wheels tools/bin/python "$pip" install --quiet --no-index --no-cache-dir --no-warn-script-location \\
  {tools} >&2
export PATH="$PWD/tools/bin:$PATH" SORTPLANNER_NATIVE=1
tools/bin/python "$pip" wheel --quiet --no-index --no-deps --no-build-isolation --no-cache-dir --wheel-dir made \\
  wheels/sortplanner-*.tar.gz >&2
rm wheels/sortplanner-*.tar.gz
mv made/sortplanner-*.whl wheels
tools/bin/python - <<'PYTHON' >compiled
import hashlib, os, tarfile
with tarfile.open("wheels.tar", "w") as tar:
    for name in sorted(os.listdir("wheels")):
        tar.add("wheels/" + name, arcname=name)
with open("wheels.tar", "rb") as content:
    print(hashlib.sha256(content.read()).hexdigest())
PYTHON
cd ..
mv build/wheels.tar wheels.tar
mv build/compiled "compiled.{sha256}"
rm -rf build
cat "compiled.{sha256}"
"""


def compile_on_head(ssh: Ssh, wheelhouse: Wheelhouse) -> str:
    """Have the head make wheels for all machines from its copy of the sources, unless it has them; return their digest.

    Raises IoFailureError with the compiler's message.
    """
    tools = " ".join(f"'{requirement}'" for requirement in build_requirements())
    script = _SCRIPT.format(sha256=wheelhouse.sha256, python=wheelhouse.python, tools=tools, port=_PROXY_PORT)
    return ssh.run_with_proxy(HEAD, script, port=_PROXY_PORT, within_s=_LONGEST_S).strip()
