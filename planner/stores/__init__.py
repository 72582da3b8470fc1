"""The user's own data between runs: profiles and measurements."""
