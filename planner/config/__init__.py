"""Paths of the data files, and the user's settings."""
