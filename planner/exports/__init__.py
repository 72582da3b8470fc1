"""Plans exported as platforms' files, with each platform's limitations and the values that the reader fills in."""
