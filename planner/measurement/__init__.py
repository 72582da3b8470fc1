"""Measurements: the instruments, and readers of other tools' results."""
