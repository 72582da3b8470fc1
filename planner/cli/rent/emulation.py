"""Options that describe an emulated cluster, shared by every command that makes one."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from planner.cli.shell.declared_options import DeclaredOptions
from planner.clusters.emulated.shaping import parse_shaping

Nodes = Annotated[int, Option(help="How many nodes, besides the head.")]


class Links(DeclaredOptions, of=[parse_shaping]):
    """The caps of the nodes' links."""
