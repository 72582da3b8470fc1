"""Changes of the answer."""
