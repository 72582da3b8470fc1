"""The values that cross seams: a request, a plan, a report of a run."""
