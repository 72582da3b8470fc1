"""Instruments: DiskBench, NetBench and others measure what machines, disks and networks really do."""
