"""OpenSSH's server for the tests: runs commands in a shell, forwards connections, knows one key.

python ssh_server.py ADDRESSES HOST_KEY AUTHORIZED_KEYS        serves on port 22 until it is killed
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any

import asyncssh

USER = "ubuntu"


class Server(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True


async def run(process: Any) -> None:
    """Run a command as its user's shell would; its background processes live on."""
    if process.channel.get_extra_info("username") != USER:
        process.exit(1)
        return
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    child = await asyncio.create_subprocess_exec("sh", "-c", process.command, **pipes)
    feeding = asyncio.create_task(pour(process.stdin, child.stdin, closing=True))
    await asyncio.gather(pour(child.stdout, process.stdout), pour(child.stderr, process.stderr))
    code = await child.wait()
    feeding.cancel()
    process.exit(code if code >= 0 else 128 - code)


async def pour(source: Any, target: Any, *, closing: bool = False) -> None:
    """Forward data until its source ends."""
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    if closing:
        target.close()


async def main(addresses: str, host_key: str, authorized_keys: str) -> None:
    for address in addresses.split(","):
        await asyncssh.create_server(
            Server,
            address,
            22,
            server_host_keys=[host_key],
            authorized_client_keys=authorized_keys,
            process_factory=run,
            encoding=None,
        )
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
