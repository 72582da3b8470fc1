"""Where machines come from: clouds, and this machine."""
