"""What a Spark application did: stages, executors, cluster; `planner.spark.log` reads it from event logs."""
