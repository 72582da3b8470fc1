"""Files on a node's disks."""
