"""Values that need no conversion are taken as they are given: what typer converts with takes long to load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any


class TakesAsGiven:
    """What a command inherits to take options that are not given, texts and defaults without a conversion."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Take the words after the command."""
        for parameter in self.get_params(ctx):
            if hasattr(parameter, "get_runtime_param"):
                parameter.get_runtime_param = partial(_Quick, parameter)
        return super().parse_args(ctx, args)  # type: ignore[no-any-return,misc]


@dataclass(frozen=True)
class _Quick:
    """What typer asks to convert the value of a parameter."""

    parameter: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if _is_already(param.type_descriptor.annotation, value):
            return value
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def _is_already(wanted: Any, value: Any) -> bool:
    if wanted == list[str]:
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return wanted in (str, int, float) and type(value) is wanted
