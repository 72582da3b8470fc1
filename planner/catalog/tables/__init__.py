"""CSV files with declared columns, read into numpy arrays; every bad cell of a file is reported, not only the first."""

from planner.catalog.tables.declaration import Column, Problem, Schema, Table
from planner.catalog.tables.reading import empty_table, read_table, scan_table

__all__ = ["Column", "Problem", "Schema", "Table", "empty_table", "read_table", "scan_table"]
