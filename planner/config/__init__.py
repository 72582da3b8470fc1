"""Where the data files are, and what users have set."""
