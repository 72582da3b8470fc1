"""Sorting on this machine: plain functions over paths or buffers to generate, sort and validate."""
