"""Sorting on a cluster: Ray places, retries and moves; the sort core does the work in memory."""
