"""Reads files that DiskBench, NetBench, fio, iperf3 and others wrote, and turns them into measurements."""
