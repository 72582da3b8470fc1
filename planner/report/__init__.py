"""Plans and runs as people read them."""
