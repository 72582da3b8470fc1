"""Arrow tables and Parquet files."""
