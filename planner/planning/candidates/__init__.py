"""Candidate clusters: the grid, feasibility, and each in full."""
