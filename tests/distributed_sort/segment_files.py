"""Segments as they lie in a node's memory, or on its disk."""

from __future__ import annotations

from planner.distributed_sort.node_files.node_environment import JobFiles


def read_segment(files: JobFiles, name: str) -> bytes:
    """Return the bytes of a segment. Raises FileNotFoundError."""
    memory, disk = (folder / name for folder in files.segment_folders())
    return (memory if memory.exists() else disk).read_bytes()
