"""Clouds to rent from: one folder per cloud behind one protocol."""
