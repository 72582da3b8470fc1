"""Sorts on a cluster: Ray places, retries and moves the work; the sort core does it in memory."""
