"""Python library: one function for each shell command."""
