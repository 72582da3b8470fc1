"""Fixed-size records and keyed text lines."""
