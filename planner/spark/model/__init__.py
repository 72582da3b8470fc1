"""What bound a logged Spark application, and how long it would take on other clusters: pure functions."""
