"""Commands that plan and explain."""
