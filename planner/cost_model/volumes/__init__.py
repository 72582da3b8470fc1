"""Block volumes: type, count and size."""
