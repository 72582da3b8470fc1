"""When to work on spot machines, when on demand, and when to wait, so that a deadline holds."""
