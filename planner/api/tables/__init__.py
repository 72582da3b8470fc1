"""Tables from Python: how sorted they are, and the price of a rewrite."""
