"""Commands that measure machines and read measurements."""
