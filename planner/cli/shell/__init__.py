"""The terminal: console, progress, interrupts, help, completion."""
