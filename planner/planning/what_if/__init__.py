"""What would change the answer."""
