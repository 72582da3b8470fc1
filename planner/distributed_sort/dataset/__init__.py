"""A dataset: what is to be sorted, its files, copies and partitions."""
