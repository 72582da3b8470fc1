"""The choice between spot machines, machines on demand and waiting, so that a deadline holds."""
