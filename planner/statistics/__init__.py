"""Scaling curves, order statistics, variance and interruptions: pure functions over arrays."""
