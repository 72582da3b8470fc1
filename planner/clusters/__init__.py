"""Clusters: renting them, running a sort on them, emulating them."""
