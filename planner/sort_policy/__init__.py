"""What the sort on a cluster decides, as pure functions and classes: the scheduler and the simulation call the same."""
