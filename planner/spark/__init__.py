"""Spark applications: their logs, what bounds them, their time on other clusters."""
