"""Tables of many Parquet files: what their files hold, how far keys overlap, and their sorted rewrite."""
