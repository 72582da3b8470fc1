"""Readers that turn files of DiskBench, NetBench, fio, iperf3 and others into measurements."""
