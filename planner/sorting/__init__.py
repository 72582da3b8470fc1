"""Sorting on this machine: generate, sort, validate, each a plain function over paths or buffers."""
