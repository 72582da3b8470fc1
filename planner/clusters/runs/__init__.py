"""Runs from plan to validated result, on this machine and on rented ones."""
