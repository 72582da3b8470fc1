"""Commands that generate, sort and validate data."""
