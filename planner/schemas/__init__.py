"""The values exchanged between layers: a request, a plan, a report of a run."""
