"""A dataset: the data to sort, its files, copies and partitions."""
