"""Sorts on a cluster: Ray places, retries and moves the work; the sort core sorts in memory."""
