"""Models of a logged Spark application: its bottlenecks, and its time on other clusters. Pure functions."""
