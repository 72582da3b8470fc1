"""Optional packages: imported on first use; errors for absent ones name the extra to install."""

from __future__ import annotations

import sys
from importlib import import_module
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
            f"{purpose} needs the package {package}, which is not installed: pip install 'sortplanner[{extra}]'",
            [str(missing)],
            code="missing-package",
        ) from missing


def missing_text(module: str) -> str:
    """Return the message for a module that is not installed, with the extra that installs it, if any."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return f"this Python was built without its module {package.lstrip('_')}: use a Python that has it"
    extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
    advice = f"pip install 'sortplanner[{extra}]'" if extra else "install sortplanner again"
    return f"this needs the package {package}, which is not installed: {advice}"
