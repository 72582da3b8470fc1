"""Compilation of the sort core on a cluster's head for all its machines, which have the same image and processor.

The machines have no access to the Internet, and the stock image has no compiler. The head's apt fetches it through the
caller's own SSH connection. For as long as the script runs, a port of the head leads to each web server that its apt
names. The caller looks up their addresses beforehand, and allows public ones alone: nothing on the head can reach
another server through the caller, whatever it names.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from planner.clusters.remote.own_source import build_requirements
from planner.clusters.remote.ssh import HEAD, IPAddress, Ssh
from planner.clusters.remote.wheelhouse import Wheelhouse
from planner.errors import IoFailureError

SHARED: Final = "planner/share/wheels.tar"
"""Archive that the head serves to all machines."""
SOURCE: Final = "planner/share/source.tar"
"""Archive from which the head makes it."""
_FIRST_PORT: Final = 8378
_LONGEST_S: Final = 1800.0

_BEGIN: Final = """\
set -eu
umask 077
export PYTHONSAFEPATH=1
if command -v cloud-init >/dev/null 2>&1; then cloud-init status --wait >/dev/null 2>&1 || true; fi
cd planner/share
"""

_TELL_DIGEST: Final = 'if [ -f "compiled.{sha256}" ] && [ -f wheels.tar ]; then cat "compiled.{sha256}"; fi\n'

_ASK: Final = """\
if command -v g++ >/dev/null 2>&1 && python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then exit; fi
apt-get indextargets --format '$(SITE)' 'Created-By: Packages'
"""
"""Prints the sites of apt's sources where something must be fetched; reads only apt's settings."""

_FETCH: Final = """\
fetch() {{
  umask 022
  sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \\
    -o Acquire::https::Proxy=http://127.0.0.1:1 {proxies} "$@" </dev/null >&2
}}
(fetch update)
(fetch install -y --no-install-recommends g++ libc6-dev python3-dev)
"""

_COMPILE: Final = """\
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

    Raises IoFailureError with the compiler's message, or where no public web server has the compiler.
    """
    if made := ssh.run(HEAD, _BEGIN + _TELL_DIGEST.format(sha256=wheelhouse.sha256), within_s=_LONGEST_S).strip():
        return made
    sites = ssh.run(HEAD, _BEGIN + _ASK, within_s=_LONGEST_S).split()
    hosts = sorted({match[1] for site in sites if (match := _SITE.fullmatch(site))})
    if sites and not hosts:
        raise IoFailureError(
            f"{HEAD}: no source of its apt is of the form http://HOST/",
            [*sites[:6], _WITHOUT],
            code="no-package-source",
        )
    ways = {_FIRST_PORT + number: _public_address(host) for number, host in enumerate(hosts)}
    proxies = [
        f"-o Acquire::http::Proxy::{host}=http://127.0.0.1:{port}" for host, port in zip(hosts, ways, strict=True)
    ]
    tools = " ".join(f"'{requirement}'" for requirement in build_requirements())
    compiling = _COMPILE.format(sha256=wheelhouse.sha256, python=wheelhouse.python, tools=tools)
    script = _BEGIN + (_FETCH.format(proxies=" ".join(proxies)) if ways else "") + compiling
    return ssh.run_with_ways(HEAD, script, ways=ways, within_s=_LONGEST_S).strip()


_SITE: Final = re.compile(r"http://([A-Za-z0-9][A-Za-z0-9.-]*)(?::80)?(?:/.*)?")
"""A source of apt's that a way can lead to; others give nothing."""


def _public_address(host: str) -> IPAddress:
    """Return a host's public address, IPv4 if it has one. Raises IoFailureError if any of its addresses is not public:
    the head chose the name, and could reach the caller's own machines by it.
    """
    try:
        found = {ip_address(entry[4][0]) for entry in socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)}
    except (OSError, ValueError) as error:
        raise IoFailureError(
            f"{host}: this machine cannot look up the head's package source", [_WITHOUT], code="no-package-source"
        ) from error
    if other := [address for address in found if not _is_public(address)]:
        raise IoFailureError(
            f"{host}: the head's package source has the private address {other[0]}"[:100],
            [_WITHOUT],
            code="private-package-source",
        )
    return min(found, key=lambda address: (address.version, address.packed))


def _is_public(address: IPAddress) -> bool:
    if isinstance(address, IPv6Address):
        return address.is_global and address in _UNICAST and address.sixtofour is None
    return address.is_global and not address.is_multicast and address != _AZURE_HOST


_UNICAST: Final = ip_network("2000::/3")
"""All of IPv6's global addresses (RFC 4291), without those that embed an IPv4 address."""
_AZURE_HOST: Final = ip_address("168.63.129.16")
"""Azure's service for each machine, at a public address (Microsoft Learn, what is IP address 168.63.129.16)."""
_WITHOUT: Final = "an image with g++ and python3-dev (--image), or wheels for the machines (--wheelhouse), need none"
