"""Text files: lines and CSV."""
