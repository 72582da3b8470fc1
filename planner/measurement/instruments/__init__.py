"""Instruments: DiskBench, NetBench and others measure the real rates of machines, disks and networks."""
