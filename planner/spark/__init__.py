"""Spark applications: their logs, their bounds, and their predicted time on other clusters."""
