"""Options for data and its keys that commands on clusters share with `planner sort`."""

from __future__ import annotations

from inspect import Signature
from typing import Annotated, ClassVar

from planner.cli.shell.declared_options import option, signature_of
from planner.schemas.door import arguments_of
from planner.sorting.sort_job import InputFormat, SortJob

Threads = Annotated[int | None, option("threads", arguments_of(SortJob)["threads"])]


class InputFormatOptions(InputFormat):
    """Contents of `--input`, as options of commands that run on a cluster."""

    __signature__: ClassVar[Signature] = signature_of(InputFormat)
