"""What the files that users name hold: their kind, their dialect, and what a newcomer should know of them."""
