"""The decisions of the sort on a cluster, as pure functions and classes that the scheduler and the simulation share."""
