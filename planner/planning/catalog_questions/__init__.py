"""Questions about a catalog: price and performance, storage, coverage."""
