"""What-ifs: how the answer changes with its assumptions."""
