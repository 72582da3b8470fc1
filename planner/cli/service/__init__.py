"""The command `planner serve`: the answers of the commands over HTTP, and as tools for agents."""
