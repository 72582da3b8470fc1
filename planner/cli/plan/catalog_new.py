"""`planner catalog new`: a catalog of machines of one's own."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.files import require_readable
from planner.cli.shell.console import show_json, show_text, talk
from planner.units import count_text, parse_count


def catalog_new(
    directory: Annotated[Path, Argument(help="The folder to make: its name is the catalog's.")],
    file: Annotated[
        Path | None, Argument(help="CSV with a row for each type or machine: columns named as the options.")
    ] = None,
    *,
    type: Annotated[str | None, Option(help="What plans call a machine; the folder's name otherwise.")] = None,
    machines: Annotated[str | None, Option(help="How many of them there are: 20.")] = None,
    vcpus: Annotated[str | None, Option(help="Hardware threads of a machine: 64.")] = None,
    memory: Annotated[str | None, Option(help="Main memory of a machine: 256GiB.")] = None,
    network: Annotated[str | None, Option(help="Network rate of a machine: 25Gbit/s.")] = None,
    disks: Annotated[str | None, Option(help="Local disks for the data; 0 for none.")] = None,
    disk_size: Annotated[str | None, Option(help="Size of each disk: 2TB.")] = None,
    disk_kind: Annotated[str | None, Option(help="nvme, ssd or hdd.")] = None,
    disk_read: Annotated[str | None, Option(help="Reading rate of all disks of a machine: 6GB/s.")] = None,
    disk_write: Annotated[str | None, Option(help="Writing rate of all disks of a machine: 4GB/s.")] = None,
    price: Annotated[str | None, Option(help="US dollars that a machine costs per hour; no rent otherwise.")] = None,
    arch: Annotated[str | None, Option(help="x86_64 or arm64.  [default: x86_64]", show_default=False)] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Make a catalog of machines of your own, to plan with: from options, or from a CSV with a column for each.

    Options give what the CSV lacks. All missing facts are asked for at once.

    Example: planner catalog new mine --machines 20 --vcpus 64 --memory 256GiB --network 25Gbit/s --disks 0

    Example: planner catalog new ours hosts.csv --network 25Gbit/s
    """
    from planner.stores.own_machines import FACTS, new_catalog, read_machines

    given = (type, machines, vcpus, memory, network, disks, disk_size, disk_kind, disk_read, disk_write, price, arch)
    options = {name: text for name, text in zip(FACTS, given, strict=True) if text is not None}
    if file is None:
        found = {"": {"type": directory.name, **options}}
    else:
        require_readable([file])
        rows, taken, left = read_machines(file, counted=machines is not None)
        numbered = (
            [directory.name] if len(rows) == 1 else [f"{directory.name}-{place}" for place in range(1, len(rows) + 1)]
        )
        unnamed = {} if "type" in taken else dict(zip(rows, numbered, strict=True))
        found = {
            where: {"type": unnamed.get(where, "")} | options | {name: text for name, text in row.items() if text}
            for where, row in rows.items()
        }
        talk(f"{file}: {', '.join(f'{fact} is column {name!r}' for fact, name in taken.items())}")
        if left:
            talk(f"{file}: not read: {', '.join(map(repr, left))}; the columns are called {', '.join(FACTS)}")
    types = new_catalog(directory, found, today=date.today())
    if json:
        show_json({"catalog": str(directory), "types": types})
        return
    show_text(f"{directory}: {count_text(len(types), 'type')}: {', '.join(types)}")
    if not any(parse_count(facts.get("disks") or "0") for facts in found.values()):
        talk("next: without disks of their own the machines need a store or volumes, whose rates docs/catalogs.md says")
        return
    talk(f"next: plan --data 1TB --catalog {_path(directory)}; measured rates go into its disks.csv and networks.csv")


def _path(directory: Path) -> str:
    return shlex.quote(str(directory) if directory.is_absolute() else f"./{directory}")
