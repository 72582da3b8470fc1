"""Runs from plan to teardown."""
