"""The command line: the only part of the planner that prints and exits."""
