"""Calls to clouds that only read, or may be made again: retry with backoff, pages, HTTP."""
