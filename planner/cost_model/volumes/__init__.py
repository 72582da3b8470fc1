"""Block volumes: which type, how many and of what size."""
