"""What was asked: checks, constraints, filters, regions and prices."""
