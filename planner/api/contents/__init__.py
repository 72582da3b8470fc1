"""Content of input files: kind, dialect, and notes for new users."""
