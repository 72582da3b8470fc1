"""Measurements: the instruments, and readers of what other tools measured."""
