"""What users keep between runs: their profiles and their measurements."""
