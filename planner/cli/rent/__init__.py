"""Commands that rent, run and emulate clusters."""
