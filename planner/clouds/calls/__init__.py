"""Calls to clouds that are safe to repeat: retry with backoff, pages, HTTP."""
