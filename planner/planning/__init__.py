"""From a request to a plan: candidates, constraints, ranking, and what to measure next."""
