"""Plans and runs in readable form."""
