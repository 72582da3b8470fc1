"""The request: checks, constraints, filters, regions and prices."""
