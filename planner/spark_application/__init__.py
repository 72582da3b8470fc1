"""What a Spark application did: stages, executors, cluster; `planner.spark_log` reads it from event logs."""
