"""Renting a cluster and giving it back: create, record, drop, terminate, list leftovers."""
