"""Content of the files that users name: kind, dialect, and notes for a newcomer."""
