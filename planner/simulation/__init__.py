"""Event-by-event simulation of a sort: flows that share links, disks and processors, tasks in waves, and one driver."""
