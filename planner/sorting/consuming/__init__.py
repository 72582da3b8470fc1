"""Sorts that free the space of their inputs as they read them, and can be resumed."""
