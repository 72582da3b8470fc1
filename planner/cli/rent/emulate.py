"""`planner emulate`: clusters of network namespaces on this machine, with links capped like a cloud's."""

from __future__ import annotations

import json as json_format
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.api.files import require_directories
from planner.cli.rent import emulation
from planner.cli.shell.console import show, show_json, show_text, talk
from planner.cli.shell.interrupts import orderly_end
from planner.cli.shell.option_values import amount
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.clusters.emulated.ray import EmulatedRay


def emulate_up(
    *,
    nodes: emulation.Nodes = 4,
    links: emulation.Links,
    directory: Annotated[Path, Option("--dir", help="The disk for the nodes' files, removed at the end.")] = Path(),
    json: Annotated[bool, Option("--json", help="Print the cluster as one JSON object.")] = False,
) -> None:
    """Bring up an emulated Ray cluster, print how to reach it, and keep it until Ctrl-C.

    Example: planner emulate up --nodes 4 --rate 400Mbit
    """
    from planner.clusters.emulated.ray import emulated_ray
    from planner.clusters.emulated.shaping import parse_shaping

    require_directories("--dir", [directory])
    shaping = parse_shaping(**links)
    with orderly_end(), emulated_ray(workers=nodes, shaping=shaping, directory=directory, say=talk) as emulated_cluster:
        if json:
            show_json(_described(emulated_cluster))
        else:
            show_text(_shown(emulated_cluster))
        talk("up; Ctrl-C removes it")
        with suppress(KeyboardInterrupt):
            signal.pause()


def emulate_study(
    *,
    data: Annotated[str, Option(help="How much to sort each time: 400MB.")] = "400MB",
    nodes: emulation.Nodes = 4,
    rate_factor: Annotated[float, Option(help="Multiply the drawn caps: 0.1.")] = 0.2,
    repeats: Annotated[int, Option(min=1, help="Rounds through all networks.")] = 3,
    clouds: Annotated[str, Option(help="Which of the study's clouds: ABCDEFGH.")] = "ABCDEFGH",
    seed: Annotated[int | None, Option(help="Seed of the draws; without it they differ each time.")] = None,
    directory: Annotated[Path, Option("--dir", help="The disk for the nodes' files, removed at the end.")] = Path(),
    json: Annotated[bool, Option("--json", help="Print the study as one JSON object.")] = False,
) -> None:
    """Sort under a homogeneous network and under clouds A-H of Uta and Obaseki's study; compare the slowdowns.

    Example: planner emulate study --nodes 4 --data 400MB --rate-factor 0.2
    """
    from planner.cli.shell.progress import shown_events
    from planner.clusters.emulated.study import Study, document, run_study
    from planner.report.run import render_study

    require_directories("--dir", [directory])
    data_bytes = amount("--data", parse_size, data)
    study = Study(
        data_bytes=data_bytes, nodes=nodes, rate_factor=rate_factor, repeats=repeats, directory=directory,
        clouds=tuple(clouds.upper()), seed=seed,
    )  # fmt: skip
    with orderly_end(), shown_events() as on_event:
        measured = run_study(study, say=talk, on_event=on_event)
    if json:
        show_json(document(study, measured))
    else:
        show(render_study(measured))


def emulate_sweep(*, json: Annotated[bool, Option("--json", help="Print the ids as JSON.")] = False) -> None:
    """Remove emulated clusters that killed processes left behind. Ends with exit code 7 when any remains.

    Example: planner emulate sweep
    """
    from planner.clusters.emulated.cluster import sweep

    removed = sweep(by_name=True)
    if json:
        show_json({"removed": removed})
    else:
        show_text("\n".join(f"removed {cluster_id}" for cluster_id in removed) or "nothing was left behind")


def _described(emulated_cluster: EmulatedRay) -> dict[str, object]:
    nodes = emulated_cluster.nodes
    return {
        "id": nodes.entry.cluster_id,
        "shaped": nodes.is_shaped,
        "ray_address": emulated_cluster.ray.address,
        "environment": emulated_cluster.ray.environment(),
        "nodes": [
            {
                "name": nodes.name(node),
                "address": nodes.address(node),
                "directory": str(nodes.directory(node)),
                "namespace": nodes.namespaces.name(node) if nodes.namespaces else None,
                "cap_bytes_per_s": None if node == 0 or (cap := nodes.caps[node - 1]) is None else cap.bytes_per_s,
            }
            for node in range(nodes.workers + 1)
        ],
    }


def _shown(emulated_cluster: EmulatedRay) -> str:
    nodes = emulated_cluster.nodes
    lines = [
        f"{nodes.name(node)}: {nodes.address(node)}, {nodes.caps[node - 1] or 'no cap'}, {nodes.directory(node)}"
        for node in range(1, nodes.workers + 1)
    ]
    enter = f"on the head: {' '.join(nodes.command(0))}" if nodes.is_shaped else "on this machine"
    exports = [
        f"export {name}={json_format.dumps(value)}" for name, value in emulated_cluster.ray.environment().items()
    ]
    reach = f"Ray at {emulated_cluster.ray.address}; to run a command {enter}"
    return "\n".join([*lines, reach, *exports])
