"""The exchange of blocks between nodes."""
