"""The choice among candidates: selection, frontier, refusals."""
