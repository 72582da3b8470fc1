"""A sort simulated event by event: flows that share links, disks and processors, tasks in waves, and one driver."""
