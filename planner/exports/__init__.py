"""A plan as the file that a platform takes, with what the platform cannot express and what the reader fills in."""
