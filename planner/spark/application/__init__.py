"""A Spark application's run: stages, executors, cluster. `planner.spark.log` reads it from event logs."""
