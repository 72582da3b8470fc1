"""Tasks that run on a node."""
