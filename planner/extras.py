"""Optional packages: imported on first use; errors for absent ones name the extra to install."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from planner.errors import PlannerError

_EXTRAS: Final = {
    "plots": ("altair", "vl_convert"),
    "notebooks": ("ipykernel", "ipywidgets"),
    "aws": ("boto3", "botocore"),
    "gcp": ("google",),
    "azure": ("azure",),
    "ray": ("ray", "psutil"),
    "objects": ("obstore",),
    "zstd": ("zstandard",),
    "arrow": ("pyarrow",),
    "spark": ("cramjam",),
    "serve": ("mcp", "starlette", "uvicorn"),
    "yaml": ("yaml",),
    "tables": ("deltalake", "pyiceberg"),
}
"""The optional packages by the extra that installs them."""


def optional(module: str, *, extra: str, purpose: str) -> Any:
    """Import and return `module`. Raises PlannerError naming the extra of the package that installs it."""
    try:
        return import_module(module)
    except ImportError as missing:
        package = module.partition(".")[0]
        raise PlannerError(
            f"{purpose} needs the package {package}, which is not installed: {install_command(extra)}",
            [str(missing)],
            code="missing-package",
        ) from missing


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the environment in use: pip's, or that of pipx or uv, which keep a file
    in an environment of their own.
    """
    uv, pipx = (Path(sys.prefix, name).is_file() for name in ("uv-receipt.toml", "pipx_metadata.json"))
    if not uv and not pipx:
        return f"pip install 'sortplanner[{extra}]'"
    if pipx:
        return shlex.join(["pipx", "inject", "sortplanner", *_packages(extra)])
    added = shlex.join([word for package in _packages(extra) for word in ("--with", package)])
    return f"uv tool install --force {added} WHEEL"


def _packages(extra: str) -> list[str]:
    """Return the requirements of an extra, those of extras in it too."""
    from importlib.metadata import requires

    pairs = [requirement.split(";") for requirement in requires("sortplanner") or () if ";" in requirement]
    named = [name.strip() for name, marker in pairs if re.search(rf"extra == .{extra}\W", marker)]
    within = [re.match(r"sortplanner\[(.*)\]", name) for name in named]
    plain = [name for name, inner in zip(named, within, strict=True) if not inner]
    return [*(package for inner in within if inner for package in _packages(inner[1])), *plain]


def missing_text(module: str) -> str:
    """Return the message for a module that is not installed, with the extra that installs it, if any."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return f"this Python was built without its module {package.lstrip('_')}: use a Python that has it"
    extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
    advice = install_command(extra) if extra else "install sortplanner again"
    return f"this needs the package {package}, which is not installed: {advice}"
